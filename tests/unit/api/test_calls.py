"""Outbound calls over HTTP."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from src.api.routes.calls import router
from src.schemas.api_keys import Scope
from src.schemas.errors import ContactStoreError, MediaServerError
from src.services.owned import Resource
from tests.unit.api.conftest import OWNER, ApiWorld

CALLS = "/api/v2/calls"
PHONE = "+919876543210"
REQUEST: dict[str, Any] = {"agentId": "reception", "phone": PHONE}


@pytest.fixture
async def client(world: ApiWorld) -> AsyncIterator[httpx.AsyncClient]:
    await plant_agent(world)
    async with await world.client(router) as client:
        yield client


async def plant_agent(world: ApiWorld, owner_id: str = OWNER, agent_id: str = "reception") -> None:
    await world.owned.of(owner_id, Resource.AGENTS).insert(
        {"agentId": agent_id, "createdAt": world.clock.now(), "version": 1}
    )


async def placed(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    """A new call."""
    response = await client.post(CALLS, json={**REQUEST, **fields})
    assert response.status_code == 202, response.text
    found: dict[str, Any] = response.json()
    return found


def record(world: ApiWorld) -> dict[str, Any]:
    """The only call's record."""
    (found,) = world.owned.documents[Resource.CONTACTS]
    return found


async def test_a_call_is_placed_and_its_status_can_be_asked_for(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    response = await client.post(
        CALLS,
        json={
            "agentId": "reception",
            "phone": " +91 98765-43210 ",
            "dynamicVariables": {"name": "Daivik", "First.Name": "D"},
            "campaignId": "spring",
        },
    )
    assert response.status_code == 202
    call = response.json()
    uid = call["contactUID"]
    assert call == {
        "contactUID": uid,
        "agentId": "reception",
        "phone": PHONE,
        "status": "dialing",
        "campaignId": "spring",
        "createdAt": "2026-12-01T12:00:00Z",
        "callStartedAt": "2026-12-01T12:00:00Z",
    }
    assert response.headers["location"] == f"{CALLS}/{uid}"
    assert (await client.get(response.headers["location"])).json() == call
    ((room, job),) = world.dispatcher.jobs.items()
    assert (job.contact_uid, job.phone, job.agent_id) == (uid, PHONE, "reception")
    assert job.dynamic_values == {"name": "Daivik", "First.Name": "D"}
    assert record(world)["room"] == room


async def test_a_request_that_is_repeated_calls_once(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    key = {"Idempotency-Key": "k1"}
    first = await client.post(CALLS, json=REQUEST, headers=key)
    again = await client.post(CALLS, json=REQUEST, headers=key)
    assert (first.status_code, first.json()) == (again.status_code, again.json())
    assert again.headers["location"] == first.headers["location"]
    assert len(world.dispatcher.jobs) == 1
    assert record(world)["contactUID"] == first.json()["contactUID"]


async def test_a_national_number_is_one_of_the_owners_region(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    national = {**REQUEST, "phone": "098765 43210"}
    assert (await client.post(CALLS, json=national)).status_code == 422
    await world.owned.of(OWNER, Resource.OWNERS).insert({"defaultRegion": "IN"})
    assert (await placed(client, phone="098765 43210"))["phone"] == PHONE


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"agentId": "sales"}, "agentId"),
        ({"agentId": "theirs"}, "agentId"),
        ({"agentId": ""}, "agentId"),
        ({"agentId": "x" * 201}, "agentId"),
        ({"agentId": "a\x00"}, "agentId"),
        ({"agentId": 7}, "agentId"),
        ({"phone": "nobody"}, "phone"),
        ({"phone": "+49123456789012345"}, "phone"),
        ({"phone": "+1555\x00"}, "phone"),
        ({"phone": "9" * 65}, "phone"),
        ({"phone": None}, "phone"),
        ({"campaignId": "a\x00"}, "campaignId"),
        ({"dynamicVariables": {"{% if %}": "x"}}, "dynamicVariables.{% if %}"),
        ({"dynamicVariables": {"$where": "x"}}, "dynamicVariables.$where"),
        ({"dynamicVariables": {"": "x"}}, "dynamicVariables..[key]"),
        ({"dynamicVariables": {"name": "a\x00"}}, "dynamicVariables.name"),
        ({"dynamicVariables": {"name": 7}}, "dynamicVariables.name"),
        ({"dynamicVariables": {"name": "x" * 2001}}, "dynamicVariables.name"),
        ({"dynamicVariables": {f"n{one}": "" for one in range(51)}}, "dynamicVariables"),
        ({"dynamicVariables": {f"n{one}": "x" * 1000 for one in range(17)}}, "dynamicVariables"),
        ({"dynamicVariables": []}, "dynamicVariables"),
        ({"ownerId": "other"}, "ownerId"),
        ({"status": "completed"}, "status"),
    ],
)
async def test_what_cannot_be_called_is_refused_by_field(
    world: ApiWorld, client: httpx.AsyncClient, fields: dict[str, Any], field: str
) -> None:
    await plant_agent(world, "other", "theirs")
    response = await client.post(CALLS, json={**REQUEST, **fields})
    assert response.status_code == 422, response.text
    assert response.json()["errors"][0]["field"] == field
    assert world.dispatcher.jobs == {}
    assert world.owned.documents[Resource.CONTACTS] == []


@pytest.mark.parametrize(
    "body",
    [
        '{"agentId": "\\ud800", "phone": "+919876543210"}',
        '{"agentId": "reception", "phone": "\\udfff"}',
        '{"agentId": "reception", "phone": "+919876543210", "dynamicVariables": {"\\ud800": "x"}}',
        '{"agentId": "reception", "phone": "+919876543210", "dynamicVariables": {"n": "\\ud800"}}',
        '{"agentId": "reception", "phone": "+919876543210", "\\ud800": 1}',
        "[]",
        "null",
        "1e999",
        '"text"',
    ],
)
async def test_what_is_no_text_or_no_object_is_refused(
    client: httpx.AsyncClient, body: str
) -> None:
    headers = {"Content-Type": "application/json"}
    assert (await client.post(CALLS, content=body, headers=headers)).status_code == 422


async def test_without_the_media_server_the_call_has_failed_and_can_be_placed_again(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    world.dispatcher.faults.error = MediaServerError("away")
    key = {"Idempotency-Key": "k1"}
    response = await client.post(CALLS, json=REQUEST, headers=key)
    assert (response.status_code, response.json()["code"]) == (503, "media_server_failed")
    assert int(response.headers["retry-after"]) > 0
    assert PHONE not in response.text
    assert record(world)["status"] == "failed"
    world.dispatcher.faults.error = None
    assert (await client.post(CALLS, json=REQUEST, headers=key)).status_code == 202
    assert len(world.dispatcher.jobs) == 1


async def test_without_the_store_nobody_is_called(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    world.owned.faults.error = ContactStoreError("away")
    assert (await client.post(CALLS, json=REQUEST)).status_code == 503
    assert world.dispatcher.jobs == {}


async def test_a_call_that_nobody_took_yet_is_over_once_it_is_hung_up(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    call = await placed(client)
    world.clock.advance(5)
    place = f"{CALLS}/{call['contactUID']}/hangup"
    response = await client.post(place)
    assert response.status_code == 202
    ended = response.json()
    assert (ended["status"], ended["callEndedAt"]) == ("abandoned", "2026-12-01T12:00:05Z")
    assert ended["hangupRequestedAt"] == "2026-12-01T12:00:05Z"
    assert world.dispatcher.jobs == {}
    world.clock.advance(5)
    again = await client.post(place)
    assert (again.status_code, again.json()) == (202, ended)


async def test_a_call_that_talks_is_ended_by_its_worker(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    call = await placed(client)
    room = record(world)["room"]
    world.dispatcher.taken.add(room)
    record(world)["status"] = "in-progress"
    response = await client.post(f"{CALLS}/{call['contactUID']}/hangup")
    assert response.status_code == 202
    asked = response.json()
    assert asked["status"] == "in-progress"
    assert asked["hangupRequestedAt"] == "2026-12-01T12:00:00Z"
    assert "callEndedAt" not in asked
    assert world.dispatcher.cancelled == [room]


async def test_a_call_that_was_over_cannot_be_hung_up(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    call = await placed(client)
    record(world).update(status="completed", callEndedAt=world.clock.now())
    response = await client.post(f"{CALLS}/{call['contactUID']}/hangup")
    assert (response.status_code, response.json()["code"]) == (409, "conflict")
    assert world.dispatcher.cancelled == []


async def test_while_the_media_server_is_away_hanging_up_is_asked_for_again(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    call = await placed(client)
    place = f"{CALLS}/{call['contactUID']}/hangup"
    world.dispatcher.faults.error = MediaServerError("away")
    assert (await client.post(place)).status_code == 503
    assert record(world)["hangupRequestedAt"] == world.clock.now()  # no worker dials any more
    world.dispatcher.faults.error = None
    assert (await client.post(place)).json()["status"] == "abandoned"


@pytest.mark.parametrize(("method", "rest"), [("GET", ""), ("POST", "/hangup")])
async def test_another_owners_call_and_one_that_nobody_placed_are_not_found(
    world: ApiWorld, client: httpx.AsyncClient, method: str, rest: str
) -> None:
    call = await placed(client)
    async with await world.client(router, token=await world.token("other")) as stranger:
        theirs = await stranger.request(method, f"{CALLS}/{call['contactUID']}{rest}")
        missing = await stranger.request(method, f"{CALLS}/nobody{rest}")
    assert theirs.status_code == missing.status_code == 404
    assert theirs.json()["detail"] == missing.json()["detail"]
    record(world)["callDirection"] = "inbound"
    assert (await client.request(method, f"{CALLS}/{call['contactUID']}{rest}")).status_code == 404
    assert world.dispatcher.cancelled == []
    for bad in ("%00", "x" * 201):
        assert (await client.request(method, f"{CALLS}/{bad}{rest}")).status_code == 422


@pytest.mark.parametrize(
    ("method", "rest", "scope"),
    [
        ("POST", "", Scope.CONTACTS_READ),
        ("GET", "/c1", Scope.CALLS_WRITE),
        ("POST", "/c1/hangup", Scope.CONTACTS_READ),
    ],
)
async def test_reading_and_calling_need_their_scopes(
    world: ApiWorld, method: str, rest: str, scope: Scope
) -> None:
    token = await world.token(scopes=frozenset({scope}))
    async with await world.client(router, token=token) as limited:
        response = await limited.request(method, CALLS + rest, json=REQUEST)
    assert response.status_code == 403
    assert world.dispatcher.jobs == {}
