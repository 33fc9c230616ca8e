"""What holds for every route: who may ask, what is answered to what is wrong, and repeated requests."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Annotated

import httpx
import pytest
from fastapi import Depends, Request, Response
from pydantic import BaseModel

from src.api import tenant
from src.api.app import MAX_BODY_BYTES
from src.api.etags import IfMatch, etag_of, version_of
from src.api.pagination import Cursor, cursor_of, next_cursor, position_of
from src.api.problems import MEDIA_TYPE, ApiError
from src.api.routing import resource_router
from src.api.tenant import Requires, Tenant
from src.schemas.api_keys import Scope
from src.schemas.errors import (
    AgentNotFoundError,
    ConflictError,
    ContactStoreError,
    FamiliarError,
    FieldProblem,
    InvalidInputError,
    NotFoundError,
    SeedFileError,
    StaleError,
)
from src.services.api_ports import Rate, RatePolicy
from src.services.owned import Position
from tests.unit.api.conftest import ORIGIN, ApiWorld

things = resource_router("things")
created: list[str] = []
Writer = Annotated[Tenant, Depends(Requires(Scope.AGENTS_WRITE))]
Reader = Annotated[Tenant, Depends(Requires(Scope.AGENTS_READ))]
Visitor = Annotated[Tenant, Depends(Requires(Scope.SESSIONS_WRITE, pages=True))]

ERRORS: dict[str, Exception] = {
    "not_found": NotFoundError("no such thing"),
    "agent_not_found": AgentNotFoundError("no agent"),
    "conflict": ConflictError("already over"),
    "stale": StaleError("changed"),
    "invalid_input": InvalidInputError(FieldProblem("a.b", "too small")),
    "contact_store_failed": ContactStoreError("contact store: AutoReconnect"),
    "internal_error": ValueError("secret of a caller"),
    "seed": SeedFileError(("problem",)),
}


class Thing(BaseModel):
    name: str
    size: int = 0


@things.post("/things", status_code=201, operation_id="createThing")
async def create(thing: Thing, tenant: Writer, response: Response) -> dict[str, str]:
    if thing.name == "bad":
        raise NotFoundError("bad")
    created.append(thing.name)
    response.headers["ETag"] = etag_of(1)
    return {"name": thing.name, "owner": tenant.owner_id, "number": str(len(created))}


@things.get("/things", operation_id="listThings")
async def find(tenant: Reader, cursor: Cursor = None) -> dict[str, str]:
    position = position_of(cursor)
    return {"owner": tenant.owner_id, "after": position.key if position else ""}


@things.put("/things/{name}", operation_id="putThing")
async def put(name: str, _: Writer, if_match: IfMatch = None) -> dict[str, object]:
    return {"name": name, "version": version_of(if_match)}


@things.get("/errors/{name}", operation_id="fail")
async def fail(name: str, _: Reader) -> None:
    raise ERRORS[name]


@things.post("/visits", operation_id="visit")
async def visit(tenant: Visitor) -> dict[str, bool]:
    return {"page": tenant.is_page}


@pytest.fixture
async def client(world: ApiWorld) -> AsyncIterator[httpx.AsyncClient]:
    created.clear()
    async with await world.client(things) as client:
        yield client


def problem_of(response: httpx.Response, status: int) -> dict[str, object]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == MEDIA_TYPE
    found: dict[str, object] = response.json()
    assert found["status"] == status
    assert found["requestId"] == response.headers["x-request-id"]
    return found


async def test_a_route_without_a_gate_does_not_start(world: ApiWorld) -> None:
    router = resource_router("open")

    @router.get("/open", operation_id="open")
    async def everybody() -> None: ...

    with pytest.raises(RuntimeError, match="/api/v2/open"):
        world.app(router)


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer nothing", "Basic abc", "Bearer fam_sk_0123456789abcdef_" + "a" * 43],
)
async def test_without_a_valid_key_nobody_is_let_in(world: ApiWorld, header: str) -> None:
    async with await world.client(things, token="") as client:
        headers = {"Authorization": header} if header else {}
        response = await client.get("/api/v2/things", headers=headers)
    assert problem_of(response, 401)["code"] == "unauthorized"
    assert response.headers["www-authenticate"] == "Bearer"


async def test_a_key_speaks_for_its_owner_and_allows_what_its_scopes_say(world: ApiWorld) -> None:
    token = await world.token("other", scopes=frozenset({Scope.AGENTS_READ}))
    async with await world.client(things, token=token) as client:
        assert (await client.get("/api/v2/things")).json()["owner"] == "other"
        refused = await client.post("/api/v2/things", json={"name": "a"})
    assert problem_of(refused, 403)["code"] == "scope_missing"


async def test_an_expired_or_revoked_key_is_none(world: ApiWorld) -> None:
    expiring = await world.token(valid_for=timedelta(hours=1))
    revoked = await world.token()
    await world.services.keys.revoke("acme", revoked.split("_")[2])
    world.clock.advance(3600)
    for token in (expiring, revoked):
        async with await world.client(things, token=token) as client:
            problem_of(await client.get("/api/v2/things"), 401)


async def test_a_publishable_key_opens_only_what_is_for_pages_and_only_from_its_origins(
    world: ApiWorld,
) -> None:
    async with await world.client(things, token=await world.page_token()) as client:
        page = {"Origin": ORIGIN}
        assert (await client.post("/api/v2/visits", headers=page)).json() == {"page": True}
        elsewhere = await client.post("/api/v2/visits", headers={"Origin": "https://evil.example"})
        assert problem_of(elsewhere, 403)["code"] == "origin_refused"
        assert problem_of(await client.post("/api/v2/visits"), 403)["code"] == "origin_refused"
        refused = await client.get("/api/v2/things", headers=page)
        assert problem_of(refused, 403)["code"] == "scope_missing"


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("not_found", 404),
        ("agent_not_found", 404),
        ("conflict", 409),
        ("stale", 412),
        ("invalid_input", 422),
        ("contact_store_failed", 503),
        ("internal_error", 500),
    ],
)
async def test_errors_become_problems_with_a_stable_code(
    client: httpx.AsyncClient, name: str, status: int
) -> None:
    response = await client.get(f"/api/v2/errors/{name}")
    found = problem_of(response, status)
    assert found["code"] == name
    assert "secret" not in response.text
    if name == "invalid_input":
        assert found["errors"] == [{"field": "a.b", "message": "too small"}]
    if status == 503:
        assert int(response.headers["retry-after"]) > 0


async def test_an_error_that_is_no_answer_is_our_fault(client: httpx.AsyncClient) -> None:
    assert isinstance(ERRORS["seed"], FamiliarError)
    assert problem_of(await client.get("/api/v2/errors/seed"), 500)["code"] == "internal_error"


async def test_what_is_no_request_of_ours_is_a_problem_too(client: httpx.AsyncClient) -> None:
    problem_of(await client.get("/api/v2/nothing"), 404)
    wrong = await client.delete("/api/v2/things")
    assert problem_of(wrong, 405)["code"] == "method_not_allowed"
    assert wrong.headers["allow"] == "GET, POST"
    text = {"Content-Type": "text/plain"}
    problem_of(await client.post("/api/v2/things", content="{}", headers=text), 415)
    json = {"Content-Type": "application/json"}
    broken = await client.post("/api/v2/things", content="{", headers=json)
    assert problem_of(broken, 400)["code"] == "invalid_json"
    wrong = await client.post("/api/v2/things", json={"size": "x"})
    assert {one["field"] for one in wrong.json()["errors"]} == {"name", "size"}
    cursor = await client.get("/api/v2/things", params={"cursor": "x" * 501})
    assert cursor.json()["errors"][0]["field"] == "query.cursor"


async def test_a_query_parameter_that_is_unknown_is_refused_by_name(
    client: httpx.AsyncClient,
) -> None:
    response = await client.get("/api/v2/things", params={"cursr": "x", "limit": "1"})
    found = problem_of(response, 422)
    assert [one["field"] for one in response.json()["errors"]] == ["query.cursr", "query.limit"]
    assert found["code"] == "invalid_input"


async def test_a_body_that_is_too_large_is_refused_with_or_without_its_length(
    client: httpx.AsyncClient,
) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(MAX_BODY_BYTES // 65536 + 2):
            yield b" " * 65536

    json = {"Content-Type": "application/json"}
    large = b" " * (MAX_BODY_BYTES + 1)
    problem_of(await client.post("/api/v2/things", content=large, headers=json), 413)
    problem_of(await client.post("/api/v2/things", content=chunks(), headers=json), 413)


async def test_request_ids_are_taken_over_if_they_are_some(client: httpx.AsyncClient) -> None:
    for given, kept in (("abc-1", True), ("a b", False)):
        response = await client.get("/api/v2/things", headers={"X-Request-Id": given})
        assert (response.headers["x-request-id"] == given) is kept


async def test_who_asks_too_often_is_told_when_to_come_back(world: ApiWorld) -> None:
    object.__setattr__(world.services, "rates", RatePolicy(Rate(2, 30), Rate(1, 40)))
    async with await world.client(things) as client:
        for _ in range(2):
            assert (await client.get("/api/v2/things")).status_code == 200
        refused = await client.get("/api/v2/things")
        assert problem_of(refused, 429)["code"] == "rate_limited"
        assert refused.headers["retry-after"] == "30"
    async with await world.client(things, token="fam_wrong") as client:  # noqa: S106
        problem_of(await client.get("/api/v2/things"), 401)
        problem_of(await client.get("/api/v2/things"), 429)


async def test_a_request_that_is_repeated_with_its_key_creates_once(
    client: httpx.AsyncClient,
) -> None:
    key = {"Idempotency-Key": "k1"}
    first = await client.post("/api/v2/things", json={"name": "a"}, headers=key)
    again = await client.post("/api/v2/things", json={"name": "a"}, headers=key)
    assert (first.status_code, first.json()) == (again.status_code, again.json())
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["etag"] == first.headers["etag"] == '"1"'
    assert created == ["a"]
    other = await client.post("/api/v2/things", json={"name": "b"}, headers=key)
    assert problem_of(other, 422)["code"] == "idempotency_key_reused"
    fresh = await client.post(
        "/api/v2/things", json={"name": "b"}, headers={"Idempotency-Key": "k2"}
    )
    assert fresh.json()["number"] == "2"


async def test_what_is_kept_of_an_answer_can_be_read_by_nobody_else(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    key = {"Idempotency-Key": "k1"}
    await client.post("/api/v2/things", json={"name": "confidential"}, headers=key)
    assert "confidential" not in str(world.answers.values)
    async with await world.client(things) as another:  # another key of the same owner
        response = await another.post("/api/v2/things", json={"name": "confidential"}, headers=key)
    assert response.json()["number"] == "2"


async def test_a_request_that_failed_may_be_repeated_with_its_key(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    key = {"Idempotency-Key": "k1"}
    for _ in range(2):
        problem_of(await client.post("/api/v2/things", json={"name": "bad"}, headers=key), 404)
        problem_of(await client.post("/api/v2/things", json={}, headers=key), 422)
    assert world.answers.values == {}


async def test_while_the_first_is_answered_a_repeated_request_has_to_wait(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    key = {"Idempotency-Key": "k1"}
    await client.post("/api/v2/things", json={"name": "a"}, headers=key)
    ((name, value),) = world.answers.values.items()
    world.answers.values[name] = value.replace('"done"', '"pending"')
    again = await client.post("/api/v2/things", json={"name": "a"}, headers=key)
    assert problem_of(again, 409)["code"] == "idempotency_pending"


async def test_without_the_store_of_answers_nothing_is_created_twice(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    world.answers.faults.error = ContactStoreError("answers: ConnectionError")
    key = {"Idempotency-Key": "k1"}
    problem_of(await client.post("/api/v2/things", json={"name": "a"}, headers=key), 503)
    assert created == []
    bad = await client.post(
        "/api/v2/things", json={"name": "a"}, headers={"Idempotency-Key": "a b"}
    )
    problem_of(bad, 400)


async def test_tags_name_versions(client: httpx.AsyncClient) -> None:
    for tag, version in (('"7"', 7), ("*", None)):
        response = await client.put("/api/v2/things/a", json={}, headers={"If-Match": tag})
        assert response.json()["version"] == version
    bad = await client.put("/api/v2/things/a", json={}, headers={"If-Match": "W/7"})
    assert problem_of(bad, 400)["code"] == "invalid_if_match"


async def test_cursors_lead_on_and_others_are_refused(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    position = Position(world.clock.now(), "key/ü")
    assert position_of(cursor_of(position)) == position
    assert next_cursor([position], 2) is None
    assert next_cursor([], 0) is None
    assert next_cursor([position], 1) == cursor_of(position)
    found = await client.get("/api/v2/things", params={"cursor": cursor_of(position)})
    assert found.json()["after"] == "key/ü"
    for bad in ("x", "WzEsMl0=", "e30=", "ü"):
        response = await client.get("/api/v2/things", params={"cursor": bad})
        assert problem_of(response, 400)["code"] == "invalid_cursor"


async def test_health_and_metrics_are_open(world: ApiWorld) -> None:
    async def works() -> None: ...

    async def fails() -> None:
        raise ContactStoreError("away")

    object.__setattr__(world.services, "checks", {"a": works})
    async with await world.client(things, token="") as client:
        assert (await client.get("/healthz")).json() == {"status": "ok"}
        assert (await client.get("/readyz")).json() == {"ready": True, "dependencies": {"a": "ok"}}
        object.__setattr__(world.services, "checks", {"a": works, "b": fails})
        away = await client.get("/readyz")
        assert (away.status_code, away.json()["dependencies"]) == (503, {"a": "ok", "b": "away"})
        await client.put("/api/v2/things/+15551234567", json={})
        counted = (await client.get("/metrics")).text
    assert 'route="/api/v2/things/{name}"' in counted
    assert "5551234567" not in counted


async def test_the_document_names_every_error_and_the_idempotency_key(world: ApiWorld) -> None:
    document = world.app(things).openapi()
    operation = document["paths"]["/api/v2/things"]["post"]
    assert {"400", "401", "403", "413", "415", "422", "429", "503"} <= set(operation["responses"])
    assert operation["parameters"][-1]["name"] == "Idempotency-Key"
    assert "HTTPValidationError" not in document["components"]["schemas"]
    assert operation["security"] == [{"apiKey": []}]
    ids = [one["operationId"] for path in document["paths"].values() for one in path.values()]
    assert len(ids) == len(set(ids))


def test_an_address_without_a_peer_is_unknown() -> None:
    assert tenant.address_of(Request({"type": "http", "client": None})) == "unknown"


def test_a_status_has_its_code() -> None:
    assert ApiError(404, "x").code == "not_found"
