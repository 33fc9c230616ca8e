"""Deletion reaches every place where something of a person is kept."""

import asyncio
import logging
from collections.abc import Mapping
from datetime import timedelta

import pytest
from typing_extensions import override

from src.schemas.contact import CallDirection, CallEnd, ContactStatus, NewContact, Turn
from src.schemas.errors import ContactStoreError
from src.schemas.memory import MemorySettings
from src.services.erasure import (
    ErasureRequest,
    FunctionSurface,
    PersonRecords,
    Surface,
    call_journal_surface,
    erase_everywhere,
    nothing_kept,
    records_surface,
)
from src.services.identity import memory_user_id
from tests.fakes.clock import NOON
from tests.fakes.journal import FakeJournal
from tests.unit.services.memory_bench import AWAY, SESSION, USER, Bench, bench, said

PHONE = "+14155550123"
CANARY = "zanzibar"


class FakeRecords(PersonRecords):
    """Notes what it was asked to erase."""

    def __init__(self) -> None:
        self.asked: list[ErasureRequest] = []

    @override
    async def erase(self, request: ErasureRequest) -> Mapping[str, int]:
        self.asked.append(request)
        return {"summaries": 1}


async def fill(b: Bench) -> None:
    """Two sessions of the person and one of somebody else, all archived; one message is not."""
    await b.say(f"{CANARY} a")
    await b.say(f"{CANARY} b", session="s2")
    await b.say("other", session="s3", user="u-2")
    for session in (SESSION, "s2", "s3"):
        await b.memory.track_language_switch(session, "en", "hi", "user_request")
        await b.archived(session)
    await b.memory.put_settings(USER, MemorySettings(retention_days=7))
    b.clock.advance(1)


async def test_everything_of_a_person_goes_and_nothing_of_others() -> None:
    async with bench() as b:
        await fill(b)
        receipt = await b.memory.delete_user_memory(USER, "all")
        assert receipt.complete
        assert receipt.surfaces == {
            "process": 0,
            "session_store": 4,
            "archive.conversations": 2,
            "archive.conversation_entries": 2,
            "archive.conversation_events": 2,
            "archive.memory_settings": 1,
            "archive.memory_preferences": 1,
            "journal": 0,
        }
        assert CANARY not in b.fakes.dump()
        assert await b.history() == []
        assert await b.history("s3") == ["other"]
        exported = await b.memory.export(USER)
        assert exported["sessions"] == []


async def test_a_session_goes_and_the_persons_others_stay() -> None:
    async with bench() as b:
        await fill(b)
        await b.memory.delete_user_memory(USER, "session", SESSION)
        assert f"{CANARY} a" not in b.fakes.dump()
        assert await b.history("s2") == [f"{CANARY} b"]
        assert await b.memory.settings_of(USER) == MemorySettings(retention_days=7)


async def test_without_an_id_the_latest_session_is_meant() -> None:
    async with bench() as b:
        await fill(b)
        await b.memory.delete_user_memory(USER, "session")
        assert await b.history() == [f"{CANARY} a"]
        assert await b.history("s2") == []


async def test_another_persons_session_is_not_deleted() -> None:
    async with bench() as b:
        await fill(b)
        for _ in range(2):
            receipt = await b.memory.delete_user_memory(USER, "session", "s3")
            assert not any(receipt.surfaces.values())
            assert await b.history("s3") == ["other"]
            await b.restart()
            b.clock.advance(90_000)  # the archive alone knows whose it is


async def test_a_day_goes_and_what_was_before_it_stays() -> None:
    async with bench() as b:
        await b.say("yesterday")
        b.clock.advance(86_400)
        await b.say("today", "also today")
        await b.archived()
        b.clock.advance(1)
        receipt = await b.memory.delete_user_memory(USER, "day")
        assert receipt.surfaces["archive.conversation_entries"] == 2
        assert "today" not in b.fakes.dump()
        assert await b.archived() == ["yesterday"]
        b.clock.advance(1)
        await b.say("later")
        assert await b.archived() == ["yesterday", "later"]
        # The person's own day may begin at another hour.
        await b.memory.delete_user_memory(USER, "day", since=b.clock.now() - timedelta(days=3))
        assert await b.archived() == []


async def test_what_is_on_its_way_is_deleted_too() -> None:
    async with bench() as b:
        b.fakes.archive_faults.error = b.fakes.session_faults.error = AWAY
        await b.say(CANARY)
        b.redactor.free.clear()
        late = asyncio.ensure_future(b.memory.add_entry(SESSION, said(f"{CANARY} 2"), USER))
        await asyncio.sleep(0.01)
        b.clock.advance(1)
        b.fakes.archive_faults.error = b.fakes.session_faults.error = None
        receipt = await b.memory.delete_user_memory(USER, "all")
        b.redactor.free.set()
        await late
        assert receipt.surfaces["process"] >= 2
        assert receipt.surfaces["journal"] == 1
        b.clock.advance(1)
        await b.say("later")
        assert await b.archived() == ["later"]
        assert await b.live() == ["later"]
        assert CANARY not in b.fakes.dump()


async def test_a_journal_that_is_replayed_after_a_deletion_brings_nothing_back() -> None:
    async with bench() as b:
        b.fakes.archive_faults.error = AWAY
        await b.say(CANARY)
        await b.memory.aclose()
        b.fakes.archive_faults.error = None
        b.fakes.journal_faults.error = AWAY  # as the journal of another machine
        b.clock.advance(1)
        b.memory = b.process()
        receipt = await b.memory.delete_user_memory(USER, "all")
        assert receipt.failed == ("journal",)
        b.fakes.journal_faults.error = None
        await b.memory.replay()
        assert CANARY not in b.fakes.dump()


async def test_another_process_does_not_fill_a_deleted_session_again() -> None:
    async with bench() as b:
        await b.say(CANARY)
        await b.archived()
        other = b.process()
        try:
            assert len(await other.get_history(SESSION)) == 1
            b.clock.advance(1)
            await b.memory.delete_user_memory(USER, "all")
            await other.add_entry(SESSION, said("later"), USER)
            assert [one.content for one in await other.get_history(SESSION)] == []
            b.clock.advance(1)
            await other.add_entry(SESSION, said("later still"), USER)
            assert [one.content for one in await other.get_history(SESSION)] == ["later still"]
        finally:
            await other.aclose()
        assert CANARY not in b.fakes.dump()


async def test_a_failing_surface_is_named_and_hinders_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fails(_: ErasureRequest) -> Mapping[str, int]:
        raise ContactStoreError(f"could not delete {CANARY}")

    async def hangs(_: ErasureRequest) -> Mapping[str, int]:
        await asyncio.Event().wait()
        return {}

    records = FakeRecords()
    surfaces: list[Surface] = [
        FunctionSurface("away", fails),
        FunctionSurface("hung", hangs),
        records_surface(records),
        nothing_kept("job_payloads"),
    ]
    request = ErasureRequest(user_id=CANARY, scope="all", at=NOON, session_ids=(CANARY,))
    with caplog.at_level(logging.INFO):
        receipt = await erase_everywhere(surfaces, request, limit_s=0.01)
    assert receipt.failed == ("away", "hung")
    assert not receipt.complete
    assert receipt.surfaces == {"contact_records.summaries": 1, "job_payloads": 0}
    assert records.asked == [request]
    assert CANARY not in str(receipt)
    assert CANARY not in str([vars(record) for record in caplog.records])


async def test_further_surfaces_are_told_which_sessions_and_which_caller() -> None:
    records = FakeRecords()
    async with bench(surfaces=[records_surface(records)]) as b:
        await fill(b)
        receipt = await b.memory.delete_user_memory(USER, "all", caller=("acme", PHONE))
        (request,) = records.asked
        assert set(request.session_ids) == {SESSION, "s2"}
        assert (request.owner_id, request.e164) == ("acme", PHONE)
        assert receipt.surfaces["contact_records.summaries"] == 1


def contact(uid: str, phone: str | None = PHONE, owner: str = "acme") -> NewContact:
    return NewContact(
        contact_uid=uid,
        owner_id=owner,
        agent_id="reception",
        phone=phone,
        original_phone=phone,
        phone_last10=phone and phone[-10:],
        call_direction=CallDirection.INBOUND,
        status=ContactStatus.IN_PROGRESS,
        dynamic_variables={"name": CANARY},
        call_started_at=NOON,
    )


END = CallEnd(
    status=ContactStatus.COMPLETED,
    ended_at=NOON,
    transcript=(Turn(role="user", text=CANARY, at=NOON),),
)
CALLER = memory_user_id("acme", e164=PHONE)


@pytest.mark.parametrize(
    ("request_", "emptied"),
    [
        (ErasureRequest(user_id=CALLER, scope="all", at=NOON), {"theirs"}),
        (
            ErasureRequest(user_id="u", scope="all", at=NOON, owner_id="acme", e164=PHONE),
            {"theirs"},
        ),
        (ErasureRequest(user_id=CALLER, scope="day", at=NOON, since=NOON), {"theirs"}),
        (
            ErasureRequest(user_id=CALLER, scope="day", at=NOON, since=NOON + timedelta(seconds=1)),
            set(),
        ),
        (ErasureRequest(user_id=CALLER, scope="session", at=NOON, session_ids=("web",)), {"web"}),
    ],
)
async def test_calls_in_the_journal_are_emptied(
    request_: ErasureRequest, emptied: set[str]
) -> None:
    journal = FakeJournal()
    await journal.write(contact("theirs"), END)
    await journal.write(contact("web", phone=None), END)
    await journal.write(contact("another owner's", owner="globex"), END)
    await journal.write(contact("another number", phone="+14155550124"), END)
    assert await call_journal_surface(journal).erase(request_) == {"": len(emptied)}
    for uid, (kept, end) in journal.kept.items():
        text = kept.model_dump_json() + end.model_dump_json()
        assert (CANARY in text) == (uid not in emptied)
        assert kept.contact_uid == uid
        if uid in emptied:
            assert "4155550123" not in text
            assert end.status is ContactStatus.COMPLETED
