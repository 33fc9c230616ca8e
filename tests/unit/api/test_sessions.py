"""Web sessions over HTTP, for an owner's backend and for pages."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from src.api.app import MAX_BODY_BYTES
from src.api.routes import memory
from src.api.routes.contacts import router as contacts
from src.api.routes.sessions import router
from src.api.session_access import COOKIE
from src.schemas.api_keys import KeyKind, Scope
from src.schemas.errors import ContactStoreError, MediaServerError
from src.services.owned import Resource
from tests.unit.api.conftest import ORIGIN, OWNER, ApiWorld

SESSIONS = "/api/v2/sessions"
REQUEST: dict[str, Any] = {"agentId": "reception"}


@pytest.fixture
async def client(world: ApiWorld) -> AsyncIterator[httpx.AsyncClient]:
    """The owner's backend."""
    for owner_id, agent_id in ((OWNER, "sales"), ("other", "theirs")):
        await world.owned.of(owner_id, Resource.AGENTS).insert(
            {"agentId": agent_id, "createdAt": world.clock.now(), "version": 1}
        )
    await world.page_token()  # makes the agent
    async with await world.client(router) as client:
        yield client


async def page_of(world: ApiWorld, agent_id: str = "reception") -> httpx.AsyncClient:
    """A page with an agent's key; it has no cookies of other pages."""
    key = await world.token(
        kind=KeyKind.PUBLISHABLE, agent_id=agent_id, allowed_origins=(ORIGIN, "http://api.test")
    )
    page = await world.client(router, memory.router, contacts, token=key)
    page.headers["Origin"] = ORIGIN
    return page


@pytest.fixture
async def page(world: ApiWorld, client: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    assert client is not None  # the agent is there
    async with await page_of(world) as page:
        yield page


async def made(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    """A new session."""
    response = await client.post(SESSIONS, json={**REQUEST, **fields})
    assert response.status_code == 201, response.text
    found: dict[str, Any] = response.json()
    return found


def place_of(session: dict[str, Any]) -> str:
    return f"{SESSIONS}/{session['sessionId']}"


async def test_a_backend_makes_a_session_for_somebody_it_knows(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    response = await client.post(
        SESSIONS,
        json={
            "agentId": "reception",
            "mode": "text",
            "userId": "customer-42",
            "dynamicVariables": {"name": "Daivik"},
        },
    )
    assert response.status_code == 201
    session = response.json()
    assert session == {
        "sessionId": session["sessionId"],
        "secret": session["secret"],
        "agentId": "reception",
        "mode": "text",
        "expiresAt": "2026-12-02T12:00:00Z",
    }
    assert "set-cookie" not in response.headers
    assert session["secret"] not in str(world.owned.documents)
    assert session["secret"] not in session["sessionId"]

    joined = await client.post(f"{place_of(session)}/join", json={})
    assert joined.status_code == 201
    invitation = joined.json()
    assert invitation["serverUrl"] == "wss://media.example.com"
    assert invitation["mode"] == "text"
    assert invitation["tokenExpiresAt"] == "2026-12-01T12:10:00Z"
    ((room_pass, _),) = world.tokens.passes
    assert room_pass.job is None  # what the token holds, the visitor can read
    job = world.dispatcher.jobs[invitation["room"]]
    assert (job.user_id, job.dynamic_values) == ("customer-42", {"name": "Daivik"})


async def test_a_page_makes_a_session_and_joins_it_again_after_a_refresh(
    world: ApiWorld, page: httpx.AsyncClient
) -> None:
    session = await made(page)
    page.cookies.clear()
    body = {"secret": session["secret"]}
    first = await page.post(f"{place_of(session)}/join", json=body)
    again = await page.post(f"{place_of(session)}/join", json={**body, "mode": "text"})
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json()["room"] != again.json()["room"]
    assert [one.job and one.job.session_id for one, _ in world.tokens.passes] == [
        session["sessionId"]
    ] * 2
    assert [one.microphone for one, _ in world.tokens.passes] == [True, False]


async def test_a_pages_cookie_is_for_its_session_alone_and_out_of_reach_of_scripts(
    page: httpx.AsyncClient,
) -> None:
    response = await page.post(SESSIONS, json=REQUEST)
    session = response.json()
    name, *attributes = response.headers["set-cookie"].split("; ")
    assert name == f"{COOKIE}={session['sessionId']}.{session['secret']}"
    assert {one.lower() for one in attributes} == {
        "httponly",
        "max-age=86400",
        f"path={place_of(session)}",
        "samesite=lax",
    }
    over_tls = await page.post(f"https://api.test{SESSIONS}", json=REQUEST)
    assert "; Secure" in over_tls.headers["set-cookie"]


async def test_a_page_of_the_apis_own_site_needs_its_cookie_alone(
    page: httpx.AsyncClient,
) -> None:
    session = await made(page)
    assert (await page.post(f"{place_of(session)}/join", json={})).status_code == 201
    # Browsers leave the origin out where a page reads from its own site.
    del page.headers["Origin"]
    memory_place = f"{place_of(session)}/memory"
    own = {"Sec-Fetch-Site": "same-origin"}
    assert (await page.get(memory_place, headers=own)).status_code == 200
    for site in ("cross-site", "same-site", "none"):
        response = await page.get(memory_place, headers={"Sec-Fetch-Site": site})
        assert (response.status_code, response.json()["code"]) == (403, "origin_refused")
    rebound = {**own, "Host": "evil.example"}
    assert (await page.get(memory_place, headers=rebound)).status_code == 403
    evil = {**own, "Origin": "https://evil.example"}
    assert (await page.get(memory_place, headers=evil)).status_code == 403
    page.headers["Origin"] = ORIGIN
    assert (await page.delete(place_of(session))).status_code == 204


async def test_a_request_that_is_repeated_gets_the_same_session_and_cookie(
    world: ApiWorld, page: httpx.AsyncClient
) -> None:
    key = {"Idempotency-Key": "k1"}
    first = await page.post(SESSIONS, json=REQUEST, headers=key)
    page.cookies.clear()
    again = await page.post(SESSIONS, json=REQUEST, headers=key)
    assert first.json() == again.json()
    assert again.headers["set-cookie"] == first.headers["set-cookie"]
    assert first.json()["secret"] not in str(world.answers.values)
    assert len(world.owned.documents[Resource.SESSIONS]) == 1


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"agentId": "sales"}, "agentId"),
        ({"agentId": "theirs"}, "agentId"),
        ({"agentId": "nobody"}, "agentId"),
        ({"userId": "customer-42"}, "userId"),
        ({"dynamicVariables": {"name": "x"}}, "dynamicVariables"),
    ],
)
async def test_a_page_may_neither_choose_the_agent_nor_say_who_its_visitor_is(
    world: ApiWorld, page: httpx.AsyncClient, fields: dict[str, Any], field: str
) -> None:
    response = await page.post(SESSIONS, json={**REQUEST, **fields})
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == field
    assert world.owned.documents[Resource.SESSIONS] == []


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"agentId": "theirs"}, "agentId"),
        ({"agentId": ""}, "agentId"),
        ({"agentId": "a\x00"}, "agentId"),
        ({"mode": "smoke"}, "mode"),
        ({"userId": ""}, "userId"),
        ({"userId": "a\x00"}, "userId"),
        ({"dynamicVariables": {"{{x": "x"}}, "dynamicVariables.{{x"),
        ({"dynamicVariables": {"name": "\x00"}}, "dynamicVariables.name"),
        ({"sessionId": "mine"}, "sessionId"),
        ({"secret": "mine"}, "secret"),
    ],
)
async def test_what_cannot_be_is_refused_by_field(
    world: ApiWorld, client: httpx.AsyncClient, fields: dict[str, Any], field: str
) -> None:
    response = await client.post(SESSIONS, json={**REQUEST, **fields})
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == field
    assert world.owned.documents[Resource.SESSIONS] == []


REACHING: list[tuple[str, str, dict[str, Any] | None]] = [
    ("POST", "/join", {}),
    ("DELETE", "", None),
    ("GET", "/memory", None),
    ("GET", "/memory/events", None),
    ("PUT", "/memory/mode", {"mode": "text"}),
    ("PUT", "/memory/language", {"language": "es"}),
    ("DELETE", "/memory", None),
]


@pytest.mark.parametrize(("method", "rest", "body"), REACHING)
async def test_who_guesses_an_id_or_a_secret_gets_nothing(
    world: ApiWorld,
    page: httpx.AsyncClient,
    client: httpx.AsyncClient,
    method: str,
    rest: str,
    body: dict[str, Any] | None,
) -> None:
    """The same answer with no secret, a wrong one, another session's, and for no session at all."""
    session, mine = await made(client), await made(page)
    place = place_of(session)
    answers = []
    for path, headers in (
        (place, {}),
        (place, {"X-Session-Secret": "wrong"}),
        (place, {"X-Session-Secret": mine["secret"]}),
        (place, {"Cookie": f"{COOKIE}={session['sessionId']}.wrong"}),
        (place, {"Cookie": f"{COOKIE}={session['sessionId']}."}),
        (place, {"Cookie": f"{COOKIE}={session['sessionId']}"}),
        (place, {"Cookie": f"{COOKIE}={mine['sessionId']}.{mine['secret']}"}),
        (f"{SESSIONS}/{'0' * 32}", {"X-Session-Secret": mine["secret"]}),
    ):
        page.cookies.clear()
        answers.append(await page.request(method, path + rest, json=body, headers=headers))
    async with await page_of(world, "sales") as other:  # knows the secret, has another agent's key
        headers = {"X-Session-Secret": session["secret"]}
        given = body if body is None or rest != "/join" else {"secret": session["secret"]}
        answers.append(await other.request(method, place + rest, json=given, headers=headers))
    assert {one.status_code for one in answers} == {404}
    assert len({one.json()["detail"] for one in answers}) == 1
    assert (await client.post(f"{place}/join", json={})).status_code == 201  # nothing changed
    assert len(world.tokens.passes) == 1


@pytest.mark.parametrize(("method", "rest", "body"), REACHING)
async def test_another_owners_session_is_not_found(
    world: ApiWorld,
    client: httpx.AsyncClient,
    method: str,
    rest: str,
    body: dict[str, Any] | None,
) -> None:
    session = await made(client)
    token = await world.token("other")
    async with await world.client(router, memory.router, token=token) as stranger:
        place = place_of(session) + rest
        assert (await stranger.request(method, place, json=body)).status_code == 404
        headers = {"X-Session-Secret": session["secret"]}
        response = await stranger.request(method, place, json=body, headers=headers)
        assert response.status_code == 404


@pytest.mark.parametrize("path", ["/api/v2/contacts", "/api/v2/users/u/memory"])
async def test_a_page_reaches_nothing_but_its_session(page: httpx.AsyncClient, path: str) -> None:
    response = await page.get(path)
    assert (response.status_code, response.json()["code"]) == (403, "scope_missing")


async def test_who_has_a_secret_key_needs_no_secret_but_never_a_wrong_one(
    client: httpx.AsyncClient,
) -> None:
    session = await made(client)
    join = f"{place_of(session)}/join"
    assert (await client.post(join, json={"secret": "wrong"})).status_code == 404
    assert (await client.post(join, json={"secret": session["secret"]})).status_code == 201
    wrong = {"X-Session-Secret": "wrong"}
    assert (await client.delete(place_of(session), headers=wrong)).status_code == 404
    assert (await client.delete(place_of(session))).status_code == 204


@pytest.mark.parametrize("body", [{"secret": ""}, {"secret": "a\x00"}, {"mode": 1}, {"room": "r"}])
async def test_a_join_that_is_none_is_refused(
    client: httpx.AsyncClient, body: dict[str, Any]
) -> None:
    session = await made(client)
    response = await client.post(f"{place_of(session)}/join", json=body)
    assert response.status_code == 422
    assert (await client.post(f"{SESSIONS}/%00/join", json={})).status_code == 422


async def test_a_session_ends_when_it_is_ended_and_after_a_day(
    world: ApiWorld, client: httpx.AsyncClient, page: httpx.AsyncClient
) -> None:
    session, other = await made(page), await made(client)
    room = (await page.post(f"{place_of(session)}/join", json={})).json()["room"]
    response = await page.delete(place_of(session))
    assert (response.status_code, response.content) == (204, b"")
    assert world.dispatcher.cancelled == [room]
    assert (await page.delete(place_of(session))).status_code == 404
    assert (await page.post(f"{place_of(session)}/join", json={})).status_code == 404
    world.clock.advance(24 * 3600)
    assert (await client.post(f"{place_of(other)}/join", json={})).status_code == 404


async def test_while_something_is_away_a_session_is_asked_for_again(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    session = await made(client, dynamicVariables={"name": "x"})
    world.dispatcher.faults.error = MediaServerError("away")
    response = await client.post(f"{place_of(session)}/join", json={})
    assert (response.status_code, response.json()["code"]) == (503, "media_server_failed")
    assert (await client.delete(place_of(session))).status_code == 204  # the room closes by itself
    world.owned.faults.error = ContactStoreError("away")
    assert (await client.post(SESSIONS, json=REQUEST)).status_code == 503


@pytest.mark.parametrize(
    ("method", "rest"), [("POST", ""), ("POST", "/s1/join"), ("DELETE", "/s1")]
)
async def test_a_backend_needs_the_scope(world: ApiWorld, method: str, rest: str) -> None:
    token = await world.token(scopes=frozenset(Scope) - {Scope.SESSIONS_WRITE})
    async with await world.client(router, token=token) as limited:
        assert (await limited.request(method, SESSIONS + rest, json=REQUEST)).status_code == 403


async def preflight(client: httpx.AsyncClient, path: str, method: str) -> httpx.Response:
    return await client.options(
        path,
        headers={
            "Origin": ORIGIN,
            "Access-Control-Request-Method": method,
            "Access-Control-Request-Headers": "authorization, content-type, x-session-secret",
        },
    )


async def test_browsers_let_pages_ask_for_sessions_and_for_nothing_else(
    world: ApiWorld,
) -> None:
    async with await world.client(router, memory.router, contacts, token="") as browser:
        for path, method in (
            (SESSIONS, "POST"),
            (f"{SESSIONS}/s1/join", "POST"),
            (f"{SESSIONS}/s1", "DELETE"),
            (f"{SESSIONS}/s1/memory", "GET"),
            (f"{SESSIONS}/s1/memory/mode", "PUT"),
        ):
            allowed = await preflight(browser, path, method)
            assert allowed.status_code == 200
            assert allowed.headers["access-control-allow-origin"] == "*"
            assert method in allowed.headers["access-control-allow-methods"]
            assert "X-Session-Secret" in allowed.headers["access-control-allow-headers"]
            # With `*`, browsers send no cookies of the API's own site.
            assert "access-control-allow-credentials" not in allowed.headers
        for path in ("/api/v2/contacts", "/api/v2/users/u/memory", "/healthz"):
            refused = await preflight(browser, path, "GET")
            assert "access-control-allow-origin" not in refused.headers
        assert (await preflight(browser, SESSIONS, "PATCH")).status_code == 400


async def test_a_page_can_read_why_it_was_refused(world: ApiWorld, page: httpx.AsyncClient) -> None:
    text = {"Content-Type": "text/plain"}
    json = {"Content-Type": "application/json"}
    large = b" " * (MAX_BODY_BYTES + 1)
    for status, answer in (
        (201, page.post(SESSIONS, json=REQUEST)),
        (401, page.post(SESSIONS, json=REQUEST, headers={"Authorization": "Bearer x"})),
        (403, page.post(SESSIONS, json=REQUEST, headers={"Origin": "https://evil.example"})),
        (404, page.get(f"{SESSIONS}/s1/memory")),
        (413, page.post(SESSIONS, content=large, headers=json)),
        (415, page.post(SESSIONS, content="{}", headers=text)),
        (422, page.post(SESSIONS, json={})),
    ):
        response = await answer
        assert response.status_code == status
        assert response.headers["access-control-allow-origin"] == "*"
        assert "X-Request-Id" in response.headers["access-control-expose-headers"]
    world.owned.faults.error = ValueError("unforeseen")
    response = await page.post(SESSIONS, json=REQUEST)
    assert response.status_code == 500
    assert response.headers["access-control-allow-origin"] == "*"
