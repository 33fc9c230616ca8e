"""What is remembered of sessions and people, over HTTP."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from typing_extensions import override

from src.api.routes import sessions, webhooks
from src.api.routes.memory import router
from src.schemas.api_keys import Scope
from src.schemas.errors import ContactStoreError, MemoryStoreError
from src.schemas.memory import MemoryEntry
from src.services.identity import memory_user_id
from src.services.owned import Resource
from tests.unit.api.conftest import ORIGIN, OWNER, ApiWorld

SESSIONS, USERS = "/api/v2/sessions", "/api/v2/users"
GUEST, CALLER = "customer-42", "+919876543210"
DEFAULTS = {
    "enabled": True,
    "retentionDays": 30,
    "crossSession": True,
    "saveVoiceTranscripts": True,
    "saveRagContext": True,
    "anonymizePhi": True,
}


@pytest.fixture
async def page_key(world: ApiWorld) -> str:
    return await world.page_token()


@pytest.fixture
async def client(world: ApiWorld, page_key: str) -> AsyncIterator[httpx.AsyncClient]:
    assert page_key  # its agent is there
    async with await world.client(router, sessions.router, webhooks.router) as client:
        yield client


@pytest.fixture
async def page(world: ApiWorld, page_key: str) -> AsyncIterator[httpx.AsyncClient]:
    async with await world.client(router, sessions.router, token=page_key) as page:
        page.headers["Origin"] = ORIGIN
        yield page


async def made(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    """A new session."""
    response = await client.post(SESSIONS, json={"agentId": "reception", **fields})
    assert response.status_code == 201, response.text
    found: dict[str, Any] = response.json()
    return found


async def said(world: ApiWorld, session_id: str, user_id: str, content: str = "A kumquat.") -> None:
    """Something in a session that a worker serves."""
    await world.memory.begin_session(session_id, user_id=user_id, owner_id=OWNER)
    entry = MemoryEntry(
        id="m1",
        role="assistant",
        content=content,
        mode="voice",
        language="hi",
        sources=({"document": "menu.pdf", "page": 2, "score": 0.9},),
    )
    await world.memory.add_entry(session_id, entry)
    await world.memory.end_session(session_id)


async def test_a_session_is_told_with_its_messages(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    session_id = (await made(client, userId=GUEST))["sessionId"]
    await said(world, session_id, memory_user_id(OWNER, user=GUEST))
    response = await client.get(f"{SESSIONS}/{session_id}/memory")
    assert response.status_code == 200
    assert response.json() == {
        "sessionId": session_id,
        "mode": "voice",
        "language": "hi",
        "messages": [
            {
                "id": "m1",
                "role": "assistant",
                "content": "A kumquat.",
                "mode": "voice",
                "language": "hi",
                "timestamp": "2026-12-01T12:00:00Z",
                "interrupted": False,
                "sources": [{"document": "menu.pdf", "page": 2, "score": 0.9}],
            }
        ],
        "languageSwitches": [],
    }


async def test_a_page_reads_and_changes_its_own_session(
    world: ApiWorld, page: httpx.AsyncClient
) -> None:
    session = await made(page, mode="text")
    page.cookies.clear()
    page.headers["X-Session-Secret"] = session["secret"]
    place = f"{SESSIONS}/{session['sessionId']}"
    assert (await page.get(f"{place}/memory")).json()["mode"] == "text"
    changed = await page.put(f"{place}/memory/mode", json={"mode": "voice"})
    assert (changed.status_code, changed.json()["mode"]) == (200, "voice")
    changed = await page.put(f"{place}/memory/language", json={"language": "es"})
    assert (changed.status_code, changed.json()["language"]) == (200, "es")
    events = (await page.get(f"{place}/memory/events")).json()["events"]
    assert [one["event_type"] for one in events] == ["mode_switch", "language_switch"]
    joined = await page.post(f"{place}/join", json={"secret": session["secret"]})
    assert joined.json()["mode"] == "voice"
    deleted = await page.delete(f"{place}/memory")
    assert (deleted.status_code, deleted.json()["complete"]) == (200, True)
    assert (await page.get(f"{place}/memory")).status_code == 404
    assert world.owned.documents[Resource.SESSIONS] == []


@pytest.mark.parametrize(
    ("rest", "body", "field"),
    [
        ("mode", {"mode": "smoke"}, "mode"),
        ("mode", {}, "mode"),
        ("mode", {"mode": "text", "room": "r"}, "room"),
        ("language", {"language": ""}, "language"),
        ("language", {"language": "Klingon please"}, "language"),
        ("language", {"language": "es\n"}, "language"),
        ("language", {"language": "e\x00"}, "language"),
        ("language", {"language": None}, "language"),
    ],
)
async def test_what_is_no_mode_or_language_is_refused(
    client: httpx.AsyncClient, rest: str, body: dict[str, Any], field: str
) -> None:
    session_id = (await made(client))["sessionId"]
    response = await client.put(f"{SESSIONS}/{session_id}/memory/{rest}", json=body)
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == field
    assert (await client.get(f"{SESSIONS}/{session_id}/memory/events")).json() == {"events": []}


async def test_a_deletion_answers_with_a_receipt_and_is_told_to_webhooks(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    await client.post(
        "/api/v2/webhooks",
        json={"url": "https://crm.example.com/hook", "events": ["memory.deleted"]},
    )
    session = await made(client, userId=GUEST, dynamicVariables={"name": "Daivik"})
    session_id = session["sessionId"]
    await said(world, session_id, memory_user_id(OWNER, user=GUEST))
    response = await client.delete(f"{SESSIONS}/{session_id}/memory")
    assert response.status_code == 200
    receipt = response.json()
    assert (receipt["scope"], receipt["at"]) == ("session", "2026-12-01T12:00:00Z")
    assert (receipt["complete"], receipt["failed"]) == (True, [])
    assert receipt["surfaces"]["web_sessions"] == 1
    (delivery,) = world.deliveries.rows.values()
    assert receipt["id"] in delivery.body
    for told in (response.text, delivery.body):
        for personal in (session_id, GUEST, memory_user_id(OWNER, user=GUEST), "Daivik", "kumquat"):
            assert personal not in told
    join = await client.post(f"{SESSIONS}/{session_id}/join", json={})
    assert join.status_code == 404
    assert (await client.delete(f"{SESSIONS}/{session_id}/memory")).status_code == 404


def _let_fail(monkeypatch: pytest.MonkeyPatch, world: ApiWorld) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise MemoryStoreError("away")

    for name in ("delete_session", "settings", "put_settings", "export", "load_conversation"):
        monkeypatch.setattr(world.stores.archive, name, fail)


async def test_while_the_archive_is_away_nobody_is_told_that_all_is_well(
    world: ApiWorld, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = (await made(client))["sessionId"]
    _let_fail(monkeypatch, world)
    receipt = (await client.delete(f"{SESSIONS}/{session_id}/memory")).json()
    assert receipt["complete"] is False
    assert "web_sessions" in receipt["failed"]
    settings = await client.get(f"{USERS}/{GUEST}/memory/settings")
    assert (settings.status_code, settings.json()["code"]) == (503, "memory_store_failed")
    for method in ("GET", "PUT"):
        path = f"{USERS}/{GUEST}/memory" + ("/settings" if method == "PUT" else "")
        assert (await client.request(method, path, json=DEFAULTS)).status_code == 503
    assert (await client.get(f"{SESSIONS}/{session_id}/memory")).status_code == 200


@pytest.mark.parametrize("place", [GUEST, CALLER, "%2B919876543210", "a%2Fb", "a/memory", "किसी"])
async def test_settings_are_kept_as_they_were_put(client: httpx.AsyncClient, place: str) -> None:
    path = f"{USERS}/{place}/memory/settings"
    assert (await client.get(path)).json() == DEFAULTS
    chosen = {**DEFAULTS, "retentionDays": 7, "crossSession": False}
    response = await client.put(path, json={"retentionDays": 7, "crossSession": False})
    assert (response.status_code, response.json()) == (200, chosen)
    assert (await client.get(path)).json() == chosen
    assert (await client.put(path, json={})).json() == DEFAULTS
    assert (await client.get(path)).json() == DEFAULTS


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"retentionDays": 0}, "retentionDays"),
        ({"retentionDays": 3651}, "retentionDays"),
        ({"retentionDays": 10**30}, "retentionDays"),
        ({"retentionDays": 7.5}, "retentionDays"),
        ({"retentionDays": "7"}, "retentionDays"),
        ({"retentionDays": True}, "retentionDays"),
        ({"enabled": "yes"}, "enabled"),
        ({"enabled": 1}, "enabled"),
        ({"enabled": None}, "enabled"),
        ({"retention": 7}, "retention"),
    ],
)
async def test_settings_that_are_none_are_refused_by_field(
    client: httpx.AsyncClient, body: dict[str, Any], field: str
) -> None:
    path = f"{USERS}/{GUEST}/memory/settings"
    response = await client.put(path, json=body)
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == field
    assert (await client.get(path)).json() == DEFAULTS


class Decimal128:
    """A value as MongoDB has them and JSON does not."""

    @override
    def __str__(self) -> str:
        return "9.90"


async def test_an_export_has_conversations_settings_and_calls(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    caller = memory_user_id(OWNER, e164=CALLER)
    await world.owned.of(OWNER, Resource.CONTACTS).insert(
        {
            "contactUID": "c1",
            "AgentID": "reception",
            "userId": caller,
            "phone": CALLER,
            "phoneLast10": CALLER[-10:],
            "callStartedAt": world.clock.now(),
            "dynamicVariables": {"name": "Daivik"},
            "analysis": {"fields": {"price": Decimal128(), "tax": float("nan"), "note": None}},
            "room": "call-c1",
        }
    )
    await said(world, "c1", caller)
    response = await client.get(f"{USERS}/{CALLER}/memory")
    assert response.status_code == 200
    found = response.json()
    assert found["calls"] == [
        {
            "contactUID": "c1",
            "AgentID": "reception",
            "phone": CALLER,
            "callStartedAt": "2026-12-01T12:00:00Z",
            "dynamicVariables": {"name": "Daivik"},
            "analysis": {"fields": {"price": "9.90", "tax": None, "note": None}},
        }
    ]
    assert "A kumquat." in str(found["memory"])
    nobody = (await client.get(f"{USERS}/nobody/memory")).json()
    assert nobody["calls"] == []
    assert "kumquat" not in str(nobody)


@pytest.mark.parametrize("scope", ["all", "day"])
async def test_a_person_is_deleted(world: ApiWorld, client: httpx.AsyncClient, scope: str) -> None:
    session_id = (await made(client, userId=GUEST))["sessionId"]
    await said(world, session_id, memory_user_id(OWNER, user=GUEST))
    path = f"{USERS}/{GUEST}/memory"
    response = await client.delete(path, params={"scope": scope})
    assert response.status_code == 200
    receipt = response.json()
    assert (receipt["scope"], receipt["complete"]) == (scope, True)
    assert receipt["surfaces"]["web_sessions"] == (1 if scope == "all" else 0)
    assert "kumquat" not in (await client.get(path)).text
    assert (await client.delete(path, params={"scope": scope})).status_code == 200


@pytest.mark.parametrize("params", [{}, {"scope": "session"}, {"scope": ""}, {"scope": "ALL"}])
async def test_what_is_to_be_deleted_has_to_be_said(
    world: ApiWorld, client: httpx.AsyncClient, params: dict[str, str]
) -> None:
    session_id = (await made(client, userId=GUEST))["sessionId"]
    await said(world, session_id, memory_user_id(OWNER, user=GUEST))
    path = f"{USERS}/{GUEST}/memory"
    response = await client.delete(path, params=params)
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == "query.scope"
    assert "kumquat" in (await client.get(path)).text


OF_USERS = [("GET", ""), ("DELETE", "?scope=all"), ("GET", "/settings"), ("PUT", "/settings")]
OF_SESSIONS: list[tuple[str, str]] = [
    ("GET", ""),
    ("GET", "/events"),
    ("PUT", "/mode"),
    ("PUT", "/language"),
    ("DELETE", ""),
]


@pytest.mark.parametrize("person", ["%00", "x" * 201, "+1", "+nobody", "+1555%00"])
@pytest.mark.parametrize(("method", "rest"), OF_USERS)
async def test_who_is_nobody_is_refused(
    client: httpx.AsyncClient, method: str, rest: str, person: str
) -> None:
    body: dict[str, Any] | None = {} if method == "PUT" else None
    response = await client.request(method, f"{USERS}/{person}/memory{rest}", json=body)
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == "path.userId"


@pytest.mark.parametrize("session_id", ["%00", "x" * 201])
@pytest.mark.parametrize(("method", "rest"), OF_SESSIONS)
async def test_what_is_no_session_id_is_refused(
    client: httpx.AsyncClient, method: str, rest: str, session_id: str
) -> None:
    response = await client.request(method, f"{SESSIONS}/{session_id}/memory{rest}")
    assert response.status_code == 422


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *((method, f"{USERS}/{GUEST}/memory{rest}") for method, rest in OF_USERS),
        *((method, f"{SESSIONS}/s1/memory{rest}") for method, rest in OF_SESSIONS),
    ],
)
async def test_reading_and_writing_need_their_scopes(
    world: ApiWorld, method: str, path: str
) -> None:
    needed = Scope.MEMORY_READ if method == "GET" else Scope.MEMORY_WRITE
    token = await world.token(scopes=frozenset(Scope) - {needed})
    async with await world.client(router, token=token) as limited:
        response = await limited.request(method, path, json={})
    assert (response.status_code, response.json()["code"]) == (403, "scope_missing")


async def test_without_the_store_of_sessions_none_is_found(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    world.owned.faults.error = ContactStoreError("away")
    for method, rest in OF_SESSIONS:
        response = await client.request(method, f"{SESSIONS}/s1/memory{rest}")
        assert response.status_code == 503
