"""Takes messages and events out of the database, and remembers that it did."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from src.adapters.postgres import Connection, Row
from src.adapters.postgres_memory_save import LOCK_PERSON, LOCK_SESSION
from src.schemas.memory import MemorySettings
from src.services.archive_rules import (
    BEGINNING,
    TABLES,
    deleted_until,
    person_pseudonym,
    session_pseudonym,
)

PURGED_SESSIONS = 200
"""In one transaction of a purge."""

# Rows of conversations are locked before anything below them is looked at: a save that is under way
# holds the same lock, and what it stores is seen by the statements that follow.
_SESSIONS_OF = """
SELECT session_id, user_id = $1 AS own FROM conversations
WHERE user_id = $1
OR session_id IN (SELECT session_id FROM conversation_entries WHERE user_id = $1)
OR session_id IN (SELECT session_id FROM conversation_events WHERE user_id = $1)
ORDER BY session_id FOR UPDATE
"""
_SESSION = "SELECT session_id FROM conversations WHERE session_id = $1 FOR UPDATE"
# $1 sessions, $2 those of the person, $3 the person, $4 since when.
_DELETE_SAID = """
WITH gone AS (
    DELETE FROM {table} WHERE session_id = ANY($1) AND timestamp >= $4
    AND (session_id = ANY($2) OR user_id = $3)
    RETURNING session_id, sequence, timestamp
)
SELECT session_id, count(*) AS rows, min(sequence) AS first, max(timestamp) AS last
FROM gone GROUP BY session_id
"""
_REMEMBER = """
INSERT INTO memory_deletions (pseudonym, since, until)
SELECT name, $2, $3 FROM unnest($1::text[]) AS name
ON CONFLICT (pseudonym, since) DO UPDATE SET until = greatest(memory_deletions.until, excluded.until)
"""
_DROP_SUMMARIES = """
UPDATE conversations c SET summary = NULL, summary_through = 0
FROM unnest($1::text[], $2::bigint[]) AS gone(session_id, first)
WHERE c.session_id = gone.session_id AND c.summary_through >= gone.first
"""
_DROP_ORPHANED_SUMMARIES = """
UPDATE conversations c SET summary = NULL, summary_through = 0
WHERE session_id = ANY($1) AND NOT EXISTS (
    SELECT FROM conversation_entries e
    WHERE e.session_id = c.session_id AND e.sequence <= c.summary_through
)
"""
_RECOUNT = """
UPDATE conversations c SET
    message_through = coalesce(said.through, 0),
    last_message_at = said.last,
    oldest_at = least(said.first, happened.first),
    language = coalesce(said.language, '')
FROM unnest($1::text[]) AS touched(session_id) CROSS JOIN LATERAL (
    SELECT max(e.sequence) AS through, min(e.timestamp) AS first, max(e.timestamp) AS last,
        (array_agg(e.language ORDER BY e.sequence DESC, e.timestamp DESC, e.id DESC))[1] AS language
    FROM conversation_entries e WHERE e.session_id = touched.session_id
) AS said CROSS JOIN LATERAL (
    SELECT min(e.timestamp) AS first
    FROM conversation_events e WHERE e.session_id = touched.session_id
) AS happened
WHERE c.session_id = touched.session_id
"""
_DELETE_EMPTY = """
DELETE FROM conversations c WHERE session_id = ANY($1)
AND NOT EXISTS (SELECT FROM conversation_entries e WHERE e.session_id = c.session_id)
AND NOT EXISTS (SELECT FROM conversation_events e WHERE e.session_id = c.session_id)
"""
_OVERDUE = """
SELECT c.session_id, kept.since FROM conversations c
LEFT JOIN memory_settings s ON s.user_id = c.user_id
CROSS JOIN LATERAL (
    SELECT $1::timestamptz - make_interval(days => coalesce(s.retention_days, $2)) AS since
) AS kept
WHERE c.oldest_at < kept.since
ORDER BY c.oldest_at LIMIT $3 FOR UPDATE OF c SKIP LOCKED
"""
_DELETE_OVERDUE = """
DELETE FROM {table} e USING unnest($1::text[], $2::timestamptz[]) AS kept(session_id, since)
WHERE e.session_id = kept.session_id AND e.timestamp < kept.since
"""


async def delete_said(
    connection: Connection, user_id: str, *, since: datetime, now: datetime
) -> dict[str, int]:
    """Delete what a person said from `since` on; table name to rows deleted."""
    counts = dict.fromkeys(TABLES, 0)
    await connection.execute(LOCK_PERSON, user_id)
    found = await connection.fetch(_SESSIONS_OF, user_id)
    sessions = [row["session_id"] for row in found]
    own = [row["session_id"] for row in found if row["own"]]
    gone: list[Row] = []
    for table in ("conversation_entries", "conversation_events"):
        rows = await connection.fetch(
            _DELETE_SAID.format(table=table), sessions, own, user_id, since
        )
        counts[table] = sum(row["rows"] for row in rows)
        if table == "conversation_entries":
            first = [row["first"] for row in rows]
            await connection.execute(_DROP_SUMMARIES, [row["session_id"] for row in rows], first)
        gone += rows
    names = [person_pseudonym(user_id), *map(session_pseudonym, own)]
    await _remember(connection, names, since=since, now=now, gone=gone)
    touched = sorted({row["session_id"] for row in gone})
    counts["conversations"] = await _settle(connection, touched)
    return counts


async def delete_session(
    connection: Connection, session_id: str, *, now: datetime
) -> dict[str, int]:
    """Delete a session; table name to rows deleted."""
    counts = dict.fromkeys(TABLES, 0)
    await connection.execute(LOCK_SESSION, session_id)
    await connection.execute(_SESSION, session_id)
    gone: list[Row] = []
    for table in ("conversation_entries", "conversation_events"):
        one = [session_id]
        rows = await connection.fetch(_DELETE_SAID.format(table=table), one, one, "", BEGINNING)
        counts[table] = sum(row["rows"] for row in rows)
        gone += rows
    await _remember(
        connection, [session_pseudonym(session_id)], since=BEGINNING, now=now, gone=gone
    )
    done = await connection.execute("DELETE FROM conversations WHERE session_id = $1", session_id)
    counts["conversations"] = rows_of(done)
    return counts


async def delete_person(connection: Connection, user_id: str) -> dict[str, int]:
    """Delete what is kept of a person beyond conversations; table name to rows deleted."""
    settings = await connection.execute("DELETE FROM memory_settings WHERE user_id = $1", user_id)
    preferences = await connection.execute(
        "DELETE FROM memory_preferences WHERE user_id = $1", user_id
    )
    return {"memory_settings": rows_of(settings), "memory_preferences": rows_of(preferences)}


async def purge_some(connection: Connection, *, now: datetime) -> tuple[int, bool]:
    """Purge up to `PURGED_SESSIONS`; the number of messages and events, and whether more may wait."""
    default_days = MemorySettings().retention_days
    found = await connection.fetch(_OVERDUE, now, default_days, PURGED_SESSIONS)
    if not found:
        return 0, False
    sessions, kept_since = [row["session_id"] for row in found], [row["since"] for row in found]
    gone = 0
    for table in ("conversation_entries", "conversation_events"):
        done = await connection.execute(_DELETE_OVERDUE.format(table=table), sessions, kept_since)
        gone += rows_of(done)
    await connection.execute(_DROP_ORPHANED_SUMMARIES, sessions)
    await _settle(connection, sessions)
    return gone, len(sessions) == PURGED_SESSIONS


def rows_of(tag: str) -> int:
    """The number of rows in a command's tag, such as `DELETE 3`."""
    return int(tag.rpartition(" ")[2])


async def _settle(connection: Connection, sessions: Sequence[str]) -> int:
    """Bring conversations up to date with what is left; the number of those that were empty."""
    await connection.execute(_RECOUNT, sessions)
    return rows_of(await connection.execute(_DELETE_EMPTY, sessions))


async def _remember(
    connection: Connection,
    names: Sequence[str],
    *,
    since: datetime,
    now: datetime,
    gone: Sequence[Row],
) -> None:
    until = deleted_until(now, max((row["last"] for row in gone), default=None))
    await connection.execute(_REMEMBER, names, since, until)
