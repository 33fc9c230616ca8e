"""The record of conversations in PostgreSQL; its tables are made by `migrate`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any

from typing_extensions import override

from src.adapters.memory_rows import ENTRY_COLUMNS, EVENT_COLUMNS, entry_of, event_of
from src.adapters.postgres import DEADLINE_S, Connection, Postgres
from src.adapters.postgres_memory_deletion import (
    delete_person,
    delete_said,
    delete_session,
    purge_some,
)
from src.adapters.postgres_memory_export import export
from src.adapters.postgres_memory_save import Told, save
from src.schemas.memory import MemoryEntry, MemoryEvent, MemorySettings, PastSession
from src.services.archive_rules import (
    BEGINNING,
    TABLES,
    storable,
    storable_entry,
    storable_event,
    storable_json,
)
from src.services.memory_ports import ConversationArchive
from src.services.ports import Clock

_SETTINGS = tuple(field.name for field in fields(MemorySettings))
_PUT_SETTINGS = f"""
INSERT INTO memory_settings (user_id, {", ".join(_SETTINGS)})
VALUES ($1, {", ".join(f"${place}" for place in range(2, len(_SETTINGS) + 2))})
ON CONFLICT (user_id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _SETTINGS)}
"""  # noqa: S608 - our own names
_PUT_PREFERENCES = """
INSERT INTO memory_preferences (user_id, name, value)
SELECT $1, name, value FROM jsonb_each($2::jsonb) AS preference(name, value)
ON CONFLICT (user_id, name) DO UPDATE SET value = excluded.value
"""
_LAST_ENTRIES = f"""
SELECT session_id, {ENTRY_COLUMNS} FROM conversation_entries WHERE session_id = $1
ORDER BY sequence DESC, timestamp DESC, id DESC LIMIT $2
"""  # noqa: S608 - our own names
_EVENTS = f"""
SELECT session_id, {EVENT_COLUMNS} FROM conversation_events WHERE session_id = $1
ORDER BY sequence, timestamp, id
"""  # noqa: S608 - our own names
_SESSIONS = """
SELECT session_id FROM conversations WHERE user_id = $1 AND user_id <> ''
ORDER BY coalesce(last_message_at, created_at) DESC, session_id DESC
"""
_UNSUMMARISED = """
SELECT session_id FROM conversations
WHERE message_through > summary_through AND last_message_at < $1
ORDER BY last_message_at, session_id LIMIT $2
"""
# Not in one statement: a deletion that is under way holds the row, and whether the message is still
# there must be asked once it is done.
_LOCK = "SELECT session_id FROM conversations WHERE session_id = $1 FOR UPDATE"
_PUT_SUMMARY = """
UPDATE conversations SET summary = $2, summary_through = $3
WHERE session_id = $1 AND summary_through <= $3
AND EXISTS (SELECT FROM conversation_entries WHERE session_id = $1 AND sequence = $3)
"""
_PAST_SESSIONS = """
SELECT session_id, summary, language, last_message_at AS at FROM conversations
WHERE user_id = $1 AND user_id <> '' AND summary <> '' AND session_id IS DISTINCT FROM $3
ORDER BY last_message_at DESC, session_id DESC LIMIT $2
"""


class PostgresMemoryStore(ConversationArchive):
    """One transaction per operation, each within `deadline_s` seconds; a purge within that per batch."""

    def __init__(self, *, postgres: Postgres, clock: Clock, deadline_s: float = DEADLINE_S) -> None:
        self._postgres = postgres
        self._clock = clock
        self._deadline_s = deadline_s

    @override
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
        now = self._clock.now()
        ids = {"session_id": storable(session_id), "user_id": storable(user_id)}
        told = Told(
            **ids,
            owner_id=storable(owner_id),
            agent_id=storable(agent_id),
            entries=[storable_entry(entry, **ids, now=now) for entry in entries],
            events=[storable_event(event, **ids, now=now) for event in events],
            now=now,
        )
        if not told.entries and not told.events:
            return 0
        async with self._transaction() as connection:
            return await save(connection, told)

    @override
    async def load_conversation(
        self, session_id: str, *, limit: int | None = None
    ) -> list[MemoryEntry]:
        async with self._transaction() as connection:
            rows = await connection.fetch(_LAST_ENTRIES, storable(session_id), limit)
        return [entry_of(row) for row in reversed(rows)]

    @override
    async def load_events(self, session_id: str) -> list[MemoryEvent]:
        async with self._transaction() as connection:
            rows = await connection.fetch(_EVENTS, storable(session_id))
        return [event_of(row) for row in rows]

    @override
    async def sessions_of(self, user_id: str) -> list[str]:
        async with self._transaction() as connection:
            rows = await connection.fetch(_SESSIONS, storable(user_id))
        return [row["session_id"] for row in rows]

    @override
    async def settings(self, user_id: str) -> MemorySettings:
        async with self._transaction() as connection:
            return await _settings(connection, storable(user_id))

    @override
    async def put_settings(self, user_id: str, settings: MemorySettings) -> None:
        if user_id := storable(user_id):
            chosen = asdict(settings)
            async with self._transaction() as connection:
                await connection.execute(
                    _PUT_SETTINGS, user_id, *(chosen[name] for name in _SETTINGS)
                )

    @override
    async def preferences(self, user_id: str) -> dict[str, Any]:
        async with self._transaction() as connection:
            return await _preferences(connection, storable(user_id))

    @override
    async def put_preferences(self, user_id: str, values: Mapping[str, Any]) -> None:
        if user_id := storable(user_id):
            chosen = json.dumps(storable_json(values))
            async with self._transaction() as connection:
                await connection.execute(_PUT_PREFERENCES, user_id, chosen)

    @override
    async def unsummarised(self, *, idle_since: datetime, limit: int) -> list[str]:
        async with self._transaction() as connection:
            rows = await connection.fetch(_UNSUMMARISED, idle_since, limit)
        return [row["session_id"] for row in rows]

    @override
    async def put_summary(self, session_id: str, summary: str, *, through: int) -> None:
        session_id = storable(session_id)
        async with self._transaction() as connection:
            await connection.execute(_LOCK, session_id)
            await connection.execute(_PUT_SUMMARY, session_id, storable(summary), through)

    @override
    async def past_sessions(
        self, user_id: str, *, limit: int, exclude: str | None = None
    ) -> list[PastSession]:
        async with self._transaction() as connection:
            rows = await connection.fetch(_PAST_SESSIONS, storable(user_id), limit, exclude)
        return [PastSession(**row) for row in rows]

    @override
    async def delete_session(self, session_id: str) -> Mapping[str, int]:
        async with self._transaction() as connection:
            return await delete_session(connection, storable(session_id), now=self._clock.now())

    @override
    async def delete_today(self, user_id: str, *, since: datetime) -> Mapping[str, int]:
        return await self._delete(storable(user_id), since)

    @override
    async def delete_all(self, user_id: str) -> Mapping[str, int]:
        return await self._delete(storable(user_id), None)

    @override
    async def export(self, user_id: str) -> dict[str, Any]:
        user_id = storable(user_id)
        async with self._transaction() as connection:
            return {
                "user_id": user_id,
                "settings": asdict(await _settings(connection, user_id)),
                "preferences": await _preferences(connection, user_id),
                "sessions": await export(connection, user_id),
            }

    @override
    async def purge(self, *, now: datetime) -> int:
        gone, more = 0, True
        while more:
            async with self._transaction() as connection:
                some, more = await purge_some(connection, now=now)
            gone += some
        return gone

    async def _delete(self, user_id: str, since: datetime | None) -> dict[str, int]:
        """What was said since then; without `since` everything of the person."""
        if not user_id:
            return dict.fromkeys(TABLES, 0)
        async with self._transaction() as connection:
            counts = await delete_said(
                connection, user_id, since=since or BEGINNING, now=self._clock.now()
            )
            if since is None:
                counts |= await delete_person(connection, user_id)
        return counts

    def _transaction(self) -> AbstractAsyncContextManager[Connection]:
        return self._postgres.transaction(deadline_s=self._deadline_s)


async def _settings(connection: Connection, user_id: str) -> MemorySettings:
    names = ", ".join(_SETTINGS)
    row = await connection.fetchrow(
        f"SELECT {names} FROM memory_settings WHERE user_id = $1",  # noqa: S608 - our own names
        user_id,
    )
    return MemorySettings(**row) if row else MemorySettings()


async def _preferences(connection: Connection, user_id: str) -> dict[str, Any]:
    rows = await connection.fetch(
        "SELECT name, value FROM memory_preferences WHERE user_id = $1", user_id
    )
    return {row["name"]: json.loads(row["value"]) for row in rows}
