"""What a Redis that hangs costs a turn, and what is in it afterwards."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from redis.asyncio import Redis
from redis.exceptions import RedisError

from bench._memory_servers import Where, stores
from bench._report import Report, p50
from src.adapters.redis_client import connect_redis
from src.adapters.redis_memory import RedisMemoryStore
from src.schemas.memory import MemoryEntry, Role
from src.services.unified_memory import UnifiedMemoryService

ROUNDS = 4
PAUSE_S = 2.6
BETWEEN_TURNS_S = 0.2
TURNS_BEFORE, TURNS_AFTER = 6, 4
DEFAULT_CLIENT_PAUSE_S = 12.0
"""Longer than a client of redis-py waits that nobody gave a limit."""
RECOVERY_LIMIT_S = 15.0


@dataclass
class Costs:
    """Seconds a reply waits for memory."""

    before: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    further: list[float] = field(default_factory=list)
    recovery: list[float] = field(default_factory=list)
    """End of the hang until everything is in Redis."""
    missing: int = 0
    """Messages that are not where they belong, in Redis or in the archive."""


async def outage(report: Report, where: Where) -> None:
    """Several hangs, each in a new process's memory; then a client as it comes."""
    costs = Costs()
    for number in range(ROUNDS):
        async with stores(where) as found:
            memory = UnifiedMemoryService(stores=found)
            session = f"hang {number}"
            live, said = await _one_hang(costs, memory, where, session)
            await memory.flush(session)
            archived = [one.id for one in await found.archive.load_conversation(session)]
            costs.missing += _misplaced(live, said) + _misplaced(archived, said)
            await memory.aclose()
    default_s = await _default_client(where)
    report.row("turn's memory p50 while Redis is there", p50(costs.before) * 1000, "ms")
    for what, cost in (
        ("first turn's memory while Redis hangs, worst", max(costs.first)),
        ("further turns' memory while Redis hangs, p50", p50(costs.further)),
        ("further turns' memory while Redis hangs, worst", max(costs.further)),
    ):
        report.row(
            what,
            cost * 1000,
            "ms",
            baseline=default_s * 1000,
            baseline_what="redis-py as it comes",
        )
    report.row("Redis has everything again after its hang, worst", max(costs.recovery), "s")
    report.at_most("first turn while Redis hangs (ms)", max(costs.first) * 1000, 150)
    report.at_most("further turn while Redis hangs, p50 (ms)", p50(costs.further) * 1000, 5)
    report.at_most("messages lost or out of order after the hangs", costs.missing, 0)
    report.notes.append(
        "a turn's memory is what a reply waits for: writing the user's message (on disk where Redis "
        "hangs) and reading the context; the assistant's message is written meanwhile, as in calls"
    )


async def _one_hang(
    costs: Costs, memory: UnifiedMemoryService, where: Where, session: str
) -> tuple[list[str], list[str]]:
    """What Redis has in the end, and what it should."""
    await memory.begin_session(session, user_id="acme/caller")
    said: list[str] = []
    for _ in range(TURNS_BEFORE):
        costs.before.append(await _turn(memory, session, said))
    ends_at = await _hang(where, PAUSE_S)
    costs.first.append(await _turn(memory, session, said))
    while time.monotonic() < ends_at - BETWEEN_TURNS_S:
        costs.further.append(await _turn(memory, session, said))
    await asyncio.sleep(ends_at - time.monotonic())
    for _ in range(TURNS_AFTER):
        await _turn(memory, session, said)
    async with _patient(where) as redis:
        while (live := [one.id for one in await redis.load_session(session)]) != said:
            if time.monotonic() > ends_at + RECOVERY_LIMIT_S:
                break
            await asyncio.sleep(0.02)
    costs.recovery.append(time.monotonic() - ends_at)
    return live, said


async def _turn(memory: UnifiedMemoryService, session: str, said: list[str]) -> float:
    """One question and its answer; the seconds its reply waited."""
    began = time.perf_counter()
    await memory.add_entry(session, _message("user", said))
    await memory.get_context(session)
    took = time.perf_counter() - began
    await memory.add_entry(session, _message("assistant", said))
    await asyncio.sleep(BETWEEN_TURNS_S)
    return took


def _message(role: Role, said: list[str]) -> MemoryEntry:
    said.append(f"item_{len(said)}")
    return MemoryEntry(role=role, content=f"Words of {said[-1]}", mode="voice", id=said[-1])


def _misplaced(found: list[str], said: list[str]) -> int:
    return sum(a != b for a, b in zip(found, said, strict=False)) + abs(len(found) - len(said))


async def _hang(where: Where, seconds: float) -> float:
    """Redis answers nobody for so long; when it will again."""
    async with connect_redis(where.redis, timeout_s=5) as client:
        await client.client_pause(round(seconds * 1000), all=True)
        return time.monotonic() + seconds


@asynccontextmanager
async def _patient(where: Where) -> AsyncIterator[RedisMemoryStore]:
    async with connect_redis(where.redis, timeout_s=30) as client:
        yield RedisMemoryStore(client, deadline_s=30)


async def _default_client(where: Where) -> float:
    """How long one append takes a client without limits of its own, while Redis hangs."""
    async with Redis.from_url(where.redis) as client:
        await client.ping()
        ends_at = await _hang(where, DEFAULT_CLIENT_PAUSE_S)
        began = time.perf_counter()
        with suppress(RedisError):
            await client.rpush("default", "message")
        took = time.perf_counter() - began
        await asyncio.sleep(max(0.0, ends_at - time.monotonic()) + 0.1)
        return took
