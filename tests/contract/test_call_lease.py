"""Who serves a call, whatever decides it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest
from redis.asyncio import Redis

from src.adapters.redis_client import connect_redis
from src.adapters.redis_lease import RedisCallLease
from src.services.ports import CallLease
from tests.fakes.clock import FakeClock
from tests.fakes.lease import FakeLease

pytestmark = pytest.mark.integration


@dataclass
class Leases:
    lease: CallLease
    expire: Callable[[str], Awaitable[None]]


@pytest.fixture
def memory_leases() -> Leases:
    clock = FakeClock()

    async def expire(_call: str) -> None:
        clock.advance(3600)

    return Leases(FakeLease(clock, lease_s=3600), expire)


@pytest.fixture
def redis_leases(redis_client: Redis) -> Leases:
    async def expire(call: str) -> None:
        await redis_client.pexpire(f"lease:{call}", 0)

    return Leases(RedisCallLease(client=redis_client, timeout_s=5), expire)


@pytest.fixture(params=["memory_leases", "redis_leases"])
def leases(request: pytest.FixtureRequest) -> Leases:
    found: Leases = request.getfixturevalue(request.param)
    return found


async def test_the_first_holder_keeps_the_call(leases: Leases) -> None:
    assert await leases.lease.acquire("room", "job-1")
    assert not await leases.lease.acquire("room", "job-2")
    assert await leases.lease.acquire("room", "job-1")
    assert await leases.lease.acquire("another room", "job-2")


async def test_of_many_at_once_one_gets_the_call(leases: Leases) -> None:
    async with asyncio.TaskGroup() as group:
        tries = [group.create_task(leases.lease.acquire("room", f"job-{n}")) for n in range(20)]
    assert sum(one.result() for one in tries) == 1


async def test_a_lease_ends(leases: Leases) -> None:
    assert await leases.lease.acquire("room", "job-1")
    await leases.expire("room")
    assert await leases.lease.acquire("room", "job-2")


async def test_every_lease_is_written_with_its_end(redis_client: Redis) -> None:
    lease = RedisCallLease(client=redis_client, lease_s=100, timeout_s=5)
    for _ in range(2):
        await lease.acquire("room", "job-1")
        assert 90 < await redis_client.ttl("lease:room") <= 100


async def test_the_call_is_served_while_the_store_is_away(caplog: pytest.LogCaptureFixture) -> None:
    async with connect_redis("redis://127.0.0.1:1") as nobody_there:
        lease = RedisCallLease(client=nobody_there)
        assert await lease.acquire("room", "job-1")
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


async def test_the_call_is_served_while_the_store_is_slow(
    redis_client: Redis, redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    await redis_client.client_pause(timeout=300, all=True)
    async with connect_redis(redis_url, timeout_s=5) as client:
        lease = RedisCallLease(client=client, timeout_s=0.05)
        async with asyncio.timeout(0.2):
            assert await lease.acquire("room", "job-1")
            assert await lease.acquire("room", "job-2")
    assert "lease store is away" in caplog.text
