"""Tasks that live as long as their owner."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class OwnedTasks:
    """Starts tasks, ends them all, and keeps the first failure for the owner."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()
        self.failure: BaseException | None = None

    def spawn(self, work: Coroutine[Any, Any, None], *, name: str) -> None:
        """Run it until it ends or the owner closes."""
        task = asyncio.create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._done)

    async def close(self) -> None:
        """Cancel what still runs and wait for it."""
        for task in tuple(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) and self.failure is None:
            self.failure = error
