"""Calls whose worker died are ended from what memory has of them."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from typing_extensions import override

from src.schemas.errors import ContactStoreError, MediaServerError, MemoryStoreError
from src.schemas.follow_up import FollowUp
from src.schemas.memory import MemoryEntry
from src.services.call_sweep import CallSweep
from src.services.in_memory_archive import InMemoryArchive
from src.services.lost_calls import LostCalls
from src.services.owned import Resource
from src.services.transcript_privacy import OwnerPrivacy
from tests.contract.documents import NOON, OWNER, ago, call_end, new_contact
from tests.fakes.clock import FakeClock
from tests.fakes.contacts import InMemoryContacts
from tests.fakes.follow_ups import (
    FakeFollowUpQueue,
    FakeRooms,
    InMemoryFollowUps,
    InMemoryOpenCalls,
)
from tests.fakes.owned import InMemoryOwnedStore
from tests.fakes.redactor import FakeRedactor


class AwayArchive(InMemoryArchive):
    away = False

    @override
    async def load_conversation(
        self, session_id: str, *, limit: int | None = None
    ) -> list[MemoryEntry]:
        if self.away:
            raise MemoryStoreError("away")
        return await super().load_conversation(session_id, limit=limit)


class World:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.contacts = InMemoryContacts(self.clock)
        self.archive, self.rooms = AwayArchive(clock=self.clock), FakeRooms()
        self.queue, self.owned = FakeFollowUpQueue(), InMemoryOwnedStore()
        self.lost = LostCalls(
            calls=InMemoryOpenCalls(self.contacts),
            records=self.contacts,
            archive=self.archive,
            rooms=self.rooms,
            privacy=OwnerPrivacy(owned=self.owned, redactor=FakeRedactor()),
            clock=self.clock,
        )
        self.sweep = CallSweep(
            store=InMemoryFollowUps(self.contacts),
            queue=self.queue,
            lost=self.lost,
            clock=self.clock,
        )

    async def call(self, uid: str = "a", **fields: Any) -> dict[str, Any]:
        given = {"room": f"room-{uid}", "session_id": "s", "status": "in_progress", **fields}
        await self.contacts.open(new_contact(uid, **given))
        return self.contacts.document(uid)

    async def said(self, at: datetime, role: str, content: str, **fields: Any) -> None:
        entry = MemoryEntry(
            role=role,  # type: ignore[arg-type]
            content=content,
            mode="voice",
            id=f"{at}{role}",
            timestamp=at,
            **fields,
        )
        await self.archive.save_conversation("u", "s", [entry])

    async def minutes(self, count: int) -> int:
        """Sweeps, a minute apart; the number of calls that were closed."""
        closed = 0
        for _ in range(count):
            self.clock.advance(60)
            closed += await self.lost.close_lost()
        return closed


async def test_a_lost_call_ends_with_what_was_said_in_it() -> None:
    world = World()
    await world.said(ago(minutes=9), "user", "From an earlier call.")
    document = await world.call()
    await world.said(ago(seconds=-2), "assistant", "Hello.", language="es")
    await world.said(ago(seconds=-3), "system", "A note.")
    await world.said(ago(seconds=-8), "user", "When do you op", language="es", interrupted=True)
    assert await world.minutes(1) == 0
    assert document["status"] == "in_progress"
    assert await world.minutes(1) == 1
    assert (document["status"], document["callEndedAt"]) == ("completed", ago(seconds=-8))
    assert [(one["role"], one["text"]) for one in document["transcript"]] == [
        ("assistant", "Hello."),
        ("user", "When do you op"),
    ]
    assert (document["language"], document["degradations"]) == ("es", ["worker_lost"])
    assert document["analysisStatus"] == "pending"
    assert await world.minutes(2) == 0


async def test_whoever_is_left_in_a_lost_call_is_sent_away() -> None:
    world = World()
    document = await world.call()
    assert await world.minutes(2) == 1
    assert world.rooms.closed == ["room-a"]
    assert document["callEndedAt"] is not None


async def test_a_room_that_cannot_be_closed_holds_up_nothing() -> None:
    class Stubborn(FakeRooms):
        @override
        async def close(self, room: str) -> None:
            raise MediaServerError("away")

    world = World()
    world.lost._rooms = Stubborn()
    document = await world.call()
    assert await world.minutes(2) == 1
    assert document["callEndedAt"] is not None


async def test_a_call_that_is_served_is_left_alone() -> None:
    world = World()
    document = await world.call()
    world.rooms.with_agent = {"room-a"}
    assert await world.minutes(5) == 0
    assert "unservedSince" not in document


async def test_a_call_that_another_agent_takes_over_is_left_alone() -> None:
    world = World()
    document = await world.call()
    await world.minutes(1)
    world.rooms.with_agent = {"room-a"}
    assert await world.minutes(3) == 0
    world.rooms.with_agent = set()
    assert await world.minutes(1) == 0
    assert await world.minutes(1) == 1
    assert document["status"] == "completed"


async def test_two_looks_that_follow_each_other_closely_count_as_one() -> None:
    world = World()
    await world.call()
    await world.minutes(1)
    world.clock.advance(10)
    assert await world.lost.close_lost() == 0


@pytest.mark.parametrize(
    ("fields", "asked", "status"),
    [
        ({"status": "dialing"}, None, "failed"),
        ({"status": "ringing"}, None, "failed"),
        ({"status": "dialing"}, NOON, "abandoned"),
        ({"status": "in_progress"}, None, "completed"),
    ],
)
async def test_a_call_without_a_word_ends_as_far_as_it_got(
    fields: dict[str, Any], asked: datetime | None, status: str
) -> None:
    world = World()
    document = await world.call(**fields)
    document["hangupRequestedAt"] = asked
    await world.minutes(2)
    assert (document["status"], document["analysisStatus"]) == (status, "no_conversation")
    assert document["callEndedAt"] == NOON + timedelta(seconds=60)


async def test_words_prove_that_a_call_was_answered() -> None:
    world = World()
    document = await world.call(status="ringing")
    await world.said(ago(seconds=-2), "user", "Hello?")
    await world.minutes(2)
    assert document["status"] == "completed"


async def test_words_of_the_next_call_of_the_session_are_not_this_ones() -> None:
    world = World()
    document = await world.call()
    await world.said(ago(seconds=-2), "user", "First.")
    await world.call("b", call_started_at=ago(seconds=-30))
    await world.said(ago(seconds=-40), "user", "Second.")
    world.rooms.with_agent = {"room-b"}
    await world.minutes(3)
    assert [one["text"] for one in document["transcript"]] == ["First."]


async def test_without_the_record_of_the_conversation_a_lost_call_waits() -> None:
    world = World()
    document = await world.call()
    world.archive.away = True
    assert await world.minutes(3) == 0
    world.archive.away = False
    assert await world.minutes(1) == 1
    assert document["status"] == "completed"


async def test_without_the_media_server_nothing_is_known() -> None:
    world = World()
    document = await world.call()
    world.rooms.faults.error = MediaServerError("away")
    assert await world.minutes(9) == 0
    assert "unservedSince" not in document


async def test_the_workers_own_end_wins() -> None:
    world = World()
    document = await world.call()
    await world.minutes(1)
    await world.contacts.close(new_contact("a"), call_end())
    assert await world.minutes(2) == 0
    assert document["degradations"] == []
    other = await world.call("b")
    await world.minutes(2)
    await world.contacts.close(new_contact("b"), call_end())
    assert other["degradations"] == ["worker_lost"]


async def test_what_was_erased_from_a_lost_call_stays_erased() -> None:
    world = World()
    document = await world.call(session_id=None)
    await world.said(ago(seconds=-2), "user", "When do you open?")
    document.update(erasedAt=NOON, room=None, sessionId="s", analysisStatus="no_conversation")
    assert await world.minutes(5) == 0
    world.clock.advance(6 * 3600)
    assert await world.minutes(1) == 1
    assert "transcript" not in document
    assert document["analysisStatus"] == "no_conversation"


async def test_what_an_owner_wants_masked_is_masked() -> None:
    world = World()
    document = await world.call()
    owners = world.owned.of(OWNER, Resource.OWNERS)
    await owners.insert({"ownerId": OWNER, "anonymizePhi": True})
    await world.said(ago(seconds=-2), "user", "Call 415 555 0123.")
    await world.minutes(2)
    assert document["transcript"][0]["text"] == "Call [NUMBER]."


async def test_a_sweep_queues_what_is_in_no_queue_once() -> None:
    world = World()
    await world.contacts.close(new_contact("a"), call_end())
    await world.sweep.run_once()
    assert world.queue.jobs == []
    world.clock.advance(31)
    for _ in range(2):
        await world.sweep.run_once()
    assert world.queue.jobs == [(FollowUp.ANALYSE, "a"), (FollowUp.RELAY, "a")]


async def test_a_sweep_that_cannot_close_a_call_queues_the_others() -> None:
    world = World()
    await world.contacts.close(new_contact("a"), call_end())
    world.clock.advance(31)

    async def fails() -> int:
        raise ContactStoreError("away")

    world.lost.close_lost = fails  # type: ignore[method-assign]
    with pytest.raises(ContactStoreError):
        await world.sweep.run_once()
    assert len(world.queue.jobs) == 2
