"""A write to a call's record puts what follows into the queue, and never waits for it."""

import asyncio

import pytest

from src.schemas.contact import ContactStatus
from src.schemas.errors import ContactStoreError, MemoryStoreError
from src.schemas.follow_up import FollowUp
from src.services.prompt_records import PromptCallRecords
from tests.contract.documents import call_end, new_contact
from tests.fakes.clock import FakeClock
from tests.fakes.contacts import InMemoryContacts
from tests.fakes.follow_ups import FakeFollowUpQueue


class World:
    def __init__(self) -> None:
        self.contacts, self.queue = InMemoryContacts(FakeClock()), FakeFollowUpQueue()
        self.records = PromptCallRecords(records=self.contacts, queue=self.queue)


async def test_each_write_is_followed_up() -> None:
    world = World()
    await world.records.open(new_contact())
    await world.records.mark("call-1", ContactStatus.IN_PROGRESS)
    await world.records.close(new_contact(), call_end())
    assert (
        sorted(world.queue.jobs)
        == [(FollowUp.ANALYSE, "call-1")] + [(FollowUp.RELAY, "call-1")] * 3
    )
    assert await world.records.withdrawn("call-1")


async def test_a_call_without_a_conversation_is_not_analysed() -> None:
    world = World()
    await world.records.close(new_contact(), call_end(transcript=()))
    assert world.queue.jobs == [(FollowUp.RELAY, "call-1")]


async def test_a_queue_that_is_away_fails_no_write() -> None:
    world = World()
    world.queue.faults.error = MemoryStoreError("away")
    await world.records.open(new_contact())
    await world.records.close(new_contact(), call_end())
    assert world.contacts.document("call-1")["analysisStatus"] == "pending"


async def test_a_queue_that_hangs_holds_up_no_write() -> None:
    world = World()
    world.queue.faults.up.clear()
    async with asyncio.timeout(5):
        await world.records.open(new_contact())
        await world.records.close(new_contact(), call_end())
    await world.records.aclose()
    assert world.queue.jobs == []


async def test_a_write_that_fails_is_not_followed_up() -> None:
    world = World()
    world.contacts.faults.error = ContactStoreError("away")
    with pytest.raises(ContactStoreError):
        await world.records.close(new_contact(), call_end())
    assert world.queue.jobs == []
