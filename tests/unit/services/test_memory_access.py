"""An owner's way to memory: what is found, what is changed, and deletions that meet failures."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from typing_extensions import override

from src.schemas.errors import (
    ContactStoreError,
    InvalidInputError,
    MemoryStoreError,
    NotFoundError,
)
from src.schemas.events import Event, EventType
from src.schemas.memory import MemoryEntry, MemorySettings
from src.services.erasure import ErasureRequest, FunctionSurface
from src.services.identity import memory_user_id
from src.services.memory_access import MemoryAccess
from src.services.owned import Resource
from src.services.person_documents import person
from src.services.unified_memory import UnifiedMemoryService
from src.services.webhook_ports import EventSink
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Faults
from tests.fakes.memory import FakeStores
from tests.fakes.owned import InMemoryOwnedStore

OWNER, CALLER, GUEST = "acme", "+919876543210", "customer-42"
CALLER_ID = memory_user_id(OWNER, e164=CALLER)
GUEST_ID = memory_user_id(OWNER, user=GUEST)


@dataclass
class Heard(EventSink):
    """What was told, in order."""

    events: list[Event] = field(default_factory=list)
    faults: Faults = field(default_factory=Faults)

    @override
    async def publish(self, event: Event) -> None:
        await self.faults.check()
        self.events.append(event)


class World:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.owned = InMemoryOwnedStore()
        self.stores = FakeStores(self.clock)
        self.events = Heard()
        self.memory = UnifiedMemoryService(
            stores=self.stores.stores,
            clock=self.clock,
            surfaces=[FunctionSurface("contact_records", self._empty_records)],
        )
        self.access = MemoryAccess(memory=self.memory, store=self.owned, events=self.events)

    async def call(self, uid: str, **fields: Any) -> None:
        """A record of a call with the caller."""
        owner_id = fields.pop("owner_id", OWNER)
        await self.owned.of(owner_id, Resource.CONTACTS).insert(
            {
                "contactUID": uid,
                "sessionId": uid,
                "userId": CALLER_ID,
                "phone": CALLER,
                "phoneLast10": CALLER[-10:],
                "callStartedAt": self.clock.now(),
                **fields,
            }
        )

    async def web_session(self, session_id: str, **fields: Any) -> None:
        await self.owned.of(OWNER, Resource.SESSIONS).insert(
            {
                "sessionId": session_id,
                "mode": "voice",
                "userId": GUEST,
                "createdAt": self.clock.now(),
                **fields,
            }
        )

    async def said(self, session_id: str, user_id: str, content: str = "A kumquat.") -> None:
        """The worker writes something of a session that it serves."""
        worker = UnifiedMemoryService(stores=self.stores.raw, clock=self.clock)
        await worker.begin_session(session_id, user_id=user_id, owner_id=OWNER)
        entry = MemoryEntry(role="user", content=content, mode="voice", language="hi")
        await worker.add_entry(session_id, entry)
        await worker.end_session(session_id)
        await worker.aclose()

    @property
    def session_documents(self) -> list[str]:
        return [str(one["sessionId"]) for one in self.owned.documents[Resource.SESSIONS]]

    async def _empty_records(self, request: ErasureRequest) -> Mapping[str, int]:
        found = 0
        for one in self.owned.documents[Resource.CONTACTS]:
            if one["sessionId"] in request.session_ids or one["userId"] == request.user_id:
                one.update(userId=None, phone=None, phoneLast10=None)
                found += 1
        return {"": found}


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    yield world
    await world.memory.aclose()


async def test_sessions_of_calls_and_of_pages_are_found(world: World) -> None:
    await world.call("c1")
    await world.said("c1", CALLER_ID)
    await world.web_session("s1")
    await world.said("s1", GUEST_ID, "A quince.")
    call = await world.access.session(OWNER, "c1")
    assert [one.content for one in call.messages] == ["A kumquat."]
    assert call.language == "hi"
    page = await world.access.session(OWNER, "s1")
    assert [one.content for one in page.messages] == ["A quince."]


@pytest.mark.parametrize("session_id", ["c1", "s1", "nobody"])
async def test_a_session_of_nobody_or_of_another_owner_is_not_found(
    world: World, session_id: str
) -> None:
    await world.call("c1")
    await world.web_session("s1")
    await world.said("nobody", GUEST_ID)  # memory alone knows it
    access = world.access
    for ask in (
        access.session("other", session_id),
        access.events("other", session_id),
        access.switch_mode("other", session_id, "text"),
        access.choose_language("other", session_id, "es"),
        access.delete_session("other", session_id),
    ):
        with pytest.raises(NotFoundError):
            await ask
    assert world.events.events == []


async def test_what_was_said_meanwhile_is_seen_at_the_next_look(world: World) -> None:
    await world.web_session("s1")
    assert (await world.access.session(OWNER, "s1")).messages == ()
    await world.said("s1", GUEST_ID)
    assert len((await world.access.session(OWNER, "s1")).messages) == 1


@pytest.mark.parametrize(("begun", "other"), [("voice", "text"), ("text", "voice")])
async def test_a_session_in_which_nothing_happened_is_in_the_mode_it_begins_in(
    world: World, begun: str, other: Any
) -> None:
    await world.web_session("s1", mode=begun)
    assert (await world.access.session(OWNER, "s1")).mode == begun
    assert (await world.access.switch_mode(OWNER, "s1", other)).mode == other
    (event,) = await world.access.events(OWNER, "s1")
    assert (event["from_mode"], event["to_mode"]) == (begun, other)
    (document,) = world.owned.documents[Resource.SESSIONS]
    assert document["mode"] == other


async def test_a_mode_or_language_that_is_set_already_is_no_event(world: World) -> None:
    await world.call("c1")
    await world.said("c1", CALLER_ID)
    for _ in range(2):
        assert (await world.access.switch_mode(OWNER, "c1", "text")).mode == "text"
        assert (await world.access.choose_language(OWNER, "c1", "es")).language == "es"
    events = await world.access.events(OWNER, "c1")
    assert [one["event_type"] for one in events] == ["mode_switch", "language_switch"]
    assert world.session_documents == []


async def test_a_chosen_language_is_preferred_from_then_on(world: World) -> None:
    await world.web_session("s1")
    chosen = await world.access.choose_language(OWNER, "s1", "es")
    assert [one["to_language"] for one in chosen.language_switches] == ["es"]
    await world.web_session("s2")
    assert (await world.access.session(OWNER, "s2")).messages == ()
    next_visit = await world.memory.begin_session("s2", user_id=GUEST_ID, owner_id=OWNER)
    assert next_visit.preferences["language"] == "es"


async def test_settings_are_a_persons(world: World) -> None:
    chosen = MemorySettings(retention_days=7, cross_session=False)
    await world.access.put_settings(OWNER, GUEST, chosen)
    assert await world.access.settings(OWNER, GUEST) == chosen
    assert await world.access.settings("other", GUEST) == MemorySettings()
    assert await world.access.settings(OWNER, CALLER) == MemorySettings()


@pytest.mark.parametrize("person_id", ["+", "+1", "+1555", "+nobody", "+49123456789012345678"])
async def test_what_begins_like_a_number_has_to_be_one(world: World, person_id: str) -> None:
    with pytest.raises(InvalidInputError):
        await world.access.settings(OWNER, person_id)


def test_a_number_is_the_same_person_in_any_format() -> None:
    assert person(OWNER, "+91 98765-43210").user_id == CALLER_ID
    assert person(OWNER, "919876543210").user_id != CALLER_ID  # an id of the owner's own


async def test_an_export_has_every_call_however_many_there_are(world: World) -> None:
    for number in range(205):
        world.clock.advance(60)
        await world.call(f"c{number}")
    _, calls = await world.access.export(OWNER, CALLER)
    assert {one["contactUID"] for one in calls} == {f"c{number}" for number in range(205)}
    assert len(calls) == 205


async def test_an_export_has_what_a_deletion_would_reach(world: World) -> None:
    await world.call("by-id", phone=None, phoneLast10=None)
    await world.call("by-number", userId=None)
    await world.call("national", userId=None, phone="98765 43210")
    await world.call("original", userId=None, phone=None, originalPhone="+919876543210")
    await world.call("somebody-else", userId=None, phone="+19876543210")
    await world.call("of-another-owner", owner_id="other")
    await world.said("by-id", CALLER_ID)
    memory, calls = await world.access.export(OWNER, CALLER)
    found = {one["contactUID"] for one in calls}
    assert found == {"by-id", "by-number", "national", "original"}
    assert "A kumquat." in str(memory)
    memory, calls = await world.access.export("other", CALLER)
    assert [one["contactUID"] for one in calls] == ["of-another-owner"]
    assert "A kumquat." not in str(memory)


async def test_a_deleted_session_is_gone_and_told_of_without_personal_data(world: World) -> None:
    await world.web_session("s1")
    await world.web_session("s2")
    await world.said("s1", GUEST_ID)
    await world.said("s2", GUEST_ID, "A quince.")
    receipt = await world.access.delete_session(OWNER, "s1")
    assert receipt.complete
    assert receipt.surfaces["web_sessions"] == 1
    assert world.session_documents == ["s2"]
    assert "kumquat" not in world.stores.dump()
    assert "quince" in world.stores.dump()
    (event,) = world.events.events
    assert (event.type, event.owner_id) == (EventType.MEMORY_DELETED, OWNER)
    assert event.data == {
        "receiptId": receipt.id,
        "scope": "session",
        "complete": True,
        "surfaces": receipt.surfaces,
    }
    for personal in ("s1", GUEST, GUEST_ID, "kumquat"):
        assert personal not in event.model_dump_json()
    with pytest.raises(NotFoundError):
        await world.access.delete_session(OWNER, "s1")


async def test_what_a_deletion_of_a_session_did_not_reach_the_next_one_does(world: World) -> None:
    await world.web_session("s1")
    await world.said("s1", GUEST_ID)
    world.stores.archive_faults.error = MemoryStoreError("away")
    receipt = await world.access.delete_session(OWNER, "s1")
    assert set(receipt.failed) == {"archive", "web_sessions"}
    assert receipt.surfaces["web_sessions"] == 0
    assert world.events.events[0].data["complete"] is False
    assert world.session_documents == ["s1"]
    world.stores.archive_faults.error = None
    assert (await world.access.delete_session(OWNER, "s1")).complete
    assert world.session_documents == []
    assert "kumquat" not in world.stores.dump()


async def test_a_call_whose_record_was_emptied_is_still_its_persons(world: World) -> None:
    await world.call("c1")
    await world.said("c1", CALLER_ID)
    world.stores.session_faults.error = MemoryStoreError("away")
    assert (await world.access.delete_session(OWNER, "c1")).failed == ("session_store",)
    assert world.owned.documents[Resource.CONTACTS][0]["userId"] is None
    assert "kumquat" in world.stores.dump()
    world.stores.session_faults.error = None
    world.clock.advance(600)  # its breaker lets requests through again
    assert (await world.access.delete_session(OWNER, "c1")).complete
    assert "kumquat" not in world.stores.dump()


async def test_a_deletion_is_told_of_even_if_telling_failed_at_first(world: World) -> None:
    await world.web_session("s1")
    world.events.faults.error = ContactStoreError("away")
    with pytest.raises(ContactStoreError):
        await world.access.delete_session(OWNER, "s1")
    assert world.session_documents == ["s1"]
    world.events.faults.error = None
    assert (await world.access.delete_session(OWNER, "s1")).complete
    assert len(world.events.events) == 1


async def test_a_deleted_person_has_no_web_sessions_left(world: World) -> None:
    for number in range(3):
        await world.web_session(f"s{number}")
    await world.web_session("anonymous", userId=None)
    await world.web_session("somebody-else", userId="customer-43")
    await world.said("s0", GUEST_ID)
    receipt = await world.access.delete(OWNER, GUEST, "all")
    assert receipt.complete
    assert receipt.surfaces["web_sessions"] == 3
    assert world.session_documents == ["anonymous", "somebody-else"]
    assert "kumquat" not in world.stores.dump()
    assert world.events.events[0].data["scope"] == "all"
    again = await world.access.delete(OWNER, GUEST, "all")
    assert (again.complete, again.surfaces["web_sessions"]) == (True, 0)


async def test_a_deleted_caller_is_found_by_number(world: World) -> None:
    await world.call("c1")
    await world.said("c1", CALLER_ID)
    receipt = await world.access.delete(OWNER, CALLER, "all")
    assert (receipt.complete, receipt.surfaces["contact_records"]) == (True, 1)
    assert "kumquat" not in world.stores.dump()


async def test_a_deleted_day_leaves_sessions_open(world: World) -> None:
    await world.web_session("s1")
    await world.said("s1", GUEST_ID, "A quince.")
    world.clock.advance(timedelta(days=1).total_seconds())
    await world.said("s1", GUEST_ID)
    assert (await world.access.delete(OWNER, GUEST, "day")).complete
    context = await world.access.session(OWNER, "s1")
    assert [one.content for one in context.messages] == ["A quince."]
    assert world.session_documents == ["s1"]


async def test_another_owners_person_of_the_same_id_keeps_everything(world: World) -> None:
    await world.web_session("s1")
    await world.said("s1", GUEST_ID)
    await world.access.delete("other", GUEST, "all")
    assert world.session_documents == ["s1"]
    assert "kumquat" in world.stores.dump()
