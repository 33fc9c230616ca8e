"""What `InMemoryArchive` keeps: conversations, and a ledger of what was deleted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar

from src.schemas.memory import MemoryEntry, MemoryEvent
from src.services.archive_rules import (
    deleted_until,
    in_order,
    person_pseudonym,
    said_at,
    session_pseudonym,
)

Item = TypeVar("Item", MemoryEntry, MemoryEvent)


class Ledger:
    """What was deleted, under pseudonyms of persons and sessions."""

    def __init__(self) -> None:
        self._deleted: dict[str, list[tuple[datetime, datetime]]] = {}

    def note(
        self,
        names: Iterable[str],
        *,
        since: datetime,
        now: datetime,
        gone: Sequence[MemoryEntry | MemoryEvent],
    ) -> None:
        """Cover what was said from `since` up to now."""
        until = deleted_until(now, max(map(said_at, gone), default=None))
        for name in names:
            self._deleted.setdefault(name, []).append((since, until))

    def covers(self, item: MemoryEntry | MemoryEvent, *, owner: str) -> bool:
        """Whether the item, in a conversation of `owner`, was said before a deletion of it."""
        session, person = session_pseudonym(item.session_id), person_pseudonym(item.user_id)
        return any(
            since <= said_at(item) <= until
            for name in (session, person, person_pseudonym(owner))
            for since, until in self._deleted.get(name, ())
        )


@dataclass
class Conversation:
    """One session."""

    user_id: str
    owner_id: str
    agent_id: str
    created_at: datetime
    entries: dict[str, MemoryEntry] = field(default_factory=dict)
    events: dict[str, MemoryEvent] = field(default_factory=dict)
    last_sequence: int = 0
    summary: str | None = None
    summary_through: int = 0

    @property
    def messages(self) -> list[MemoryEntry]:
        """In order."""
        return sorted(self.entries.values(), key=in_order)

    @property
    def happened(self) -> list[MemoryEvent]:
        """The events, in order."""
        return sorted(self.events.values(), key=in_order)

    @property
    def last_message_at(self) -> datetime | None:
        """When something was said last."""
        return max(map(said_at, self.entries.values()), default=None)

    @property
    def active_at(self) -> datetime:
        """By which conversations are told older from newer."""
        return self.last_message_at or self.created_at

    @property
    def unsummarised(self) -> bool:
        """Whether there are messages newer than the summary."""
        return any(entry.sequence > self.summary_through for entry in self.entries.values())

    def identify(self, user_id: str, owner_id: str, agent_id: str) -> None:
        """Whose it is; what is known already stays."""
        self.user_id = self.user_id or user_id
        self.owner_id = self.owner_id or owner_id
        self.agent_id = self.agent_id or agent_id

    def add(self, items: Sequence[Item], kept: dict[str, Item], ledger: Ledger) -> int:
        """Put the items that are new, and were not deleted, into `kept`; their number."""
        self.last_sequence = max([self.last_sequence, *(item.sequence for item in items)])
        before = len(kept)
        for item in items:
            if item.id in kept or ledger.covers(item, owner=self.user_id):
                continue
            if item.sequence <= 0:
                self.last_sequence += 1
                kept[item.id] = replace(item, sequence=self.last_sequence)
            else:
                kept[item.id] = item
        return len(kept) - before

    def delete(self, user_id: str, since: datetime) -> tuple[list[MemoryEntry], list[MemoryEvent]]:
        """Take out what a person said from `since` on, with the summary that covers any of it."""
        entries = [one for one in self.entries.values() if self._is_of(one, user_id, since)]
        events = [one for one in self.events.values() if self._is_of(one, user_id, since)]
        self._drop(entries, events)
        if any(one.sequence <= self.summary_through for one in entries):
            self.summary, self.summary_through = None, 0
        return entries, events

    def purge(self, limit: datetime) -> int:
        """Take out what is older, with a summary of nothing else; the number of items."""
        entries = [one for one in self.entries.values() if said_at(one) < limit]
        events = [one for one in self.events.values() if said_at(one) < limit]
        self._drop(entries, events)
        if not any(one.sequence <= self.summary_through for one in self.entries.values()):
            self.summary, self.summary_through = None, 0
        return len(entries) + len(events)

    def _is_of(self, item: MemoryEntry | MemoryEvent, user_id: str, since: datetime) -> bool:
        return said_at(item) >= since and user_id in (self.user_id, item.user_id)

    def _drop(self, entries: Iterable[MemoryEntry], events: Iterable[MemoryEvent]) -> None:
        for entry in entries:
            del self.entries[entry.id]
        for event in events:
            del self.events[event.id]
