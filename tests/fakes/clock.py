"""Time that moves when told to."""

import asyncio
from datetime import UTC, datetime, timedelta

from typing_extensions import override

from src.services.ports import Clock

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


class FakeClock(Clock):
    """Sleeping moves the clock on at once and is recorded."""

    def __init__(self, now: datetime = NOON) -> None:
        self._start = now
        self._elapsed_s = 0.0
        self.slept_s: list[float] = []

    @override
    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed_s)

    @override
    def monotonic(self) -> float:
        return self._elapsed_s

    @override
    async def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.advance(seconds)
        await asyncio.sleep(0)  # others run, as they would in a real pause

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._elapsed_s += seconds
