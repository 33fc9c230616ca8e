"""Puts messages and events into the database, each once and in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from src.adapters.memory_rows import ENTRY_COLUMNS, EVENT_COLUMNS, entry_arrays, event_arrays
from src.adapters.postgres import Connection, Row
from src.schemas.memory import MemoryEntry, MemoryEvent
from src.services.archive_rules import person_pseudonym, session_pseudonym

# Deletion takes the same locks, so that what it must not miss is either there before it looks, or
# looks into the ledger after it. The person comes first, then the session, then rows.
LOCK_PERSON_SHARED = "SELECT pg_advisory_xact_lock_shared(hashtextextended('person:' || $1, 0))"
LOCK_PERSON = "SELECT pg_advisory_xact_lock(hashtextextended('person:' || $1, 0))"
LOCK_SESSION = "SELECT pg_advisory_xact_lock(hashtextextended('session:' || $1, 0))"

_OPEN = """
INSERT INTO conversations AS c (session_id, user_id, owner_id, agent_id, created_at)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (session_id) DO UPDATE SET
    user_id = coalesce(nullif(c.user_id, ''), excluded.user_id),
    owner_id = coalesce(nullif(c.owner_id, ''), excluded.owner_id),
    agent_id = coalesce(nullif(c.agent_id, ''), excluded.agent_id)
RETURNING user_id, last_sequence
"""
# $1 session, $2 the last sequence given so far, $3 pseudonyms of the session and its person.
_SEQUENCE = """CASE WHEN x.sequence > 0 THEN x.sequence
    ELSE $2::bigint + row_number() OVER (PARTITION BY x.sequence > 0 ORDER BY x.place) END"""
_NEW = """NOT EXISTS (SELECT FROM {table} o WHERE o.session_id = $1 AND o.id = x.id)
AND NOT EXISTS (
    SELECT FROM memory_deletions d
    WHERE d.pseudonym = ANY($3::text[] || x.pseudonym) AND x.timestamp BETWEEN d.since AND d.until
)
ON CONFLICT DO NOTHING"""
_TEXTS = "ARRAY(SELECT t FROM jsonb_array_elements_text(x.{column}) WITH ORDINALITY AS a(t, n) ORDER BY n)"
_ADD_ENTRIES = f"""
INSERT INTO conversation_entries (session_id, {ENTRY_COLUMNS})
SELECT $1, x.id, {_SEQUENCE}, x.user_id, x.timestamp, x.role, x.content, x.mode, x.language,
    x.detected_language, x.language_switched, {_TEXTS.format(column="retrieved_passages")},
    x.sources, x.latency_ms, x.stages_ms, {_TEXTS.format(column="degradations")},
    x.phi_detected, x.interrupted
FROM unnest($4::text[], $5::bigint[], $6::text[], $7::timestamptz[], $8::text[], $9::text[],
    $10::text[], $11::text[], $12::text[], $13::bool[], $14::jsonb[], $15::jsonb[], $16::float8[],
    $17::jsonb[], $18::jsonb[], $19::bool[], $20::bool[], $21::text[])
    WITH ORDINALITY AS x({ENTRY_COLUMNS}, pseudonym, place)
WHERE {_NEW.format(table="conversation_entries")}
RETURNING sequence, timestamp, language
"""  # noqa: S608 - our own names
_ADD_EVENTS = f"""
INSERT INTO conversation_events (session_id, {EVENT_COLUMNS})
SELECT $1, x.id, {_SEQUENCE}, x.user_id, x.timestamp, x.event_type, x.data
FROM unnest($4::text[], $5::bigint[], $6::text[], $7::timestamptz[], $8::text[], $9::jsonb[],
    $10::text[]) WITH ORDINALITY AS x({EVENT_COLUMNS}, pseudonym, place)
WHERE {_NEW.format(table="conversation_events")}
RETURNING sequence, timestamp
"""  # noqa: S608 - our own names
_ADVANCE = """
UPDATE conversations SET
    last_sequence = greatest(last_sequence, $2),
    language = CASE WHEN $3 >= message_through THEN $4 ELSE language END,
    message_through = greatest(message_through, $3),
    last_message_at = greatest(last_message_at, $5::timestamptz),
    oldest_at = least(oldest_at, $6::timestamptz)
WHERE session_id = $1
"""
_CLOSE_EMPTY = """
DELETE FROM conversations WHERE session_id = $1
AND NOT EXISTS (SELECT FROM conversation_entries WHERE session_id = $1)
AND NOT EXISTS (SELECT FROM conversation_events WHERE session_id = $1)
"""


@dataclass(frozen=True, kw_only=True)
class Told:
    """What one save brings; entries and events as `archive_rules` makes them storable."""

    session_id: str
    user_id: str
    owner_id: str
    agent_id: str
    entries: Sequence[MemoryEntry]
    events: Sequence[MemoryEvent]
    now: datetime


async def save(connection: Connection, told: Told) -> int:
    """Store what is new and was not deleted; the number of messages and events that were."""
    await connection.execute(LOCK_PERSON_SHARED, told.user_id)
    await connection.execute(LOCK_SESSION, told.session_id)
    ids = (told.session_id, told.user_id, told.owner_id, told.agent_id)
    opened = await connection.fetchrow(_OPEN, *ids, told.now)
    assert opened is not None  # noqa: S101 - the statement returns its row in any case
    names = [session_pseudonym(told.session_id), person_pseudonym(opened["user_id"])]
    last = max([opened["last_sequence"], *(one.sequence for one in told.entries)])
    entries: list[Row] = []
    events: list[Row] = []
    if told.entries:
        arrays = entry_arrays(told.entries)
        entries = await connection.fetch(_ADD_ENTRIES, told.session_id, last, names, *arrays)
        last = max([last, *(row["sequence"] for row in entries)])
    if told.events:
        last = max([last, *(one.sequence for one in told.events)])
        arrays = event_arrays(told.events)
        events = await connection.fetch(_ADD_EVENTS, told.session_id, last, names, *arrays)
        last = max([last, *(row["sequence"] for row in events)])
    if entries or events:
        await _advance(connection, told.session_id, last, entries, events)
    else:
        await connection.execute(_CLOSE_EMPTY, told.session_id)
    return len(entries) + len(events)


async def _advance(
    connection: Connection,
    session_id: str,
    last: int,
    entries: Sequence[Row],
    events: Sequence[Row],
) -> None:
    newest = max(entries, key=lambda row: (row["sequence"], row["timestamp"]), default=None)
    through, language = (newest["sequence"], newest["language"]) if newest else (0, "")
    said_at = max((row["timestamp"] for row in entries), default=None)
    oldest = min(row["timestamp"] for row in (*entries, *events))
    await connection.execute(_ADVANCE, session_id, last, through, language, said_at, oldest)
