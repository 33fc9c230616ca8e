"""Appends to one session of a Redis and prints each sequence given; run by a test, twice at once.

Usage: python -m tests.contract.memory_writer URL SESSION NAME COUNT
"""

import asyncio
import json
import sys

from redis.asyncio import Redis

from src.adapters.redis_client import connect_redis
from src.adapters.redis_memory import RedisMemoryStore
from tests.contract.memory_stores import said


async def write(url: str, session: str, name: str, count: int) -> list[int]:
    async with connect_redis(url, timeout_s=30) as client:
        store = RedisMemoryStore(client, deadline_s=30)
        places = []
        for number in range(count):
            if number in {0, count // 2}:
                await meet(client, f"test:{number}")
            appended = await store.append(said(f"{name}-{number}", session=session))
            assert appended.new
            places.append(appended.sequence)
        return places


async def meet(client: Redis, where: str) -> None:
    """Wait until both are here, so that neither is through before the other begins."""
    if await client.incr(where) == 2:
        await client.rpush(f"{where}:go", 1, 2)
    assert await client.blpop([f"{where}:go"], timeout=20)


if __name__ == "__main__":
    url, session, name, count = sys.argv[1:]
    places = asyncio.run(write(url, session, name, int(count)))
    sys.stdout.write(json.dumps(places))
