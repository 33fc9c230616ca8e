"""Stores of live sessions for one suite, and a look behind the one in Redis."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from redis.asyncio import Redis

from src.adapters.redis_memory import RedisMemoryStore
from src.schemas.memory import SESSION_TTL_S, MemoryEntry, MemoryEvent
from src.services.in_memory_sessions import InMemorySessions
from src.services.memory_ports import SessionStore
from tests.fakes.clock import NOON, FakeClock

USER = "user-1"


def said(
    text: str, *, at: datetime = NOON, session: str = "s1", user: str = USER, **fields: Any
) -> MemoryEntry:
    """A message whose id is its text."""
    fields = {"id": text, "role": "user", "mode": "voice", **fields}
    return MemoryEntry(content=text, session_id=session, user_id=user, timestamp=at, **fields)


def switch(
    name: str, *, at: datetime = NOON, session: str = "s1", user: str = USER, **fields: Any
) -> MemoryEvent:
    """An event with that id."""
    fields = {"event_type": "mode_switch", "data": {"to_mode": "text"}, **fields}
    return MemoryEvent(id=name, session_id=session, user_id=user, timestamp=at, **fields)


class LiveSessions:
    """Makes stores that share one clock, and lets their time pass."""

    def __init__(self, client: Redis | None = None) -> None:
        """With a client, in Redis."""
        self.clock = FakeClock()
        self._client = client

    def store(self, *, ttl_s: int = SESSION_TTL_S) -> SessionStore:
        """A store; in Redis, all of them hold the same sessions."""
        if self._client is None:
            return InMemorySessions(self.clock, ttl_s=ttl_s)
        # A slow test machine is not what is tested.
        return RedisMemoryStore(self._client, clock=self.clock, ttl_s=ttl_s, deadline_s=5)

    def later(self, seconds: float = 1) -> datetime:
        """The moment so long after now, which is then now."""
        self.clock.advance(seconds)
        return self.clock.now()

    def earlier(self, seconds: float = 1) -> datetime:
        """The moment so long before now."""
        return self.clock.now() - timedelta(seconds=seconds)

    async def pass_time(self, seconds: float) -> None:
        """Let sessions come to their end; Redis has a clock of its own."""
        self.clock.advance(seconds)
        if self._client is not None:
            await asyncio.sleep(seconds)


async def ttls(client: Redis) -> Mapping[str, int]:
    """Every key, and its lifetime in seconds; -1 if it would stay for ever."""
    return {key.decode(): await client.ttl(key) async for key in client.scan_iter(count=1_000)}


async def content_of(client: Redis) -> str:
    """Names and values of all keys, as text."""
    found: list[object] = []
    async for key in client.scan_iter(count=1_000):
        found.append(key)
        match await client.type(key):
            case b"list":
                found += await client.lrange(key, 0, -1)
            case b"hash":
                found.append(await client.hgetall(key))
            case b"zset":
                found.append(await client.zrange(key, 0, -1, withscores=True))
            case other:
                raise AssertionError(other)
    return str(found)


def numbered(*entries: MemoryEntry, first: int = 1) -> list[MemoryEntry]:
    """The same with sequences that begin at `first`."""
    return [replace(entry, sequence=number) for number, entry in enumerate(entries, first)]
