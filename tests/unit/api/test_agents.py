"""Agents over HTTP."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from src.api.routes.agents import router
from src.schemas.api_keys import Scope
from src.services.owned import Resource
from tests.unit.api.conftest import ApiWorld

AGENTS = "/api/v2/agents"
PHONE = "+15551234567"


@pytest.fixture
async def client(world: ApiWorld) -> AsyncIterator[httpx.AsyncClient]:
    async with await world.client(router) as client:
        yield client


async def made(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    """A new agent."""
    response = await client.post(AGENTS, json=fields)
    assert response.status_code == 201, response.text
    assert response.headers["Location"] == f"{AGENTS}/{response.json()['agentId']}"
    found: dict[str, Any] = response.json()
    return found


async def test_an_agent_is_created_with_its_defaults_and_read_back(
    client: httpx.AsyncClient,
) -> None:
    created = await made(client, name="Reception")
    assert created["historyContext"] == {
        "enabled": False,
        "maxConversations": 5,
        "window": {"type": "months", "value": 1},
        "linkedAgentIds": [],
        "variableMemory": {"enabled": False},
    }
    assert (created["version"], created["warnings"]) == (1, [])
    read = await client.get(f"{AGENTS}/{created['agentId']}")
    assert read.json() == created
    assert read.headers["ETag"] == '"1"'


async def test_an_update_is_a_full_one_and_needs_the_newest_version(
    client: httpx.AsyncClient,
) -> None:
    created = await made(client, name="A", greeting="Hi.", historyContext={"enabled": True})
    place = f"{AGENTS}/{created['agentId']}"
    updated = await client.put(place, json={"name": "B"}, headers={"If-Match": '"1"'})
    assert updated.status_code == 200
    assert updated.headers["ETag"] == '"2"'
    assert updated.json()["greeting"] != "Hi."
    assert not updated.json()["historyContext"]["enabled"]
    stale = await client.put(place, json={"name": "C"}, headers={"If-Match": '"1"'})
    assert (stale.status_code, stale.json()["code"]) == (412, "stale")
    assert (await client.put(place, json={"name": "C"})).status_code == 200
    bad = await client.put(place, json={"name": "C"}, headers={"If-Match": "W/x"})
    assert bad.status_code == 400


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"nonsense": 1}, "nonsense"),
        ({"agentId": "mine"}, "agentId"),
        ({"historyContext": {"window": {"typ": "days"}}}, "historyContext.window.typ"),
        ({"historyContext": {"window": {"type": "ages"}}}, "historyContext.window.type"),
        ({"historyContext": {"window": {"value": 0}}}, "historyContext.window.value"),
        ({"historyContext": {"window": {"type": "custom"}}}, "historyContext.window.startDate"),
        ({"historyContext": {"maxConversations": 11}}, "historyContext.maxConversations"),
        ({"historyContext": {"maxConversations": "5"}}, "historyContext.maxConversations"),
        ({"historyContext": {"linkedAgentIds": "a"}}, "historyContext.linkedAgentIds"),
        ({"historyContext": {"linkedAgentIds": [1]}}, "historyContext.linkedAgentIds.0"),
        (
            {"historyContext": {"variableMemory": {"linkedAgentId": 1}}},
            "historyContext.variableMemory.linkedAgentId",
        ),
        ({"analysisSchema": {"type": "array"}}, "analysisSchema"),
        ({"name": "a\x00"}, "name"),
        ({"timezone": "Mars/Olympus"}, "timezone"),
    ],
)
async def test_what_cannot_be_is_refused_by_its_path(
    client: httpx.AsyncClient, body: dict[str, Any], field: str
) -> None:
    place = f"{AGENTS}/{(await made(client))['agentId']}"
    for response in (await client.post(AGENTS, json=body), await client.put(place, json=body)):
        assert response.status_code == 422
        assert [one["field"] for one in response.json()["errors"]] == [field]
    assert (await client.get(place)).json()["version"] == 1


@pytest.mark.parametrize("raw", [b'{"name": "\\ud800"}', b'{"variableDefaults": {"\\ud800": "x"}}'])
async def test_what_no_store_takes_is_refused(client: httpx.AsyncClient, raw: bytes) -> None:
    response = await client.post(AGENTS, content=raw, headers={"Content-Type": "application/json"})
    assert response.status_code == 422


async def test_json_that_is_nested_without_end_is_refused(client: httpx.AsyncClient) -> None:
    deep = '{"a":' * 900 + "1" + "}" * 900
    response = await client.post(
        AGENTS,
        content=f'{{"analysisSchema": {deep}}}',
        headers={"Content-Type": "application/json"},
    )
    assert response.status_code in (400, 422)


async def test_foreign_and_unknown_links_are_answered_alike(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    async with await world.client(router, token=await world.token("globex")) as other:
        theirs = (await made(other))["agentId"]
    answers = []
    for link in (theirs, "x" * len(theirs)):
        body = {"historyContext": {"linkedAgentIds": [link]}}
        response = await client.post(AGENTS, json=body)
        assert response.status_code == 422
        answers.append({k: v for k, v in response.json().items() if k != "requestId"})
    assert answers[0] == answers[1]
    assert answers[0]["errors"] == [
        {"field": "historyContext.linkedAgentIds", "message": "Invalid linked agents"}
    ]


async def test_lists_go_on_by_cursor(world: ApiWorld, client: httpx.AsyncClient) -> None:
    ids = []
    for number in range(3):
        ids.append((await made(client, name=f"N{number}"))["agentId"])
        world.clock.advance(1)
    first = (await client.get(AGENTS, params={"limit": 2})).json()
    assert [one["agentId"] for one in first["items"]] == ids[:0:-1]
    assert "warnings" not in first["items"][0]
    params = {"limit": 2, "cursor": first["nextCursor"]}
    second = (await client.get(AGENTS, params=params)).json()
    assert [one["agentId"] for one in second["items"]] == ids[:1]


async def test_an_agent_is_deleted_unless_a_number_leads_to_it(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    agent_id = (await made(client))["agentId"]
    numbers = world.owned.of("acme", Resource.PHONE_NUMBERS)
    now = world.clock.now()
    await numbers.insert({"number": "+15105550100", "agentId": agent_id, "createdAt": now})
    assert (await client.delete(f"{AGENTS}/{agent_id}")).status_code == 409
    await numbers.delete("+15105550100")
    assert (await client.delete(f"{AGENTS}/{agent_id}")).status_code == 204
    for method in ("GET", "DELETE"):
        assert (await client.request(method, f"{AGENTS}/{agent_id}")).status_code == 404


async def test_answers_and_lint_warn_alike(client: httpx.AsyncClient) -> None:
    created = await made(client, greeting="Hello {{name}}")
    (warning,) = created["warnings"]
    assert warning["code"] == "variable_only_per_call"
    assert (warning["field"], warning["variable"]) == ("greeting", "name")
    linted = await client.post(f"{AGENTS}/{created['agentId']}/lint")
    assert linted.json() == {"warnings": created["warnings"]}


async def called(world: ApiWorld, agent_id: str, **fields: Any) -> None:
    """An outbound call some days ago."""
    await world.owned.of("acme", Resource.CONTACTS).insert(
        {
            "contactUID": "before",
            "AgentID": agent_id,
            "phone": PHONE,
            "phoneLast10": PHONE[-10:],
            "callDirection": "outbound",
            "conversation_summary": "They asked for a table.",
            "dynamicVariables": {"name": "Daivik"},
            "callStartedAt": world.clock.now() - timedelta(days=3),
            **fields,
        }
    )


async def test_a_preview_tells_what_the_caller_would_hear(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    history = {"enabled": True, "variableMemory": {"enabled": True}}
    created = await made(client, greeting="Hello {{name}}, welcome.", historyContext=history)
    await called(world, created["agentId"])
    place = f"{AGENTS}/{created['agentId']}/preview"
    found = (await client.get(place, params={"phone": "+1 (555) 123-4567"})).json()
    assert found["greeting"] == "Hello Daivik, welcome."
    assert "They asked for a table." in found["history"]["block"]
    assert found["history"]["contactUIDs"] == ["before"]
    assert found["variables"]["filled"] == {"name": "Daivik"}
    assert found["phone"] == PHONE
    params = {"phone": PHONE, "direction": "outbound", "dynamicVariables": '{"name": "Priya"}'}
    found = (await client.get(place, params=params)).json()
    assert found["greeting"] == "Hello Priya, welcome."


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "query.phone"),
        ({"phone": ""}, "query.phone"),
        ({"phone": "a\x00"}, "query.phone"),
        ({"phone": PHONE, "direction": "web"}, "query.direction"),
        ({"phone": PHONE, "dynamicVariables": "{"}, "query.dynamicVariables"),
        ({"phone": PHONE, "dynamicVariables": '{"a": 1}'}, "query.dynamicVariables"),
        ({"phone": PHONE, "dynamicVariables": '{"a": "\\ud800"}'}, "query.dynamicVariables"),
        ({"phone": "12", "direction": "outbound"}, "phone"),
    ],
)
async def test_a_preview_of_what_cannot_be_is_refused(
    client: httpx.AsyncClient, params: dict[str, str], field: str
) -> None:
    agent_id = (await made(client))["agentId"]
    response = await client.get(f"{AGENTS}/{agent_id}/preview", params=params)
    assert response.status_code == 422
    assert [one["field"] for one in response.json()["errors"]] == [field]


async def test_who_may_not_read_calls_gets_no_preview(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    agent_id = (await made(client))["agentId"]
    token = await world.token(scopes=frozenset({Scope.AGENTS_READ, Scope.AGENTS_WRITE}))
    async with await world.client(router, token=token) as other:
        params = {"phone": PHONE}
        assert (await other.get(f"{AGENTS}/{agent_id}")).status_code == 200
        response = await other.get(f"{AGENTS}/{agent_id}/preview", params=params)
        assert response.status_code == 403


async def test_a_request_that_is_repeated_creates_one(client: httpx.AsyncClient) -> None:
    key = {"Idempotency-Key": "k1"}
    first = await client.post(AGENTS, json={"name": "A"}, headers=key)
    again = await client.post(AGENTS, json={"name": "A"}, headers=key)
    assert first.json() == again.json()
    assert again.headers["ETag"] == '"1"'
    assert len((await client.get(AGENTS)).json()["items"]) == 1


async def test_the_document_describes_both_kinds_of_dates(world: ApiWorld) -> None:
    described = json.dumps(world.app(router).openapi()["components"]["schemas"]["HistoryWindow"])
    assert '{"format": "date"}' in described
