"""Gives every finished call its summary, so that the next call has a history."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass

from src.logs import get_logger
from src.schemas.calls import SummaryTask
from src.schemas.contact import SummaryStatus
from src.schemas.errors import ContactStoreError, LanguageModelError
from src.services.ports import Clock, Summariser, SummaryQueue

logger = get_logger(__name__)


@dataclass(frozen=True)
class SummaryPolicy:
    """How long a summary may take and how often it is tried; durations in seconds."""

    lease_s: float = 180.0
    """A claim that is not finished by then goes to another worker."""
    attempts: int = 6
    first_retry_s: float = 5.0
    """Doubled after each failed attempt."""
    longest_retry_s: float = 600.0
    idle_s: float = 0.5
    """Between two looks at an empty queue."""
    longest_outage_pause_s: float = 15.0

    def retry_s(self, attempt: int) -> float:
        """The pause after a failed attempt; 1 is the first."""
        return _doubled(self.first_retry_s, attempt - 1, self.longest_retry_s)

    def outage_pause_s(self, failures: int) -> float:
        """The pause after the store failed; 1 for the first failure in a row."""
        return _doubled(self.idle_s, failures - 1, self.longest_outage_pause_s)


@dataclass(frozen=True)
class _Outcome:
    """What is to be written about a call; `PENDING` stands for another try."""

    status: SummaryStatus
    sentence: str
    """Constant: what the log says."""
    summary: str | None = None


_NOTHING_SAID = _Outcome(SummaryStatus.NO_CONVERSATION, "caller said nothing, no summary is due")
_FAILED = _Outcome(SummaryStatus.PENDING, "summary failed, it is tried again later")
_GIVEN_UP = _Outcome(SummaryStatus.FAILED, "summary failed for good")

_LEVELS: Mapping[SummaryStatus, int] = {
    SummaryStatus.DONE: logging.INFO,
    SummaryStatus.NO_CONVERSATION: logging.INFO,
    SummaryStatus.PENDING: logging.WARNING,
    SummaryStatus.FAILED: logging.ERROR,
}


class SummaryWorker:
    """Takes waiting calls one by one; any number of workers may run."""

    def __init__(
        self,
        *,
        queue: SummaryQueue,
        summariser: Summariser,
        clock: Clock,
        name: str,
        policy: SummaryPolicy | None = None,
    ) -> None:
        self._queue = queue
        self._summariser = summariser
        self._clock = clock
        self._name = name
        self._policy = policy or SummaryPolicy()

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set; the call at hand is finished first.

        While the store is away, look again after growing pauses.
        """
        failures = 0
        while not stop.is_set():
            try:
                worked = await self.run_once()
            except ContactStoreError:
                failures += 1
                if failures == 1:
                    logger.warning("contact store is away, summaries wait")
                await self._pause(self._policy.outage_pause_s(failures), stop)
                continue
            if failures:
                logger.info("contact store is back, summaries go on")
                failures = 0
            if not worked:
                await self._pause(self._policy.idle_s, stop)

    async def run_once(self) -> bool:
        """Whether a call was waiting; it has been served.

        Raises:
            ContactStoreError: the store failed; the call goes to the next claim after its lease.
        """
        task = await self._queue.claim(worker=self._name, lease_s=self._policy.lease_s)
        if task is None:
            return False
        lease_ends = self._clock.monotonic() + self._policy.lease_s
        outcome = await self._outcome(task)
        await self._store(task, outcome, lease_ends)
        logger.log(
            _LEVELS[outcome.status], outcome.sentence, extra={"contact_uid": task.contact_uid}
        )
        return True

    async def _outcome(self, task: SummaryTask) -> _Outcome:
        if not any(turn.role == "user" and turn.text.strip() for turn in task.transcript):
            return _NOTHING_SAID
        if task.attempt > self._policy.attempts:  # earlier workers died of it
            return _GIVEN_UP
        try:
            async with asyncio.timeout(0.8 * self._policy.lease_s):
                summary = await self._summariser.summarise(task.transcript, language=task.language)
        except (LanguageModelError, TimeoutError):
            return _FAILED if task.attempt < self._policy.attempts else _GIVEN_UP
        return _Outcome(SummaryStatus.DONE, "summary stored", summary)

    async def _store(self, task: SummaryTask, outcome: _Outcome, lease_ends: float) -> None:
        """Write, again and again while the lease lasts: the summary was paid for."""
        failures = 0
        while True:
            try:
                await self._write(task, outcome)
            except ContactStoreError:
                failures += 1
                pause_s = self._policy.outage_pause_s(failures)
                if self._clock.monotonic() + pause_s >= lease_ends:
                    raise
                await self._clock.sleep(pause_s)
            else:
                return

    async def _write(self, task: SummaryTask, outcome: _Outcome) -> None:
        if outcome.status is SummaryStatus.PENDING:
            await self._queue.postpone(task, delay_s=self._policy.retry_s(task.attempt))
        else:
            await self._queue.finish(task, outcome.status, outcome.summary)

    async def _pause(self, seconds: float, stop: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as group:
            pause = group.create_task(self._clock.sleep(seconds))
            stopped = group.create_task(stop.wait())
            await asyncio.wait({pause, stopped}, return_when=asyncio.FIRST_COMPLETED)
            pause.cancel()
            stopped.cancel()


def _doubled(first_s: float, times: int, longest_s: float) -> float:
    return min(first_s * 2.0 ** min(times, 30), longest_s)
