"""Who serves a call, decided by Redis."""

from __future__ import annotations

import asyncio

from redis.asyncio import Redis
from redis.exceptions import RedisError
from typing_extensions import override

from src.logs import get_logger
from src.services.ports import CallLease

logger = get_logger(__name__)

_ACQUIRE = """
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return 1
"""
"""One round trip, and nothing between the look and the grip."""


class RedisCallLease(CallLease):
    """Keys `lease:{call}`; a holder may take its own lease again, which prolongs it."""

    def __init__(self, *, client: Redis, lease_s: int = 2 * 3600, timeout_s: float = 0.1) -> None:
        """`lease_s` outlives any call, so that a late second dispatch is still refused."""
        self._client = client
        self._lease_s = lease_s
        self._timeout_s = timeout_s

    @override
    async def acquire(self, call_key: str, holder: str) -> bool:
        try:
            async with asyncio.timeout(self._timeout_s):
                granted = await self._client.eval(
                    _ACQUIRE, 1, f"lease:{call_key}", holder, str(self._lease_s)
                )
        except (RedisError, TimeoutError, OSError):
            logger.warning("lease store is away, the call is served without a lease")
            return True
        return bool(granted)
