"""The worker that gives finished calls their summaries."""

import asyncio
import logging
from collections.abc import Sequence

import pytest
from typing_extensions import override

from src.schemas.calls import SummaryTask
from src.schemas.contact import (
    CallDirection,
    CallEnd,
    ContactStatus,
    NewContact,
    SummaryStatus,
    Turn,
)
from src.schemas.errors import ContactStoreError, LanguageModelError
from src.services.ports import Summariser
from src.services.summaries import SummaryPolicy, SummaryWorker
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.contacts import InMemoryContacts
from tests.fakes.summariser import SUMMARY, FakeSummariser

POLICY = SummaryPolicy(
    lease_s=60, attempts=3, first_retry_s=10, longest_retry_s=15, idle_s=1, longest_outage_pause_s=8
)
WORDS = (
    Turn(role="assistant", text="Hello.", at=NOON),
    Turn(role="user", text="When do you open?", at=NOON),
)
FAILED = LanguageModelError("no answer")


class Bench:
    """A worker with everything it works with."""

    def __init__(self, *replies: str | Exception, summariser: Summariser | None = None) -> None:
        self.clock = FakeClock()
        self.contacts = InMemoryContacts(self.clock)
        self.summariser = FakeSummariser(*replies)
        self.worker = SummaryWorker(
            queue=self.contacts,
            summariser=summariser or self.summariser,
            clock=self.clock,
            name="w",
            policy=POLICY,
        )

    async def call(
        self, uid: str, transcript: Sequence[Turn] = WORDS, language: str = "en"
    ) -> None:
        contact = NewContact(
            contact_uid=uid,
            owner_id="acme",
            agent_id="reception",
            phone=None,
            original_phone=None,
            phone_last10=None,
            call_direction=CallDirection.INBOUND,
            status=ContactStatus.IN_PROGRESS,
            call_started_at=NOON,
        )
        end = CallEnd(
            status=ContactStatus.COMPLETED,
            ended_at=self.clock.now(),
            transcript=tuple(transcript),
            language=language,
        )
        await self.contacts.close(contact, end)

    def summary(self, uid: str) -> tuple[str, str | None]:
        document = self.contacts.document(uid)
        return document["summaryStatus"], document.get("conversation_summary")


async def test_a_finished_call_gets_its_summary() -> None:
    bench = Bench()
    await bench.call("a", language="hi")
    assert await bench.worker.run_once()
    assert bench.summariser.asked == [(WORDS, "hi")]
    assert bench.summary("a") == ("done", SUMMARY)
    assert not await bench.worker.run_once()


async def test_nothing_said_by_the_caller_is_no_conversation() -> None:
    bench = Bench()
    await bench.call("a")
    # A close by another program may queue a call in which nobody spoke.
    bench.contacts.document("a")["transcript"] = [WORDS[0].model_dump()]
    assert await bench.worker.run_once()
    assert bench.summary("a") == ("no_conversation", None)
    assert bench.summariser.asked == []


async def test_a_failed_summary_is_tried_again_after_growing_delays_and_then_given_up() -> None:
    bench = Bench(FAILED, FAILED, FAILED)
    await bench.call("a")
    for delay_s in (10, 15):
        assert await bench.worker.run_once()
        assert bench.summary("a") == ("pending", None)
        bench.clock.advance(delay_s - 1)
        assert not await bench.worker.run_once()
        bench.clock.advance(1)
    assert await bench.worker.run_once()
    assert bench.summary("a") == ("failed", None)
    bench.clock.advance(24 * 3600)
    assert not await bench.worker.run_once()
    assert len(bench.summariser.asked) == 3


async def test_a_summary_that_succeeds_late_is_kept() -> None:
    bench = Bench(FAILED, "They talked.")
    await bench.call("a")
    assert await bench.worker.run_once()
    bench.clock.advance(10)
    assert await bench.worker.run_once()
    assert bench.summary("a") == ("done", "They talked.")


async def test_other_calls_do_not_wait_for_a_failed_one() -> None:
    bench = Bench(FAILED, "They talked.")
    await bench.call("a")
    bench.clock.advance(1)
    await bench.call("b")
    assert await bench.worker.run_once()
    assert await bench.worker.run_once()
    assert bench.summary("b") == ("done", "They talked.")


async def test_a_call_that_kills_its_workers_is_given_up() -> None:
    bench = Bench()
    await bench.call("a")
    for _ in range(POLICY.attempts):
        await bench.contacts.claim(worker="dies", lease_s=60)
        bench.clock.advance(60)
    assert await bench.worker.run_once()
    assert bench.summary("a") == ("failed", None)
    assert bench.summariser.asked == []


async def test_the_outcome_is_written_again_while_the_lease_lasts() -> None:
    bench = Bench()

    class StoreFailsWhileSummarising(Summariser):
        @override
        async def summarise(self, transcript: Sequence[Turn], *, language: str) -> str:
            bench.contacts.faults.error = ContactStoreError("away")
            bench.clock.slept_s.clear()
            return SUMMARY

    class Recovering(FakeClock):
        @override
        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds)
            if len(self.slept_s) == 3:
                bench.contacts.faults.error = None

    bench.clock = Recovering()
    worker = SummaryWorker(
        queue=bench.contacts,
        summariser=StoreFailsWhileSummarising(),
        clock=bench.clock,
        name="w",
        policy=POLICY,
    )
    await bench.call("a")
    assert await worker.run_once()
    assert bench.clock.slept_s == [1, 2, 4]
    assert bench.summary("a") == ("done", SUMMARY)


async def test_an_outcome_that_cannot_be_written_in_time_is_left_to_the_next_claim() -> None:
    class LosesItsStore(InMemoryContacts):
        @override
        async def finish(
            self, task: SummaryTask, status: SummaryStatus, summary: str | None
        ) -> None:
            raise ContactStoreError("away")

    bench = Bench()
    bench.contacts = LosesItsStore(bench.clock)
    worker = SummaryWorker(
        queue=bench.contacts,
        summariser=bench.summariser,
        clock=bench.clock,
        name="w",
        policy=POLICY,
    )
    await bench.call("a")
    with pytest.raises(ContactStoreError):
        await worker.run_once()
    assert sum(bench.clock.slept_s) < POLICY.lease_s
    assert bench.summary("a") == ("pending", None)


async def test_runs_until_stopped_and_finishes_the_call_at_hand() -> None:
    stop = asyncio.Event()

    class StopsTheWorker(Summariser):
        @override
        async def summarise(self, transcript: Sequence[Turn], *, language: str) -> str:
            stop.set()
            await asyncio.sleep(0)
            return SUMMARY

    bench = Bench(summariser=StopsTheWorker())
    await bench.call("a")
    await bench.call("b")
    await bench.worker.run(stop)
    assert sorted(bench.summary(uid)[0] for uid in "ab") == ["done", "pending"]


async def test_a_stop_ends_the_pause() -> None:
    class Eternal(FakeClock):
        @override
        async def sleep(self, seconds: float) -> None:
            await asyncio.Event().wait()

    bench = Bench()
    worker = SummaryWorker(
        queue=bench.contacts, summariser=bench.summariser, clock=Eternal(), name="w", policy=POLICY
    )
    stop = asyncio.Event()
    asyncio.get_running_loop().call_later(0.01, stop.set)
    async with asyncio.timeout(5):
        await worker.run(stop)


async def test_an_outage_is_waited_out_with_growing_pauses_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    stop = asyncio.Event()
    bench = Bench()

    class Timeline(FakeClock):
        @override
        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds)
            if len(self.slept_s) == 5:
                bench.contacts.faults.error = None
            if len(self.slept_s) == 7:
                stop.set()

    clock = Timeline()
    worker = SummaryWorker(
        queue=bench.contacts, summariser=bench.summariser, clock=clock, name="w", policy=POLICY
    )
    await bench.call("a")
    bench.contacts.faults.error = ContactStoreError("away")
    await worker.run(stop)
    assert clock.slept_s == [1, 2, 4, 8, 8, 1, 1]
    assert bench.summary("a") == ("done", SUMMARY)
    assert [record.message for record in caplog.records] == [
        "contact store is away, summaries wait",
        "summary stored",
        "contact store is back, summaries go on",
    ]


async def test_logs_name_the_call_and_nothing_that_was_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    bench = Bench(FAILED, "They talked about Daivik.")
    await bench.call("a")
    await bench.worker.run_once()
    bench.clock.advance(10)
    await bench.worker.run_once()
    assert [(record.message, vars(record)["contact_uid"]) for record in caplog.records] == [
        ("summary failed, it is tried again later", "a"),
        ("summary stored", "a"),
    ]
    assert "Daivik" not in caplog.text
