"""The machine's time, for a service that was given no clock."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

from typing_extensions import override

from src.services.ports import Clock


class WallClock(Clock):
    """What the composition root gives every service; here so that one can do without it."""

    @override
    def now(self) -> datetime:
        return datetime.fromtimestamp(time.time(), UTC)

    @override
    def monotonic(self) -> float:
        return time.monotonic()

    @override
    async def sleep(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        over = loop.create_future()
        timer = loop.call_later(seconds, over.set_result, None)
        try:
            await over
        finally:
            timer.cancel()
