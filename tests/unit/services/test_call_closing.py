"""A finished call is stored, whatever the store does meanwhile."""

from datetime import timedelta

from typing_extensions import override

from src.schemas.calls import CallPolicy
from src.schemas.contact import CallDirection, CallEnd, ContactStatus, NewContact, Turn
from src.schemas.errors import ContactStoreError
from src.services.call_closing import CallCloser
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.contacts import InMemoryContacts
from tests.fakes.journal import FakeJournal

END = CallEnd(
    status=ContactStatus.COMPLETED,
    ended_at=NOON + timedelta(minutes=2),
    transcript=(Turn(role="user", text="Hello?", at=NOON),),
)


def contact(uid: str) -> NewContact:
    return NewContact(
        contact_uid=uid,
        owner_id="acme",
        agent_id="reception",
        phone="+15551234567",
        original_phone="+15551234567",
        phone_last10="5551234567",
        call_direction=CallDirection.INBOUND,
        status=ContactStatus.RINGING,
        call_started_at=NOON,
    )


class Away(InMemoryContacts):
    """Fails the first `failures` closes."""

    failures = 0

    @override
    async def close(self, contact: NewContact, end: CallEnd) -> None:
        if self.failures:
            self.failures -= 1
            raise ContactStoreError("away")
        await super().close(contact, end)


def closer(failures: int = 0) -> tuple[CallCloser, Away, FakeJournal, FakeClock]:
    clock = FakeClock()
    records, journal = Away(clock), FakeJournal()
    records.failures = failures
    made = CallCloser(
        records=records, journal=journal, clock=clock, policy=CallPolicy(record_budget_s=10)
    )
    return made, records, journal, clock


async def test_a_call_is_stored_and_leaves_the_journal() -> None:
    closing, records, journal, _ = closer()
    assert await closing.close(contact("a"), END)
    assert records.document("a")["status"] == "completed"
    assert journal.kept == {}


async def test_a_store_that_comes_back_gets_the_call_after_growing_pauses() -> None:
    closing, records, journal, clock = closer(failures=3)
    assert await closing.close(contact("a"), END)
    assert clock.slept_s == [0.25, 0.5, 1.0]
    assert records.document("a")["transcript"]
    assert journal.kept == {}


async def test_past_the_budget_the_call_stays_in_the_journal() -> None:
    closing, records, journal, clock = closer(failures=100)
    assert not await closing.close(contact("a"), END)
    assert list(journal.kept) == ["a"]
    assert records.documents == []
    assert clock.monotonic() <= 10


async def test_a_hung_store_does_not_hold_the_end_of_the_call() -> None:
    clock = FakeClock()
    records, journal = InMemoryContacts(clock), FakeJournal()
    records.faults.up.clear()
    policy = CallPolicy(record_write_s=0.01, record_budget_s=0.1)
    closing = CallCloser(records=records, journal=journal, clock=clock, policy=policy)
    assert not await closing.close(contact("a"), END)
    assert list(journal.kept) == ["a"]


async def test_what_was_left_is_stored_by_a_later_replay_once() -> None:
    closing, records, journal, _ = closer(failures=100)
    await closing.close(contact("a"), END)
    await closing.close(contact("b"), END)
    records.failures = 0
    assert await closing.replay() == 2
    assert await closing.replay() == 0
    assert {d["contactUID"] for d in records.documents} == {"a", "b"}
    assert journal.kept == {}
