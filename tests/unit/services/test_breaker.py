"""A store that is away is asked once, and looked after in the background."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from src.schemas.errors import MemoryStoreError
from src.services.background import Background
from src.services.breaker import Breaker, BreakerPolicy
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Faults


class Guarded:
    """A store behind a breaker."""

    def __init__(self, background: Background, *, failures: int = 1) -> None:
        self.clock = FakeClock()
        self.faults = Faults()
        self.asked = 0
        self.probed = 0
        self.breaker = Breaker(
            name="store",
            probe=self.probe,
            clock=self.clock,
            background=background,
            policy=BreakerPolicy(timeout_s=0.01, probe_s=0.01, failures=failures),
        )

    async def probe(self) -> None:
        self.probed += 1
        await self.faults.check()

    async def ask(self) -> int:
        async def operation() -> int:
            self.asked += 1
            await self.faults.check()
            return self.asked

        return await self.breaker.call(operation)


@pytest.fixture
async def background() -> AsyncIterator[Background]:
    background = Background()
    yield background
    await background.aclose()


async def test_an_operation_gives_its_result(background: Background) -> None:
    assert await Guarded(background).ask() == 1


async def test_a_hung_store_is_waited_for_once(background: Background) -> None:
    store = Guarded(background)
    store.faults.up.clear()
    for _ in range(5):
        with pytest.raises(MemoryStoreError):
            await store.ask()
    assert store.asked == 1
    assert store.breaker.is_open


async def test_whether_it_is_back_is_found_out_in_the_background(background: Background) -> None:
    store = Guarded(background)
    store.faults.error = MemoryStoreError("away")
    with pytest.raises(MemoryStoreError):
        await store.ask()
    while store.probed < 3:  # noqa: ASYNC110 - others run meanwhile
        await asyncio.sleep(0)
    assert store.asked == 1
    store.faults.error = None
    async with asyncio.timeout(10):
        await store.breaker.recovered()
    assert await store.ask() == 2
    assert store.clock.slept_s[:3] == [1.0, 1.0, 1.0]


async def test_failures_count_in_a_row(background: Background) -> None:
    store = Guarded(background, failures=2)
    for error in (MemoryStoreError("away"), None, MemoryStoreError("away")):
        store.faults.error = error
        if error is None:
            await store.ask()
        else:
            with pytest.raises(MemoryStoreError):
                await store.ask()
        assert not store.breaker.is_open
    with pytest.raises(MemoryStoreError):
        await store.ask()
    assert store.breaker.is_open


async def test_an_error_that_is_a_bug_opens_nothing(background: Background) -> None:
    store = Guarded(background)
    store.faults.error = TypeError("a bug")
    with pytest.raises(TypeError):
        await store.ask()
    assert not store.breaker.is_open
