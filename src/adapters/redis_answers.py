"""Answers to requests with an idempotency key, in Redis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redis.asyncio import Redis
from redis.exceptions import RedisError
from typing_extensions import override

from src.schemas.errors import ContactStoreError
from src.services.api_ports import Answers


class RedisAnswers(Answers):
    """One string per answer; it goes when its time is over."""

    def __init__(self, redis: Redis, *, timeout_s: float = 2.0) -> None:
        self._redis = redis
        self._timeout_s = timeout_s

    @override
    async def reserve(self, name: str, value: str, ttl_s: int) -> str | None:
        async with self._bounded():
            # What was there comes back, atomically with the attempt to take its place.
            found = await self._redis.set(name, value, ex=ttl_s, nx=True, get=True)
        return found.decode() if isinstance(found, bytes) else None

    @override
    async def put(self, name: str, value: str, ttl_s: int) -> None:
        async with self._bounded():
            await self._redis.set(name, value, ex=ttl_s)

    @override
    async def remove(self, name: str) -> None:
        async with self._bounded():
            await self._redis.delete(name)

    @asynccontextmanager
    async def _bounded(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._timeout_s):
                yield
        except (RedisError, OSError, TimeoutError) as error:
            raise ContactStoreError(f"answers: {type(error).__name__}") from error
