"""Everything that was said by a person, as JSON types."""

from __future__ import annotations

from typing import Any

from src.adapters.memory_rows import ENTRY_COLUMNS, EVENT_COLUMNS, entry_of, event_of
from src.adapters.postgres import Connection

# Their conversations, and in others what they said themselves.
_OF_PERSON = """$1 <> '' AND (user_id = $1 OR session_id IN (
    SELECT session_id FROM conversations WHERE user_id = $1
))
ORDER BY sequence, timestamp, id"""
_ENTRIES = f"SELECT session_id, {ENTRY_COLUMNS} FROM conversation_entries WHERE {_OF_PERSON}"  # noqa: S608
_EVENTS = f"SELECT session_id, {EVENT_COLUMNS} FROM conversation_events WHERE {_OF_PERSON}"  # noqa: S608
_CONVERSATIONS = """
SELECT session_id, owner_id, agent_id, created_at,
    CASE WHEN user_id = $1 THEN summary END AS summary
FROM conversations WHERE session_id = ANY($2) ORDER BY session_id COLLATE "C"
"""


async def export(connection: Connection, user_id: str) -> list[dict[str, Any]]:
    """The person's sessions with messages, events and summary."""
    entries: dict[str, list[dict[str, Any]]] = {}
    events: dict[str, list[dict[str, Any]]] = {}
    for row in await connection.fetch(_ENTRIES, user_id):
        entries.setdefault(row["session_id"], []).append(entry_of(row).to_dict())
    for row in await connection.fetch(_EVENTS, user_id):
        events.setdefault(row["session_id"], []).append(event_of(row).to_dict())
    rows = await connection.fetch(_CONVERSATIONS, user_id, [*entries.keys() | events.keys()])
    return [
        {
            **row,
            "created_at": row["created_at"].isoformat(),
            "entries": entries.get(row["session_id"], []),
            "events": events.get(row["session_id"], []),
        }
        for row in rows
    ]
