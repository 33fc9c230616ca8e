"""Call records over HTTP."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from typing_extensions import override

from src.api.pagination import cursor_of
from src.api.routes.contacts import router
from src.schemas.api_keys import Scope
from src.schemas.errors import ContactStoreError
from src.schemas.memory import MemoryEntry
from src.services.owned import Position, Resource
from tests.unit.api.conftest import OWNER, ApiWorld

CONTACTS = "/api/v2/contacts"
PHONE = "+919876543210"


class ObjectId:
    """A value as MongoDB has them and JSON does not."""

    @override
    def __str__(self) -> str:
        return "65f0"


@pytest.fixture
async def client(world: ApiWorld) -> AsyncIterator[httpx.AsyncClient]:
    async with await world.client(router) as client:
        yield client


async def call(world: ApiWorld, uid: str, owner_id: str = OWNER, **fields: Any) -> None:
    """A record; each is a minute later than the one before."""
    world.clock.advance(60)
    await world.owned.of(owner_id, Resource.CONTACTS).insert(
        {
            "contactUID": uid,
            "AgentID": "reception",
            "callDirection": "inbound",
            "status": "completed",
            "phone": PHONE,
            "phoneLast10": "9876543210",
            "callStartedAt": world.clock.now(),
            **fields,
        }
    )


async def uids(client: httpx.AsyncClient, **params: Any) -> list[str]:
    response = await client.get(CONTACTS, params=params)
    assert response.status_code == 200, response.text
    return [one["contactUID"] for one in response.json()["items"]]


async def test_calls_are_listed_newest_first(world: ApiWorld, client: httpx.AsyncClient) -> None:
    await call(world, "c1", callEndedAt=world.clock.now() + timedelta(seconds=90))
    await call(
        world,
        "c2",
        phone=None,
        callDirection="web",
        sessionId="s1",
        campaignId="spring",
        analysisStatus="done",
        conversation_summary="Asked for a kumquat.",
        transcript=[{"role": "user", "text": "A kumquat."}],
    )
    assert (await client.get(CONTACTS)).json() == {
        "items": [
            {
                "contactUID": "c2",
                "agentId": "reception",
                "direction": "web",
                "status": "completed",
                "campaignId": "spring",
                "sessionId": "s1",
                "callStartedAt": "2026-12-01T12:02:00Z",
                "analysisStatus": "done",
                "conversationSummary": "Asked for a kumquat.",
            },
            {
                "contactUID": "c1",
                "agentId": "reception",
                "direction": "inbound",
                "status": "completed",
                "phone": PHONE,
                "callStartedAt": "2026-12-01T12:01:00Z",
                "callEndedAt": "2026-12-01T12:01:30Z",
            },
        ]
    }


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"agentId": "sales"}, ["c2"]),
        ({"agentId": "nobody"}, []),
        ({"direction": "outbound"}, ["c3"]),
        ({"status": "failed"}, ["c3"]),
        ({"campaignId": "spring"}, ["c2"]),
        ({"from": "2026-12-01T12:02:00Z"}, ["c3", "c2"]),
        ({"to": "2026-12-01T12:02:00Z"}, ["c1"]),
        ({"from": "2026-12-01T17:32:00+05:30", "to": "2026-12-01T12:03:00Z"}, ["c2"]),
        ({"agentId": "reception", "direction": "inbound"}, ["c1"]),
    ],
)
async def test_lists_are_filtered(
    world: ApiWorld, client: httpx.AsyncClient, params: dict[str, str], found: list[str]
) -> None:
    await call(world, "c1")
    await call(world, "c2", AgentID="sales", campaignId="spring")
    await call(world, "c3", callDirection="outbound", status="failed")
    assert await uids(client, **params) == found


@pytest.mark.parametrize(
    "phone",
    [PHONE, "+91 98765-43210", "0091 98765 43210", "tel:+919876543210", "98765 43210"],
)
async def test_a_number_finds_its_calls_in_any_format(
    world: ApiWorld, client: httpx.AsyncClient, phone: str
) -> None:
    await world.owned.of(OWNER, Resource.OWNERS).insert({"defaultRegion": "IN"})
    await call(world, "c1")
    await call(world, "c2", phone="+19876543210")  # somebody else with the same last digits
    await call(world, "c3", phone="+919876500000", phoneLast10="9876500000")
    assert await uids(client, phone=phone) == ["c1"]


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"phone": "nobody"}, "phone"),
        ({"phone": "12"}, "phone"),
        ({"phone": ""}, "query.phone"),
        ({"phone": "+91\x00"}, "query.phone"),
        ({"phone": "9" * 65}, "query.phone"),
        ({"direction": "sideways"}, "query.direction"),
        ({"status": "exploded"}, "query.status"),
        ({"agentId": ""}, "query.agentId"),
        ({"agentId": "a\x00"}, "query.agentId"),
        ({"campaignId": "x" * 201}, "query.campaignId"),
        ({"from": "yesterday"}, "query.from"),
        ({"from": "2026-12-01"}, "query.from"),
        ({"from": "2026-12-01T12:00:00"}, "query.from"),
        ({"from": "0001-01-01T00:00:00+14:00"}, "query.from"),
        ({"to": "9999-12-31T23:59:59-12:00"}, "query.to"),
        ({"to": "1e400"}, "query.to"),
        ({"limit": "0"}, "query.limit"),
        ({"limit": "201"}, "query.limit"),
        ({"limit": "1e9"}, "query.limit"),
    ],
)
async def test_a_filter_that_is_none_is_refused_by_name(
    client: httpx.AsyncClient, params: dict[str, str], field: str
) -> None:
    response = await client.get(CONTACTS, params=params)
    assert response.status_code == 422, response.text
    found = response.json()["errors"][0]["field"]
    assert found.removeprefix("query.") == field.removeprefix("query.")


async def test_lists_go_on_by_cursor_over_records_of_other_people(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    for number in range(6):
        await call(world, f"c{number}", phone=PHONE if number % 2 else "+19876543210")
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await client.get(CONTACTS, params={"phone": PHONE, "limit": 1, **cursor})).json()
        seen += [one["contactUID"] for one in page["items"]]
        if "nextCursor" not in page:
            break
        cursor = {"cursor": page["nextCursor"]}
    assert seen == ["c5", "c3", "c1"]


async def test_a_cursor_to_where_no_record_can_be_is_none_of_ours(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    nul = cursor_of(Position(world.clock.now(), "\x00"))
    year_10000 = "WyI5OTk5LTEyLTMxVDIzOjU5OjU5LTEyOjAwIiwgImEiXQ=="
    for cursor in (nul, year_10000):
        response = await client.get(CONTACTS, params={"cursor": cursor})
        assert (response.status_code, response.json()["code"]) == (400, "invalid_cursor")


async def test_one_call_is_told_with_all_that_is_kept_of_it(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    await call(
        world,
        "c1",
        sessionId="s1",
        dynamicVariables={"name": "Daivik"},
        language="hi",
        conversation_summary="…",
        conversation_summary_en="Asked for a kumquat.",
        transcript=[
            {"role": "user", "text": "A kumquat.", "at": world.clock.now(), "interrupted": False}
        ],
        analysis={"status": "done", "fields": {"amount": None, "price": float("nan")}},
        degradations=["history_late"],
    )
    await world.stores.archive.save_conversation(
        "u1",
        "s1",
        [
            MemoryEntry(
                id="m1",
                role="user",
                content="A kumquat.",
                mode="voice",
                session_id="s1",
                user_id="u1",
                timestamp=world.clock.now(),
            )
        ],
        [],
        owner_id=OWNER,
        agent_id="reception",
    )
    response = await client.get(f"{CONTACTS}/c1")
    assert response.status_code == 200, response.text
    found = response.json()
    assert found["dynamicVariables"] == {"name": "Daivik"}
    assert found["conversationSummaryEn"] == "Asked for a kumquat."
    assert [turn["text"] for turn in found["transcript"]] == ["A kumquat."]
    assert found["analysis"] == {"status": "done", "fields": {"amount": None, "price": None}}
    assert found["degradations"] == ["history_late"]
    assert "message" in [one["kind"] for one in found["timeline"]]
    assert found["timelineComplete"] is True
    assert "memoryReceipt" not in found


async def test_a_record_of_another_program_is_told_as_far_as_it_can_be(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    await call(
        world,
        "c1",
        AgentID=7,
        status=None,
        callDirection=["?"],
        phone=5,
        dynamicVariables=None,
        transcript={"user": "x"},
        analysis={"_id": ObjectId(), "at": world.clock.now(), "tags": (1, ObjectId()), "n": 1.5},
        memoryReceipt={"history": "?"},
        callEndedAt="yesterday",
    )
    response = await client.get(f"{CONTACTS}/c1")
    assert response.status_code == 200, response.text
    found = response.json()
    assert (found["status"], found["direction"]) == ("unknown", "unknown")
    assert found["analysis"] == {
        "_id": "65f0",
        "at": "2026-12-01T12:00:00Z",
        "tags": [1, "65f0"],
        "n": 1.5,
    }
    assert (await client.get(CONTACTS)).status_code == 200


async def test_another_owners_record_is_not_found(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    await call(world, "c1")
    async with await world.client(router, token=await world.token("other")) as stranger:
        assert await uids(stranger) == []
        assert await uids(stranger, phone=PHONE) == []
        theirs = await stranger.get(f"{CONTACTS}/c1")
        missing = await stranger.get(f"{CONTACTS}/c2")
    assert theirs.status_code == missing.status_code == 404
    assert theirs.json()["detail"] == missing.json()["detail"]
    for bad in ("%00", "x" * 201):
        assert (await client.get(f"{CONTACTS}/{bad}")).status_code == 422


async def test_without_the_store_there_is_nothing_to_tell(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    world.owned.faults.error = ContactStoreError("away")
    for place in (CONTACTS, f"{CONTACTS}/c1"):
        response = await client.get(place)
        assert (response.status_code, response.json()["code"]) == (503, "contact_store_failed")


async def test_reading_needs_its_scope(world: ApiWorld) -> None:
    token = await world.token(scopes=frozenset(Scope) - {Scope.CONTACTS_READ})
    async with await world.client(router, token=token) as limited:
        for place in (CONTACTS, f"{CONTACTS}/c1"):
            assert (await limited.get(place)).status_code == 403
