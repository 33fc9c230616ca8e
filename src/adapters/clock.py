"""Time, as the machine tells it."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

from typing_extensions import override

from src.services.ports import Clock


class SystemClock(Clock):
    """The only place where the product reads the clock or sleeps."""

    @override
    def now(self) -> datetime:
        return datetime.now(UTC)

    @override
    def monotonic(self) -> float:
        return time.monotonic()

    @override
    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
