"""Keeps a store that is away from costing every turn its time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from src.logs import get_logger
from src.schemas.errors import MemoryStoreError
from src.services.background import Background
from src.services.ports import Clock

logger = get_logger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class BreakerPolicy:
    """When a store counts as away; durations in seconds."""

    timeout_s: float = 0.1
    """For one operation: what an outage costs the first turn, and no other."""
    failures: int = 1
    """In a row, until the store is no longer asked."""
    pause_s: float = 1.0
    """Between two looks whether it is back."""
    probe_s: float = 1.0
    """For one such look, which nobody waits for."""


class Breaker:
    """Bounds every operation of one store; while the store is away, each fails at once.

    Whether it is back is found out in the background by `probe`, never by an operation that somebody
    waits for: the first one after an outage is as fast as any other.
    """

    def __init__(
        self,
        *,
        name: str,
        probe: Callable[[], Awaitable[object]],
        clock: Clock,
        background: Background,
        policy: BreakerPolicy | None = None,
    ) -> None:
        self._name = name
        self._probe = probe
        self._clock = clock
        self._background = background
        self._policy = policy or BreakerPolicy()
        self._failures = 0
        self._there = asyncio.Event()
        self._there.set()

    @property
    def is_open(self) -> bool:
        """Whether the store counts as away."""
        return not self._there.is_set()

    async def recovered(self) -> None:
        """Return once the store is there."""
        await self._there.wait()

    async def call(self, operation: Callable[[], Awaitable[T]]) -> T:
        """The operation's result.

        Raises:
            MemoryStoreError: it failed, took too long, or was not tried since the store is away.
        """
        if self.is_open:
            raise MemoryStoreError(f"{self._name} is away")
        try:
            async with asyncio.timeout(self._policy.timeout_s):
                result = await operation()
        except (TimeoutError, MemoryStoreError) as error:
            self._failed()
            raise MemoryStoreError(f"{self._name}: {type(error).__name__}") from error
        self._failures = 0
        return result

    def _failed(self) -> None:
        self._failures += 1
        if self._failures >= self._policy.failures and not self.is_open:
            self._there.clear()
            logger.warning("store is away, it is not asked until it is back", extra=self._fields)
            _ = self._background.spawn(self._wait_until_back(), name=f"probe {self._name}")

    async def _wait_until_back(self) -> None:
        while True:
            await self._clock.sleep(self._policy.pause_s)
            try:
                async with asyncio.timeout(self._policy.probe_s):
                    await self._probe()
            except (TimeoutError, MemoryStoreError):
                continue
            break
        self._failures = 0
        self._there.set()
        logger.info("store is back", extra=self._fields)

    @property
    def _fields(self) -> dict[str, str]:
        return {"store": self._name}
