"""Dialled numbers over HTTP."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from src.api.routes.phone_numbers import router
from src.schemas.api_keys import Scope
from src.schemas.errors import MediaServerError
from src.services.call_ports import NumberDrift
from src.services.owned import Resource
from tests.unit.api.conftest import OWNER, ApiWorld

NUMBERS = "/api/v2/phone-numbers"
NUMBER = "+15105550100"
REQUEST = {"number": NUMBER, "agentId": "reception"}


@pytest.fixture
async def client(world: ApiWorld) -> AsyncIterator[httpx.AsyncClient]:
    for owner_id, agent_id in ((OWNER, "reception"), (OWNER, "sales"), ("other", "theirs")):
        await world.owned.of(owner_id, Resource.AGENTS).insert(
            {"agentId": agent_id, "createdAt": world.clock.now(), "version": 1}
        )
    async with await world.client(router) as client:
        yield client


async def bound(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    """A binding."""
    response = await client.post(NUMBERS, json={**REQUEST, **fields})
    assert response.status_code == 201, response.text
    found: dict[str, Any] = response.json()
    return found


async def test_a_number_is_bound_and_listed(world: ApiWorld, client: httpx.AsyncClient) -> None:
    body = {"number": "+1 (510) 555-0100", "agentId": "reception", "label": "Front desk"}
    response = await client.post(NUMBERS, json=body)
    assert response.status_code == 201
    number = response.json()
    assert number == {
        "number": NUMBER,
        "agentId": "reception",
        "label": "Front desk",
        "createdAt": "2026-12-01T12:00:00Z",
        "updatedAt": "2026-12-01T12:00:00Z",
    }
    assert world.provisioning.reconciled == 1
    assert (await client.get(NUMBERS)).json() == {"items": [number]}


async def test_binding_it_again_changes_the_agent(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    await bound(client)
    world.clock.advance(60)
    changed = await bound(client, agentId="sales")
    assert changed["agentId"] == "sales"
    assert (changed["createdAt"], changed["updatedAt"]) == (
        "2026-12-01T12:00:00Z",
        "2026-12-01T12:01:00Z",
    )
    assert (await client.get(NUMBERS)).json() == {"items": [changed]}
    assert world.provisioning.reconciled == 2


async def test_a_number_of_another_owner_is_taken_and_not_told_of(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    await bound(client)
    async with await world.client(router, token=await world.token("other")) as stranger:
        taken = await stranger.post(NUMBERS, json={"number": NUMBER, "agentId": "theirs"})
        assert (taken.status_code, taken.json()["code"]) == (409, "conflict")
        assert (await stranger.get(NUMBERS)).json() == {"items": []}
        assert (await stranger.delete(f"{NUMBERS}/{NUMBER}")).status_code == 404
    (kept,) = (await client.get(NUMBERS)).json()["items"]
    assert kept["agentId"] == "reception"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"number": "nobody"}, "number"),
        ({"number": "5105550100"}, "number"),
        ({"number": ""}, "number"),
        ({"number": "+1510\x00"}, "number"),
        ({"number": 15105550100}, "number"),
        ({"agentId": "nobody"}, "agentId"),
        ({"agentId": "theirs"}, "agentId"),
        ({"label": "x" * 201}, "label"),
        ({"label": "\x00"}, "label"),
        ({"trunk": "mine"}, "trunk"),
    ],
)
async def test_what_cannot_be_bound_is_refused_by_field(
    world: ApiWorld, client: httpx.AsyncClient, fields: dict[str, Any], field: str
) -> None:
    response = await client.post(NUMBERS, json={**REQUEST, **fields})
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == field
    assert world.provisioning.reconciled == 0


async def test_a_national_number_is_one_of_the_owners_region(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    await world.owned.of(OWNER, Resource.OWNERS).insert({"defaultRegion": "US"})
    assert (await bound(client, number="(415) 555-2671"))["number"] == "+14155552671"


async def test_lists_go_on_by_cursor(world: ApiWorld, client: httpx.AsyncClient) -> None:
    for last in range(3):
        await bound(client, number=f"+1510555010{last}")
        world.clock.advance(1)
    first = (await client.get(NUMBERS, params={"limit": 2})).json()
    assert [one["number"][-1] for one in first["items"]] == ["2", "1"]
    rest = await client.get(NUMBERS, params={"limit": 2, "cursor": first["nextCursor"]})
    assert [one["number"][-1] for one in rest.json()["items"]] == ["0"]
    assert "nextCursor" not in rest.json()


@pytest.mark.parametrize("path", [NUMBER, "%2B15105550100"])
async def test_a_number_is_unbound(world: ApiWorld, client: httpx.AsyncClient, path: str) -> None:
    await bound(client)
    response = await client.delete(f"{NUMBERS}/{path}")
    assert (response.status_code, response.content) == (204, b"")
    assert (await client.get(NUMBERS)).json() == {"items": []}
    assert world.provisioning.reconciled == 2
    assert (await client.delete(f"{NUMBERS}/{path}")).status_code == 404
    assert (await client.delete(f"{NUMBERS}/%00")).status_code == 422


async def test_while_the_media_server_is_away_a_binding_is_stored_and_asked_for_again(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    world.provisioning.faults.error = MediaServerError("away")
    key = {"Idempotency-Key": "k1"}
    response = await client.post(NUMBERS, json=REQUEST, headers=key)
    assert (response.status_code, response.json()["code"]) == (503, "media_server_failed")
    assert (await client.get(f"{NUMBERS}/drift")).status_code == 503
    assert len((await client.get(NUMBERS)).json()["items"]) == 1
    world.provisioning.faults.error = None
    assert (await client.post(NUMBERS, json=REQUEST, headers=key)).status_code == 201
    assert world.provisioning.reconciled == 1


async def test_drift_tells_of_the_owners_numbers_alone(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    await bound(client)
    world.provisioning.found = NumberDrift(
        missing=(NUMBER, "+442071234567"), unknown=("+33123456789",), rule="missing"
    )
    response = await client.get(f"{NUMBERS}/drift")
    assert response.json() == {"missing": [NUMBER], "unknownCount": 1, "rule": "missing"}


@pytest.mark.parametrize(
    ("method", "rest"), [("POST", ""), ("GET", ""), ("GET", "/drift"), ("DELETE", "/+15105550100")]
)
async def test_reading_and_writing_need_their_scopes(
    world: ApiWorld, method: str, rest: str
) -> None:
    scope = Scope.NUMBERS_WRITE if method == "GET" else Scope.NUMBERS_READ
    token = await world.token(scopes=frozenset({scope}))
    async with await world.client(router, token=token) as limited:
        assert (await limited.request(method, NUMBERS + rest, json=REQUEST)).status_code == 403
    assert world.provisioning.reconciled == 0
