"""A journal that lives as long as its process, for tests and embedding."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from src.schemas.memory import MemoryEntry, MemoryEvent
from src.services.memory_ports import MemoryJournal


class InMemoryJournal(MemoryJournal):
    """Keeps items in the order in which they were written."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, bool], MemoryEntry | MemoryEvent] = {}

    @override
    async def write(self, item: MemoryEntry | MemoryEvent) -> None:
        self._kept.setdefault(_key(item), item)

    @override
    async def pending(self) -> Sequence[MemoryEntry | MemoryEvent]:
        return tuple(self._kept.values())

    @override
    async def remove(self, items: Sequence[MemoryEntry | MemoryEvent]) -> None:
        for item in items:
            self._kept.pop(_key(item), None)

    @override
    async def delete_sessions(self, session_ids: Sequence[str]) -> int:
        keys = [key for key in self._kept if key[0] in set(session_ids)]
        for key in keys:
            del self._kept[key]
        return len(keys)


def _key(item: MemoryEntry | MemoryEvent) -> tuple[str, str, bool]:
    return item.session_id, item.id, isinstance(item, MemoryEvent)
