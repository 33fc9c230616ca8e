"""Deletes what was said in calls once it is older than its person's `retention_days`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from src.logs import get_logger
from src.schemas.memory import MemorySettings
from src.services.ports import Clock
from src.services.retention_ports import Retentions, SpokenCall, SpokenCalls

logger = get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class CallRetentionPolicy:
    """How much is looked at, and how often."""

    batch: int = 200
    batches: int = 500
    """In one run; the next goes on where this one ended. At one run an hour, 2.4 million records a day."""
    again: timedelta = timedelta(days=1)
    """A record that may stay is looked at again then at the latest: its person may have chosen anew."""
    analysis: timedelta = timedelta(hours=1)
    """After so long, a record that waited for its analysis is looked at again."""


class CallRetention:
    """Run every hour by one process at a time.

    A record is looked at first when it is as old as the shortest retention. What decides is always the
    setting of that moment, so that a longer retention holds for what is still there, and a shorter one
    takes effect within a day.
    """

    def __init__(
        self,
        *,
        calls: SpokenCalls,
        retentions: Retentions,
        clock: Clock,
        policy: CallRetentionPolicy | None = None,
    ) -> None:
        self._calls = calls
        self._retentions = retentions
        self._clock = clock
        self._policy = policy or CallRetentionPolicy()

    async def run_once(self) -> int:
        """Empty the records that are due; their number.

        Raises:
            ContactStoreError, MemoryStoreError: a store failed; what is left is emptied next time.
        """
        now, emptied = self._clock.now(), 0
        try:
            for _ in range(self._policy.batches):
                found = await self._calls.to_check(now=now, limit=self._policy.batch)
                if not found:
                    break
                emptied += await self._settle(found, now)
        finally:
            if emptied:
                logger.info("expired words of calls deleted", extra={"calls": emptied})
        return emptied

    async def _settle(self, found: Sequence[SpokenCall], now: datetime) -> int:
        people = {call.user_id for call in found if call.user_id}
        chosen = await self._retentions.retention_of(people) if people else {}
        left = {call: self._left(call, chosen, now) for call in found}
        again = {call: now + wait for call, wait in left.items() if wait is not None}
        if again:
            await self._calls.check_again(again)
        over = [call for call in found if call not in again]
        return await self._calls.empty(over) if over else 0

    def _left(self, call: SpokenCall, chosen: Mapping[str, int], now: datetime) -> timedelta | None:
        """How long until the record is looked at again; None if what it holds is to go now."""
        days = chosen.get(call.user_id, MemorySettings().retention_days)
        left = timedelta(days=days) - (now - call.said_at)
        if left >= timedelta(0):
            return min(left, self._policy.again)
        return self._policy.analysis if call.analysis_pending else None
