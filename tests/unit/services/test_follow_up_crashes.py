"""Kicks are lost, jobs done twice and at once, workers die between any two steps.

Whatever the order: each call that ended is analysed once as far as its record tells, each event is
told under one id, and nothing is left over.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from src.schemas.analysis import CallAnalysis, Outcome
from src.schemas.contact import ContactStatus, Turn
from src.schemas.errors import ContactStoreError, LanguageModelError, MemoryStoreError
from src.schemas.events import Event
from src.schemas.follow_up import FinishedAnalysis, FollowUp, OpenCall, PendingAnalysis
from src.services.call_sweep import CallSweep
from src.services.follow_up import CallAnalyses, EventRelay
from src.services.follow_up_ports import FollowUpQueue, FollowUps, OpenCalls
from src.services.in_memory_archive import InMemoryArchive
from src.services.lost_calls import LostCalls
from src.services.prompt_records import PromptCallRecords
from src.services.transcript_privacy import OwnerPrivacy
from src.services.webhook_ports import EventSink
from tests.contract.documents import TALK, call_end, new_contact
from tests.fakes.agents import FakeAgents
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

UIDS = ("a", "b")


class DiedError(Exception):
    """The process died here."""


class Fate:
    """Says at each step, before and after its effect, whether the process dies or a store fails."""

    def __init__(self, blows: Sequence[int]) -> None:
        self._blows = list(blows)

    def spare(self) -> None:
        """From now on all goes well."""
        self._blows.clear()

    async def step(self, error: type[Exception]) -> None:
        await asyncio.sleep(0)  # the other job of the two goes on here
        blow = self._blows.pop() if self._blows else 0
        if blow == 1:
            raise DiedError
        if blow == 2:
            raise error


class _Fated:
    """Every method of a port, with a step before and after it."""

    def __init__(self, inner: object, fate: Fate, error: type[Exception]) -> None:
        self._inner, self._fate, self._error = inner, fate, error

    async def _do(self, name: str, *args: Any, **kwargs: Any) -> Any:
        await self._fate.step(self._error)
        result = await getattr(self._inner, name)(*args, **kwargs)
        await self._fate.step(self._error)
        return result


class FatedFollowUps(_Fated, FollowUps):
    @override
    async def begin_analysis(self, contact_uid: str) -> PendingAnalysis | None:
        found: PendingAnalysis | None = await self._do("begin_analysis", contact_uid)
        return found

    @override
    async def finish_analysis(self, contact_uid: str, finished: FinishedAnalysis) -> bool:
        return bool(await self._do("finish_analysis", contact_uid, finished))

    @override
    async def note_failure(self, contact_uid: str, reason: str) -> None:
        await self._do("note_failure", contact_uid, reason)

    @override
    async def waiting_events(self, contact_uid: str) -> Sequence[Event]:
        found: Sequence[Event] = await self._do("waiting_events", contact_uid)
        return found

    @override
    async def told(self, contact_uid: str, event_ids: Collection[str]) -> None:
        await self._do("told", contact_uid, event_ids)

    @override
    async def overdue(self, wanted: FollowUp, *, before: datetime, limit: int) -> Sequence[str]:
        found: Sequence[str] = await self._do("overdue", wanted, before=before, limit=limit)
        return found


class FatedOpenCalls(_Fated, OpenCalls):
    @override
    async def started(self, *, before: datetime, limit: int) -> Sequence[OpenCall]:
        found: Sequence[OpenCall] = await self._do("started", before=before, limit=limit)
        return found

    @override
    async def note_unserved(self, contact_uid: str, at: datetime) -> None:
        await self._do("note_unserved", contact_uid, at)

    @override
    async def note_served(self, contact_uid: str) -> None:
        await self._do("note_served", contact_uid)

    @override
    async def next_start(self, session_id: str, after: datetime) -> datetime | None:
        found: datetime | None = await self._do("next_start", session_id, after)
        return found


class FatedQueue(_Fated, FollowUpQueue):
    @override
    async def enqueue(self, contact_uid: str, *wanted: FollowUp) -> None:
        await self._do("enqueue", contact_uid, *wanted)

    @override
    async def enqueue_missing(self, wanted: FollowUp, contact_uids: Sequence[str]) -> int:
        return int(await self._do("enqueue_missing", wanted, contact_uids))


class Sink(EventSink):
    """Notes what each event said."""

    def __init__(self, fate: Fate) -> None:
        self._fate = fate
        self.told: dict[str, list[Event]] = {}

    @override
    async def publish(self, event: Event) -> None:
        await self._fate.step(MemoryStoreError)
        self.told.setdefault(event.id, []).append(event)
        await self._fate.step(MemoryStoreError)


class Analyser:
    """Says something else each time, as a model does."""

    def __init__(self, fate: Fate) -> None:
        self._fate = fate
        self._asked = 0

    async def analyse(
        self, transcript: Sequence[Turn], *, language: str, fields_schema: Any, anonymize: bool
    ) -> CallAnalysis:
        del transcript, fields_schema, anonymize
        await self._fate.step(LanguageModelError)
        self._asked += 1
        await self._fate.step(LanguageModelError)
        return CallAnalysis(
            summary=f"Answer {self._asked}.",
            summary_en=None,
            outcome=Outcome.RESOLVED,
            fields=None,
            language=language,
        )


class World:
    """Calls, their queue, and what is done in any order."""

    def __init__(self, blows: Sequence[int]) -> None:
        self.clock, self.fate = FakeClock(), Fate(blows)
        self.contacts = InMemoryContacts(self.clock)
        self.jobs = FakeFollowUpQueue()
        store = FatedFollowUps(InMemoryFollowUps(self.contacts), self.fate, ContactStoreError)
        queue = FatedQueue(self.jobs, self.fate, MemoryStoreError)
        self.records = PromptCallRecords(records=self.contacts, queue=queue)
        privacy = OwnerPrivacy(owned=InMemoryOwnedStore(), redactor=FakeRedactor())
        analyses = CallAnalyses(
            store=store,
            queue=queue,
            analyser=Analyser(self.fate),
            agents=FakeAgents(),
            privacy=privacy,
            clock=self.clock,
        )
        self.sink = Sink(self.fate)
        relay = EventRelay(store=store, sink=self.sink)
        self.work = {FollowUp.ANALYSE: analyses.analyse, FollowUp.RELAY: relay.relay}
        lost = LostCalls(
            calls=FatedOpenCalls(InMemoryOpenCalls(self.contacts), self.fate, ContactStoreError),
            records=self.records,
            archive=InMemoryArchive(clock=self.clock),
            rooms=FakeRooms(),
            privacy=privacy,
            clock=self.clock,
        )
        self.sweep = CallSweep(store=store, queue=queue, lost=lost, clock=self.clock)
        self.summaries: dict[str, str | None] = {}

    async def survive(self, work: Any) -> bool:
        """Whether it was done; a process that dies is replaced."""
        try:
            await work
        except (DiedError, ContactStoreError, MemoryStoreError, LanguageModelError):
            return False
        finally:
            self.look()
        return True

    def look(self) -> None:
        """A summary that was once stored never changes."""
        for document in self.contacts.documents:
            uid, summary = document["contactUID"], document.get("conversation_summary")
            assert self.summaries.get(uid) in {None, summary}
            self.summaries[uid] = summary

    async def start(self, uid: str) -> None:
        began = new_contact(uid, room=uid, call_started_at=self.clock.now())
        await self.survive(self.records.open(began))

    async def answer(self, uid: str) -> None:
        await self.survive(self.records.mark(uid, ContactStatus.IN_PROGRESS))

    async def end(self, uid: str) -> None:
        end = call_end(ended_at=self.clock.now(), transcript=TALK)
        await self.survive(self.records.close(new_contact(uid), end))

    async def work_at(self, at_once: int) -> None:
        """Do the next jobs, all at once; those that fail go back into the queue."""
        taken, self.jobs.jobs[:] = self.jobs.jobs[:at_once], self.jobs.jobs[at_once:]
        done = await asyncio.gather(*(self.survive(self.work[job](uid)) for job, uid in taken))
        self.jobs.jobs += [job for job, ok in zip(taken, done, strict=True) if not ok]

    async def take(self, step: str, uid: str) -> None:
        """Do one thing."""
        steps: dict[str, Callable[[], Any]] = {
            "start": lambda: self.start(uid),
            "answer": lambda: self.answer(uid),
            "end": lambda: self.end(uid),
            "work": lambda: self.work_at(1),
            "both": lambda: self.work_at(2),
            "sweep": lambda: self.survive(self.sweep.run_once()),
        }
        if step in steps:
            await steps[step]()
        elif step == "lose":
            self.jobs.jobs = self.jobs.jobs[1:]
        elif step == "twice":
            self.jobs.jobs += self.jobs.jobs[:1]
        else:
            self.clock.advance(61)

    async def settle(self) -> None:
        """All goes well for long enough."""
        self.fate.spare()
        for _ in range(4):
            self.clock.advance(61)
            await self.sweep.run_once()
            while self.jobs.jobs:
                await self.work_at(1)
        self.look()
        await self.records.aclose()


STEPS = (
    *("start", "answer", "end", "work", "work", "work", "both"),
    *("sweep", "lose", "twice", "wait"),
)
BLOWS = (0, 0, 0, 0, 0, 1, 2)
"""Most steps go well: else little would get far enough to die of the rest."""


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(STEPS), st.sampled_from(UIDS)), min_size=12, max_size=30
    ),
    blows=st.lists(st.sampled_from(BLOWS), min_size=20, max_size=60),
)
async def test_each_call_is_analysed_and_told_of_once(
    steps: list[tuple[str, str]], blows: list[int]
) -> None:
    world = World(blows)
    for step, uid in steps:
        await world.take(step, uid)
    await world.settle()
    for document in world.contacts.documents:
        uid = document["contactUID"]
        kinds = document["toldEvents"]
        assert document["callEndedAt"] is not None
        assert document["outbox"] == []
        assert len(kinds) == len(set(kinds))
        assert {"call.started", "call.ended"} <= set(kinds)
        talked = bool(document["transcript"])
        assert document["analysisStatus"] == ("done" if talked else "no_conversation")
        assert ("call.analyzed" in kinds) == talked
        for kind in kinds:
            said = world.sink.told[f"{uid}:{kind}"]
            assert all(one == said[0] for one in said)
    ids = {f"{d['contactUID']}:{k}" for d in world.contacts.documents for k in d["toldEvents"]}
    assert set(world.sink.told) == ids
