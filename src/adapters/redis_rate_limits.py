"""Rate limits over Redis, with the `limits` library."""

from __future__ import annotations

import asyncio
import math
import time

from limits import RateLimitItemPerSecond
from limits.aio.storage import RedisStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from redis.asyncio import Redis
from redis.exceptions import RedisError
from typing_extensions import override

from src.logs import get_logger
from src.services.api_ports import Rate, RateLimiter

logger = get_logger(__name__)


class RedisRateLimiter(RateLimiter):
    """Sliding windows, each two counters in Redis."""

    def __init__(self, redis: Redis, *, timeout_s: float = 0.5) -> None:
        storage = RedisStorage(
            "async+redis://",  # says what it is; where it is, the pool knows
            implementation="redispy",
            key_prefix="rate",
            connection_pool=redis.connection_pool,  # type: ignore[arg-type]
        )
        self._limiter = SlidingWindowCounterRateLimiter(storage)
        self._timeout_s = timeout_s

    @override
    async def wait_s(self, name: str, rate: Rate) -> int:
        item = RateLimitItemPerSecond(rate.times, rate.seconds)
        try:
            async with asyncio.timeout(self._timeout_s):
                if await self._limiter.hit(item, name):
                    return 0
                window = await self._limiter.get_window_stats(item, name)
        except (RedisError, OSError, TimeoutError):
            logger.warning("rate limits are off: their store is away")
            return 0
        return max(1, math.ceil(window.reset_time - time.time()))
