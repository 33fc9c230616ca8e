"""What unified memory needs from its stores. Each adapter and the in-memory store implement these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from src.schemas.memory import (
    Appended,
    MemoryEntry,
    MemoryEvent,
    MemorySettings,
    PastSession,
    Redaction,
)


class SessionStore(Protocol):
    """The live session: its last `WINDOW` messages, events and metadata, for 24 hours after a write.

    A cache of the record. Every method raises `MemoryStoreError` when the store fails or does not
    answer in time; nothing else is raised.
    """

    async def append(self, entry: MemoryEntry) -> Appended:
        """Add one message atomically in O(1) and refresh every lifetime of the session.

        An entry with sequence 0 gets the next one; another keeps its own and the counter follows. The
        same id is added once. What was written before its session was deleted is not added.
        """

    async def append_event(self, event: MemoryEvent) -> Appended:
        """Add one event, as `append` does."""

    async def save_session(self, session_id: str, memory: Sequence[MemoryEntry]) -> None:
        """Replace the messages of a session, as after a loss; the counter follows the last one."""

    async def load_session(self, session_id: str) -> list[MemoryEntry]:
        """The last messages, oldest first; what cannot be read is skipped and counted."""

    async def load_events(self, session_id: str) -> list[MemoryEvent]:
        """The last `WINDOW` events, oldest first; what cannot be read is skipped and counted."""

    async def put_metadata(self, session_id: str, values: Mapping[str, str]) -> None:
        """Set fields of the session's metadata (`user_id`, `language`, `mode` …); others stay."""

    async def metadata(self, session_id: str) -> dict[str, str]:
        """The session's metadata; empty for an unknown session."""

    async def extend_ttl(self, session_id: str) -> None:
        """Let the session live for another 24 hours."""

    async def delete_session(self, session_id: str) -> int:
        """Forget a session; the number of messages and events deleted."""

    async def delete_all(self, user_id: str) -> int:
        """Forget every session of a person; the number of messages and events deleted."""


class ConversationArchive(Protocol):
    """The record of conversations, and what is kept of a person.

    Every method raises `MemoryStoreError` when the store fails or does not answer in time; nothing
    else is raised. Every write may be repeated without harm. What was said before a deletion that
    covers it is never stored again.

    A person without an id is nobody: nothing is found, chosen or deleted under it, though what was
    said is stored and ages.
    """

    async def save_conversation(
        self,
        user_id: str,
        session_id: str,
        entries: Sequence[MemoryEntry],
        events: Sequence[MemoryEvent] = (),
        *,
        owner_id: str = "",
        agent_id: str = "",
    ) -> int:
        """Store messages and events in one transaction; the number that were new.

        Entries of sequence 0 get the next ones of the session, in the order given.
        """

    async def load_conversation(
        self, session_id: str, *, limit: int | None = None
    ) -> list[MemoryEntry]:
        """The messages of a session in order; with `limit` the last ones."""

    async def load_events(self, session_id: str) -> list[MemoryEvent]:
        """The events of a session in order."""

    async def sessions_of(self, user_id: str) -> list[str]:
        """Ids of a person's sessions, newest first."""

    async def settings(self, user_id: str) -> MemorySettings:
        """What the person chose, else the defaults."""

    async def put_settings(self, user_id: str, settings: MemorySettings) -> None:
        """Store the person's choice."""

    async def preferences(self, user_id: str) -> dict[str, Any]:
        """What is remembered of the person beyond conversations, such as `language`."""

    async def put_preferences(self, user_id: str, values: Mapping[str, Any]) -> None:
        """Set preferences; others stay."""

    async def unsummarised(self, *, idle_since: datetime, limit: int) -> list[str]:
        """Sessions with messages newer than their summary, and none since `idle_since`."""

    async def put_summary(self, session_id: str, summary: str, *, through: int) -> None:
        """Store the summary of a session up to the message with that sequence.

        Unless a later one is there, or that message is not: it was deleted while it was summarised.
        """

    async def past_sessions(
        self, user_id: str, *, limit: int, exclude: str | None = None
    ) -> list[PastSession]:
        """The person's latest sessions that have a summary, newest first."""

    async def delete_session(self, session_id: str) -> Mapping[str, int]:
        """Delete one session; table name to rows deleted."""

    async def delete_today(self, user_id: str, *, since: datetime) -> Mapping[str, int]:
        """Delete what was said since the start of the person's day; table name to rows deleted.

        A summary that covers any of it goes too, and is written anew from what is left.
        """

    async def delete_all(self, user_id: str) -> Mapping[str, int]:
        """Delete everything of a person, settings and preferences too; table name to rows deleted."""

    async def export(self, user_id: str) -> dict[str, Any]:
        """Everything kept of a person, as JSON types."""

    async def purge(self, *, now: datetime) -> int:
        """Delete messages and events past their person's `retention_days`; the number of rows."""


class MemoryJournal(Protocol):
    """Entries and events on this machine's disk until the stores have them; bounded."""

    async def write(self, item: MemoryEntry | MemoryEvent) -> None:
        """Keep it, durably; the same id is kept once.

        Raises:
            MemoryStoreError: the disk refuses, or the journal is full.
        """

    async def pending(self) -> Sequence[MemoryEntry | MemoryEvent]:
        """What is kept, oldest first. What cannot be read is set aside and counted, never raised."""

    async def remove(self, items: Sequence[MemoryEntry | MemoryEvent]) -> None:
        """Forget these."""

    async def delete_sessions(self, session_ids: Sequence[str]) -> int:
        """Forget everything of these sessions; the number of items."""


class Redactor(Protocol):
    """Finds what identifies a person in what was said or typed, and masks it."""

    def redact(self, text: str, *, language: str = "en", before: Sequence[str] = ()) -> Redaction:
        """Mask `text`; `before` are the speaker's last turns, for identifiers spread over several.

        Pure and thread-safe: a second or so of speech takes some milliseconds.
        """
