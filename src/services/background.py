"""Owns the tasks that outlive the callback which started them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from src.logs import get_logger

logger = get_logger(__name__)
T = TypeVar("T")


class Background:
    """Spawns named tasks, logs the ones that fail, and ends them all on `aclose`."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, work: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        """Start `work`; its failure is logged here unless somebody awaits the task first."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    async def aclose(self, *, grace_s: float = 0.0) -> None:
        """Wait up to `grace_s` for the running tasks, then cancel them and wait until they ended."""
        if self._tasks and grace_s > 0:
            await asyncio.wait(self._tasks, timeout=grace_s)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.warning(
                "background task failed",
                extra={"task": task.get_name(), "error": type(error).__name__},
            )
