"""Both memory features for one call: looked up at once, under one deadline, each on its own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from src.logs import get_logger
from src.schemas.agent_meta_schema import AgentMeta
from src.schemas.receipt import FeatureReceipt, MemoryOutcome, MemoryReceipt
from src.services.background import Background
from src.services.conversation_history import (
    Caller,
    MemorySources,
    maybe_apply_history_context,
    maybe_apply_variable_memory,
)

logger = get_logger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class Recollection:
    """What is known at one moment: the agent and the values to use, and the receipt."""

    meta: AgentMeta
    values: Mapping[str, str]
    receipt: MemoryReceipt

    @property
    def degradations(self) -> tuple[str, ...]:
        """Names of what is missing because a store was late or failed."""
        outcomes = {self.receipt.history.outcome, self.receipt.variables.outcome}
        late, failed = MemoryOutcome.LATE in outcomes, MemoryOutcome.FAILED in outcomes
        return (*(("memory_late",) if late else ()), *(("memory_failed",) if failed else ()))


class CallerMemory:
    """Runs the two lookups; a feature that is late or fails leaves the other alone."""

    def __init__(
        self,
        *,
        meta: AgentMeta,
        caller: Caller,
        live: Mapping[str, str],
        sources: MemorySources,
        background: Background,
    ) -> None:
        """Starts both lookups at once; needs a running event loop."""
        self._meta = meta
        self._live = dict(live)
        self._history = background.spawn(
            maybe_apply_history_context(meta, caller, sources), name="history-context"
        )
        self._variables = background.spawn(
            maybe_apply_variable_memory(meta, caller, live, sources), name="variable-memory"
        )

    @property
    def complete(self) -> bool:
        """Whether both lookups have ended, one way or the other."""
        return self._history.done() and self._variables.done()

    async def within(self, deadline_s: float | None) -> Recollection:
        """What both lookups have after at most `deadline_s`; what is late goes on running.

        None waits as long as it takes.
        """
        await asyncio.wait([self._history, self._variables], timeout=deadline_s)
        meta, history = _outcome(self._history, self._meta)
        values, variables = _outcome(self._variables, self._live)
        return Recollection(meta, values, MemoryReceipt(history=history, variables=variables))

    def stop(self) -> None:
        """Give up on what is still running."""
        self._history.cancel()
        self._variables.cancel()


def _outcome(
    task: asyncio.Task[tuple[T, FeatureReceipt]], otherwise: T
) -> tuple[T, FeatureReceipt]:
    """The result of a lookup, or the call as it was without it.

    `BaseException` types other than errors of the lookup itself do not end up in a done task here:
    a cancelled lookup counts as late.
    """
    if not task.done() or task.cancelled():
        return otherwise, FeatureReceipt(outcome=MemoryOutcome.LATE)
    if task.exception() is not None:
        return otherwise, FeatureReceipt(outcome=MemoryOutcome.FAILED)
    return task.result()
