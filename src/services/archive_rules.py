"""What every archive of conversations does alike, whatever it is stored in."""

from __future__ import annotations

import hashlib
import math
import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from src.schemas.memory import MemoryEntry, MemoryEvent

TABLES = (
    "conversations",
    "conversation_entries",
    "conversation_events",
    "memory_settings",
    "memory_preferences",
)
"""What a deletion counts."""
BEGINNING = datetime.min.replace(tzinfo=UTC)
MAX_CLOCK_SKEW = timedelta(minutes=10)
"""By how much a writer's clock may be ahead of the one that deletes."""


def storable(text: str) -> str:
    """The text without what no database stores: NUL characters and lone surrogates."""
    return text.replace("\0", "").encode("utf-8", "ignore").decode("utf-8")


def storable_json(value: object) -> Any:  # noqa: ANN401 - a JSON type
    """The value as JSON types: storable texts, no infinite numbers, anything else as its text."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {storable(str(key)): storable_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [storable_json(one) for one in value]
    return storable(str(value))


def storable_entry(
    entry: MemoryEntry, *, session_id: str, user_id: str, now: datetime
) -> MemoryEntry:
    """The entry as it is stored: with its session, person, time (else `now`) and an id."""
    return replace(
        entry,
        content=storable(entry.content),
        language=storable(entry.language),
        detected_language=storable(entry.detected_language),
        retrieved_passages=tuple(map(storable, entry.retrieved_passages)),
        sources=tuple(storable_json(source) for source in entry.sources),
        latency_ms=storable_json(entry.latency_ms),
        stages_ms=storable_json(entry.stages_ms),
        degradations=tuple(map(storable, entry.degradations)),
        id=storable(entry.id) or uuid.uuid4().hex,
        session_id=session_id,
        user_id=storable(entry.user_id) or user_id,
        timestamp=_aware(entry.timestamp or now),
    )


def storable_event(
    event: MemoryEvent, *, session_id: str, user_id: str, now: datetime
) -> MemoryEvent:
    """The event as it is stored, as `storable_entry`."""
    return replace(
        event,
        event_type=storable(event.event_type),
        data=storable_json(event.data),
        id=storable(event.id) or uuid.uuid4().hex,
        session_id=session_id,
        user_id=storable(event.user_id) or user_id,
        timestamp=_aware(event.timestamp or now),
    )


def person_pseudonym(user_id: str) -> str:
    """How the ledger of deletions names a person."""
    return _pseudonym("person", user_id)


def session_pseudonym(session_id: str) -> str:
    """How the ledger of deletions names a session."""
    return _pseudonym("session", session_id)


def deleted_until(now: datetime, last: datetime | None) -> datetime:
    """The moment a deletion covers: its own, or that of the `last` message it deleted.

    A message is later than the deletion where the writer's clock was ahead; without its moment the
    same message, replayed, would be back. One stamped far in the future must not keep everything
    said from now on from being stored.
    """
    return now if last is None else max(now, min(last, now + MAX_CLOCK_SKEW))


def said_at(item: MemoryEntry | MemoryEvent) -> datetime:
    """When a stored item was said."""
    return item.timestamp or BEGINNING


def in_order(item: MemoryEntry | MemoryEvent) -> tuple[int, datetime, str]:
    """Sort key. A sequence is there twice if two writers gave it while the live store was away."""
    return item.sequence, said_at(item), item.id


def _pseudonym(kind: str, name: str) -> str:
    return hashlib.sha256(f"{kind}:{name}".encode()).hexdigest()


def _aware(moment: datetime) -> datetime:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
