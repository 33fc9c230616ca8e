"""Stores of unified memory that fail, hang and die when told to, and a look at all they hold."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from src.services.in_memory_archive import InMemoryArchive
from src.services.in_memory_journal import InMemoryJournal
from src.services.in_memory_sessions import InMemorySessions
from src.services.memory_ports import ConversationArchive, MemoryJournal, SessionStore
from src.services.memory_stores import MemoryStores
from src.services.ports import Clock
from tests.fakes.faults import Faults

T = TypeVar("T")


class Guarded:
    """Every operation of `store`, within what `around` does before and after it."""

    def __init__(
        self, store: object, around: Callable[[Callable[[], Awaitable[Any]]], Any]
    ) -> None:
        self._store = store
        self._around = around

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._store, name)

        async def guarded(*args: Any, **named: Any) -> Any:
            return await self._around(lambda: operation(*args, **named))

        return guarded


class FakeStores:
    """In-memory stores, each with faults of its own, and a count of what each was asked."""

    def __init__(self, clock: Clock) -> None:
        self.raw = MemoryStores(
            InMemorySessions(clock), InMemoryArchive(clock=clock), InMemoryJournal()
        )
        self.session_faults, self.archive_faults, self.journal_faults = Faults(), Faults(), Faults()
        self.session_calls = 0
        self.stores = MemoryStores(
            cast(SessionStore, Guarded(self.raw.sessions, self._sessions)),
            failing(self.raw.archive, self.archive_faults),
            failing(self.raw.journal, self.journal_faults),
        )

    async def _sessions(self, operation: Callable[[], Awaitable[Any]]) -> Any:
        self.session_calls += 1
        return await _checked(self.session_faults)(operation)

    def dump(self) -> str:
        """All that the stores hold, as text."""
        return dump(self.raw.sessions, self.raw.archive, self.raw.journal)


class Mortal:
    """Lets a process die: from the `after`-th operation on, nothing it asked for ever returns."""

    def __init__(self) -> None:
        self.dead = asyncio.Event()
        self._left: int | None = None
        self._done_first = False

    def die_after(self, operations: int, *, done_first: bool) -> None:
        """`done_first`: the last operation takes effect, but its caller never learns of it."""
        self._left, self._done_first = operations, done_first

    async def __call__(self, operation: Callable[[], Awaitable[Any]]) -> Any:
        if self.dead.is_set():
            await asyncio.Event().wait()
        if self._left is not None:
            if self._left <= 0:
                self.dead.set()
                if self._done_first:
                    await operation()
                await asyncio.Event().wait()
            self._left -= 1
        return await operation()

    def stores(self, raw: MemoryStores) -> MemoryStores:
        """The stores as this process sees them."""
        return MemoryStores(
            cast(SessionStore, Guarded(raw.sessions, self)),
            cast(ConversationArchive, Guarded(raw.archive, self)),
            cast(MemoryJournal, Guarded(raw.journal, self)),
        )


def failing(store: T, faults: Faults) -> T:
    """The store, with these faults."""
    return cast(T, Guarded(store, _checked(faults)))


def dump(*stores: object) -> str:
    """What objects hold, down to plain values."""
    return repr([_plain(store, 8) for store in stores])


def _plain(value: object, depth: int) -> object:
    if depth == 0 or isinstance(value, str | int | float | bytes | None):
        return value
    if isinstance(value, dict):
        return [(_plain(key, depth - 1), _plain(one, depth - 1)) for key, one in value.items()]
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one, depth - 1) for one in value]
    return _plain(vars(value), depth - 1) if hasattr(value, "__dict__") else repr(value)


def _checked(faults: Faults) -> Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]]:
    async def around(operation: Callable[[], Awaitable[Any]]) -> Any:
        await faults.check()
        return await operation()

    return around
