"""Finds what is still to be done about calls and is in no queue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from src.logs import get_logger
from src.schemas.follow_up import FollowUp
from src.services.follow_up_ports import FollowUpQueue, FollowUps
from src.services.lost_calls import LostCalls
from src.services.ports import Clock

logger = get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class SweepPolicy:
    """When a follow-up counts as left behind."""

    grace: timedelta = timedelta(seconds=30)
    """For the kick that comes with each write, and for its job."""
    batch: int = 10_000


class CallSweep:
    """Run every minute by one process at a time; what it finds twice is queued once."""

    def __init__(
        self,
        *,
        store: FollowUps,
        queue: FollowUpQueue,
        lost: LostCalls,
        clock: Clock,
        policy: SweepPolicy | None = None,
    ) -> None:
        self._store = store
        self._queue = queue
        self._lost = lost
        self._clock = clock
        self._policy = policy or SweepPolicy()

    async def run_once(self) -> None:
        """Close lost calls, and queue what was left behind.

        Raises:
            ContactStoreError, MemoryStoreError: a store failed; the next sweep finds the same.
        """
        try:
            await self._lost.close_lost()
        finally:  # one that cannot be closed holds up no other
            for wanted in FollowUp:
                await self._queue_overdue(wanted)

    async def _queue_overdue(self, wanted: FollowUp) -> None:
        before = self._clock.now() - self._policy.grace
        overdue = await self._store.overdue(wanted, before=before, limit=self._policy.batch)
        queued = await self._queue.enqueue_missing(wanted, overdue) if overdue else 0
        if queued:
            logger.warning(
                "follow-up of calls was left behind", extra={"task": wanted, "n": queued}
            )
