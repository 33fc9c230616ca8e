"""What one more message costs in a session that grows, beside a store that writes the whole list."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from redis.asyncio import Redis

from bench._memory_servers import Where
from bench._report import Report, p50, percentile
from src.adapters.redis_client import connect_redis
from src.adapters.redis_memory import RedisMemoryStore
from src.schemas.memory import SESSION_TTL_S, MemoryEntry

SHORT, LONG = 10, 10_000
SAMPLES = 500
WHOLE_LIST_SAMPLES = 40
CONTENT = (
    "Could you tell me whether the elevator beside the pharmacy goes to the second floor, please?"
)
PATIENT_S = 30.0
"""Nothing here may be cut short by the limits of a call."""

Append = Callable[[str, int], Awaitable[float]]


async def appends(report: Report, where: Where) -> None:
    """Both stores, short and long sessions in turn, on one server."""
    async with connect_redis(where.redis, timeout_s=PATIENT_S) as client:
        store = RedisMemoryStore(client, deadline_s=PATIENT_S)

        async def ours(session: str, number: int) -> float:
            began = time.perf_counter()
            await store.append(_message(session, number))
            return time.perf_counter() - began

        async def whole_list(session: str, number: int) -> float:
            began = time.perf_counter()
            await _rewrite(client, session, _message(session, number))
            return time.perf_counter() - began

        for number in range(LONG):
            await ours("long", number)
        short, long = await _in_turn(ours, SAMPLES, "ours")
        filled = [_message("long", number).to_dict() for number in range(LONG)]
        await client.set("whole:long", json.dumps(filled))
        short_list, long_list = await _in_turn(whole_list, WHOLE_LIST_SAMPLES, "whole list")
    for size, times, lists in ((SHORT, short, short_list), (LONG, long, long_list)):
        for name, share in (("p50", 0.5), ("p95", 0.95)):
            report.row(
                f"append {name} after {size:,} messages",
                percentile(times, share) * 1000,
                "ms",
                baseline=percentile(lists, share) * 1000,
                baseline_what="whole-list rewrite",
            )
    report.row(
        f"whole-list rewrite p50, {LONG:,} over {SHORT}", p50(long_list) / p50(short_list), "x"
    )
    report.at_most(f"append p50, {LONG:,} over {SHORT} messages", p50(long) / p50(short), 1.5)


async def _in_turn(append: Append, samples: int, name: str) -> tuple[list[float], list[float]]:
    """Times in seconds of an append to a session of `SHORT` messages, and to the long one."""
    short, long = [], []
    for sample in range(samples):
        session = f"{name} {sample}"
        for number in range(SHORT):
            await append(session, number)
        # The first one after another session was written would be slower, whatever its length.
        await append("long", LONG + 2 * sample)
        long.append(await append("long", LONG + 2 * sample + 1))
        await append(session, SHORT)
        short.append(await append(session, SHORT + 1))
    return short, long


async def _rewrite(client: Redis, session: str, entry: MemoryEntry) -> None:
    """What a store does that keeps a session as one value."""
    key = f"whole:{session}"
    entries = json.loads(await client.get(key) or b"[]")
    entries.append(entry.to_dict())
    await client.set(key, json.dumps(entries), ex=SESSION_TTL_S)


def _message(session: str, number: int) -> MemoryEntry:
    return MemoryEntry(
        role="user" if number % 2 else "assistant",
        content=f"{number}: {CONTENT}",
        mode="voice",
        id=f"item_{number}",
        session_id=session,
        user_id="acme/+15105550100",
        timestamp=datetime.now(UTC),
    )
