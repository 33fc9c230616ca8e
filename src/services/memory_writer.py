"""Writes the items of one session: masked, in order, durable, and bounded for whoever waits."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from src.logs import get_logger
from src.schemas.errors import MemoryStoreError
from src.schemas.memory import MemoryEntry, MemoryEvent
from src.services.archive_queue import ArchiveQueue
from src.services.background import Background
from src.services.live_session import LiveSession, is_since
from src.services.memory_privacy import REDACTION_LATE, Item, Masking, allowed
from src.services.memory_stores import GuardedStores, WritePolicy
from src.services.ports import Clock
from src.services.session_copy import SessionCopy

logger = get_logger(__name__)

MEMORY_LATE = "memory_late"
SESSION_STORE_AWAY = "session_store_away"
NOT_DURABLE = "memory_not_durable"


@dataclass(frozen=True)
class Written:
    """What became of an item by the time its writer stopped waiting."""

    id: str
    sequence: int = 0
    stored: bool = False
    """The session store or the journal has it: a process that dies now loses nothing."""
    degradations: tuple[str, ...] = ()


@dataclass(eq=False)
class _Job:
    item: Item
    before: tuple[str, ...]
    done: asyncio.Future[Written]
    stage: str = REDACTION_LATE
    """What a writer that stops waiting now was let down by."""

    def finish(self, written: Written) -> None:
        if not self.done.done():
            self.done.set_result(written)


class MemoryWriter:
    """One per session and process. Items are stored in the order of the calls of `write`.

    An item goes to the journal and to the session store at once, and from there to the archive, which
    takes it out of the journal again: whichever store is lost or away, another has it.
    """

    def __init__(
        self,
        *,
        live: LiveSession,
        guarded: GuardedStores,
        masking: Masking,
        clock: Clock,
        background: Background,
        policy: WritePolicy,
    ) -> None:
        self.live = live
        self.copy = SessionCopy(live=live, guarded=guarded, background=background)
        self.archive = ArchiveQueue(
            live=live, stores=guarded.stores, clock=clock, background=background, policy=policy
        )
        self._journal = guarded.stores.journal
        self._masking = masking
        self._clock = clock
        self._background = background
        self._policy = policy
        self._jobs: deque[_Job] = deque()
        self._task: asyncio.Task[None] | None = None
        self._undurable: set[str] = set()

    @property
    def idle(self) -> bool:
        """Whether every store has all that was written."""
        return not (self._jobs or self.archive.waiting or self.copy.behind)

    def prepare(self, text: str, *, language: str = "en") -> None:
        """Begin to mask what the user is likely to have said once their turn is over."""
        before = self.live.spoken_before("user")
        self._masking.prepare(text, language=language, before=before)

    async def write(self, item: Item) -> Written:
        """Store an item that has its id, session, user and time.

        Returns within `budget_s`; what is not done by then is done in the background. A caller that
        is cancelled cancels nothing of it.
        """
        before = self._said_before(item)
        kept = allowed(item, self.live.settings)
        if kept is None:
            return Written(item.id)
        job = _Job(kept, before, asyncio.get_running_loop().create_future())
        self._jobs.append(job)
        if self._task is None or self._task.done():
            self._task = self._background.spawn(self._run(), name="memory writes")
        await asyncio.wait({job.done}, timeout=self._policy.budget_s)
        if job.done.done():
            return job.done.result()
        return Written(item.id, degradations=(job.stage,))

    async def flush(self, *, deadline_s: float) -> int:
        """Wait until everything is archived; the number of items that were not after `deadline_s`.

        Those are in the journal, for the next process, unless the journal refused them twice.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(deadline_s):
                while tasks := self._at_work():
                    await asyncio.wait(tasks)
        for item in self.archive.waiting:
            if item.id in self._undurable and await self._journalled(item):
                self._undurable.discard(item.id)
        return len(self._jobs) + len(self.archive.waiting)

    async def forget(self, since: datetime | None = None) -> int:
        """Drop what was said (from `since` on), also what is on its way; the number of items."""
        async with self.copy.lock:
            jobs = [job for job in self._jobs if is_since(job.item, since)]
            for job in jobs:
                self._jobs.remove(job)
                job.finish(Written(job.item.id))
            self.copy.forget(since)
            self.archive.forget(since)
            self._masking.forget()
            return len(jobs) + self.live.forget(since)

    def _at_work(self) -> set[asyncio.Task[None]]:
        tasks = {self._task, self.archive.task}
        return {task for task in tasks if task is not None and not task.done()}

    def _said_before(self, item: Item) -> tuple[str, ...]:
        if isinstance(item, MemoryEvent):
            return ()
        before = self.live.spoken_before(item.role)
        self.live.say(item.role, item.content)
        return before

    async def _run(self) -> None:
        while self._jobs:
            job = self._jobs[0]
            try:
                written = await self._stored(job)
            except Exception as error:  # noqa: BLE001 - one item must not hold up the session
                # Without its message and frames' values: those may quote the item.
                logger.error("item not stored", extra={"error": type(error).__name__})  # noqa: TRY400
                written = Written(job.item.id, degradations=(NOT_DURABLE,))
            if self._jobs and self._jobs[0] is job:
                self._jobs.popleft()
            job.finish(written)

    async def _stored(self, job: _Job) -> Written:
        item = await self._masked(job)
        job.stage = MEMORY_LATE
        async with self.copy.lock:
            if not self._jobs or self._jobs[0] is not job:
                return Written(item.id)  # deleted while it was masked
            known = self.live.known(item)
            if known is not None and item.id not in self._undurable:
                return Written(known.id, known.sequence, stored=True)
            if self.copy.away:
                item = self.copy.numbered(item)
                return self._without_session_store(item, durable=await self._journalled(item))
            return await self._to_all(item)

    async def _masked(self, job: _Job) -> Item:
        began = self._clock.monotonic()
        item = await self._masking.masked(job.item, self.live.settings, before=job.before)
        late = self._clock.monotonic() - began > self._policy.masking_s
        if late and isinstance(item, MemoryEntry):
            return replace(item, degradations=(*item.degradations, REDACTION_LATE))
        return item

    async def _to_all(self, item: Item) -> Written:
        durable, appended = await asyncio.gather(self._journalled(item), self.copy.append(item))
        if appended is None:
            return self._without_session_store(self.copy.numbered(item), durable=durable)
        if not appended.sequence:  # the session was deleted after the item was said
            with suppress(MemoryStoreError):
                await self._journal.remove([item])
            return Written(item.id)
        lost = appended.new and appended.sequence <= self.live.last
        item = self.copy.numbered(item) if lost else replace(item, sequence=appended.sequence)
        self.live.wrote(item)
        if lost:
            await self.copy.fill()
        self.archive.put(item)
        self._note_durable(item, durable=durable)
        return Written(item.id, item.sequence, stored=True)

    def _without_session_store(self, item: Item, *, durable: bool) -> Written:
        self.live.wrote(item)
        self.copy.miss(item)
        self.archive.put(item)
        self._note_durable(item, durable=durable)
        if durable:
            return Written(item.id, item.sequence, stored=True, degradations=(SESSION_STORE_AWAY,))
        return Written(item.id, item.sequence, degradations=(SESSION_STORE_AWAY, NOT_DURABLE))

    def _note_durable(self, item: Item, *, durable: bool) -> None:
        """What the journal refused is offered again, at the latest at the end of the session."""
        if durable:
            self._undurable.discard(item.id)
        else:
            self._undurable.add(item.id)

    async def _journalled(self, item: Item) -> bool:
        try:
            async with asyncio.timeout(self._policy.journal_s):
                await self._journal.write(item)
        except (TimeoutError, MemoryStoreError):
            fields = {"session_id": item.session_id}
            logger.error("item is not in the journal", extra=fields)  # noqa: TRY400 - the error may quote the item
            return False
        return True
