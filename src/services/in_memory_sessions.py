"""Live sessions in this process: the reference of the port, for tests and embedding."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeVar

from typing_extensions import override

from src.schemas.memory import (
    REMEMBERED_IDS,
    SESSION_TTL_S,
    WINDOW,
    Appended,
    MemoryEntry,
    MemoryEvent,
)
from src.services.archive_rules import deleted_until
from src.services.memory_ports import SessionStore
from src.services.ports import Clock
from src.services.wall_clock import WallClock

Item = TypeVar("Item", MemoryEntry, MemoryEvent)
Kept = TypeVar("Kept", "_Session", "_Deletion")

_REFUSED = Appended(0, new=False)


@dataclass
class _Session:
    counter: int = 0
    messages: list[MemoryEntry] = field(default_factory=list)
    events: list[MemoryEvent] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)
    ids: dict[tuple[type, str], int] = field(default_factory=dict)
    users: set[str] = field(default_factory=set)
    said: datetime | None = None
    """When the latest was said."""
    expires_at: datetime | None = None


@dataclass(frozen=True)
class _Deletion:
    at: datetime
    counter: int = 0
    expires_at: datetime | None = None


class InMemorySessions(SessionStore):
    """Keeps no more than the process lives; expired sessions go with the next write to another."""

    def __init__(self, clock: Clock | None = None, *, ttl_s: float = SESSION_TTL_S) -> None:
        self._clock: Clock = clock or WallClock()
        self._ttl = timedelta(seconds=ttl_s)
        # All in the order of their end, so that what is over is found at the front.
        self._sessions: dict[str, _Session] = {}
        self._deleted: dict[str, _Deletion] = {}
        self._deleted_users: dict[str, _Deletion] = {}

    @override
    async def append(self, entry: MemoryEntry) -> Appended:
        session = self._session_for(entry)
        return self._add(session, session.messages, entry.capped()) if session else _REFUSED

    @override
    async def append_event(self, event: MemoryEvent) -> Appended:
        session = self._session_for(event)
        return self._add(session, session.events, event) if session else _REFUSED

    @override
    async def save_session(self, session_id: str, memory: Sequence[MemoryEntry]) -> None:
        kept = sorted(memory, key=lambda entry: entry.sequence or float("inf"))[-WINDOW:]
        session = self._touched(session_id)
        session.messages.clear()
        for entry in kept:
            sequence = entry.sequence or session.counter + 1
            session.counter = max(session.counter, sequence)
            if not self._is_deleted(session_id, entry):
                self._put(session, session.messages, replace(entry.capped(), sequence=sequence))

    @override
    async def load_session(self, session_id: str) -> list[MemoryEntry]:
        session = self._live(session_id)
        return list(session.messages) if session else []

    @override
    async def load_events(self, session_id: str) -> list[MemoryEvent]:
        session = self._live(session_id)
        return list(session.events) if session else []

    @override
    async def put_metadata(self, session_id: str, values: Mapping[str, str]) -> None:
        session = self._touched(session_id)
        session.metadata.update(values)
        if user_id := values.get("user_id"):
            session.users.add(user_id)

    @override
    async def metadata(self, session_id: str) -> dict[str, str]:
        session = self._live(session_id)
        return dict(session.metadata) if session else {}

    @override
    async def extend_ttl(self, session_id: str) -> None:
        if self._live(session_id):
            self._touched(session_id)

    @override
    async def delete_session(self, session_id: str) -> int:
        session = self._live(session_id) or _Session()
        self._sessions.pop(session_id, None)
        former = self._live_deletion(self._deleted, session_id)
        at = deleted_until(self._clock.now(), session.said)
        counter = session.counter
        if former is not None:
            at, counter = max(at, former.at), max(counter, former.counter)
        self._note_deletion(self._deleted, session_id, _Deletion(at, counter))
        return len(session.messages) + len(session.events)

    @override
    async def delete_all(self, user_id: str) -> int:
        theirs = [name for name, session in self._sessions.items() if user_id in session.users]
        number = sum([await self.delete_session(name) for name in theirs])
        at = max([self._deleted[name].at for name in theirs], default=self._clock.now())
        self._note_deletion(self._deleted_users, user_id, _Deletion(at))
        return number

    def _session_for(self, item: MemoryEntry | MemoryEvent) -> _Session | None:
        deleted = self._is_deleted(item.session_id, item)
        return None if deleted else self._touched(item.session_id)

    def _add(self, session: _Session, kept: list[Item], item: Item) -> Appended:
        known = session.ids.get((type(item), item.id))
        if known is not None:
            return Appended(known, new=False)
        sequence = item.sequence or session.counter + 1
        session.counter = max(session.counter, sequence)
        self._put(session, kept, replace(item, sequence=sequence))
        return Appended(sequence, new=True)

    def _put(self, session: _Session, kept: list[Item], item: Item) -> None:
        insort(kept, item, key=lambda one: one.sequence)
        del kept[:-WINDOW]
        if item.timestamp:
            session.said = max(session.said or item.timestamp, item.timestamp)
        if item.user_id:
            session.users.add(item.user_id)
        if item.id:
            session.ids[type(item), item.id] = item.sequence
        while len(session.ids) > REMEMBERED_IDS:
            del session.ids[min(session.ids, key=session.ids.__getitem__)]

    def _live(self, session_id: str) -> _Session | None:
        session = self._sessions.get(session_id)
        return None if session is None or self._is_over(session) else session

    def _touched(self, session_id: str) -> _Session:
        """The session, new if need be, with its whole life ahead."""
        self._sweep()
        session = self._sessions.pop(session_id, None)
        deletion = self._deleted.pop(session_id, None)
        if session is None:
            session = _Session(counter=deletion.counter if deletion else 0)
        session.expires_at = self._clock.now() + self._ttl
        self._sessions[session_id] = session
        if deletion is not None:
            self._deleted[session_id] = replace(deletion, expires_at=session.expires_at)
        return session

    def _is_deleted(self, session_id: str, item: MemoryEntry | MemoryEvent) -> bool:
        deletions = (
            self._live_deletion(self._deleted, session_id),
            self._live_deletion(self._deleted_users, item.user_id),
        )
        said = item.timestamp
        return any(one is not None and (said is None or said <= one.at) for one in deletions)

    def _live_deletion(self, deletions: Mapping[str, _Deletion], name: str) -> _Deletion | None:
        deletion = deletions.get(name)
        return None if deletion is None or self._is_over(deletion) else deletion

    def _note_deletion(
        self, deletions: dict[str, _Deletion], name: str, deletion: _Deletion
    ) -> None:
        self._sweep()
        deletions.pop(name, None)
        deletions[name] = replace(deletion, expires_at=self._clock.now() + self._ttl)

    def _is_over(self, kept: _Session | _Deletion) -> bool:
        return kept.expires_at is not None and kept.expires_at <= self._clock.now()

    def _sweep(self) -> None:
        self._drop_ended(self._sessions)
        self._drop_ended(self._deleted)
        self._drop_ended(self._deleted_users)

    def _drop_ended(self, kept: dict[str, Kept]) -> None:
        while kept and self._is_over(next(iter(kept.values()))):
            del kept[next(iter(kept))]
