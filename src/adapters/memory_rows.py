"""Entries and events as rows of the database, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TypeVar

from src.adapters.postgres import Row
from src.schemas.memory import MemoryEntry, MemoryEvent
from src.services.archive_rules import person_pseudonym

ENTRY_COLUMNS = (
    "id, sequence, user_id, timestamp, role, content, mode, language, detected_language,"
    " language_switched, retrieved_passages, sources, latency_ms, stages_ms, degradations,"
    " phi_detected, interrupted"
)
EVENT_COLUMNS = "id, sequence, user_id, timestamp, event_type, data"

Item = TypeVar("Item", MemoryEntry, MemoryEvent)


def entry_arrays(entries: Sequence[MemoryEntry]) -> list[list[object]]:
    """One array per column of `ENTRY_COLUMNS`, then the pseudonyms of the persons; ids once."""
    rows = [
        (
            *(entry.id, entry.sequence, entry.user_id, entry.timestamp),
            *(entry.role, entry.content, entry.mode, entry.language, entry.detected_language),
            *(entry.language_switched, json.dumps(entry.retrieved_passages)),
            *(json.dumps(entry.sources), entry.latency_ms, json.dumps(entry.stages_ms)),
            *(json.dumps(entry.degradations), entry.phi_detected, entry.interrupted),
            person_pseudonym(entry.user_id),
        )
        for entry in _first_of_each(entries)
    ]
    return [list(column) for column in zip(*rows, strict=True)]


def event_arrays(events: Sequence[MemoryEvent]) -> list[list[object]]:
    """One array per column of `EVENT_COLUMNS`, then the pseudonyms of the persons; ids once."""
    rows = [
        (
            *(event.id, event.sequence, event.user_id, event.timestamp),
            *(event.event_type, json.dumps(event.data), person_pseudonym(event.user_id)),
        )
        for event in _first_of_each(events)
    ]
    return [list(column) for column in zip(*rows, strict=True)]


def entry_of(row: Row) -> MemoryEntry:
    """The entry of a row with `session_id` and `ENTRY_COLUMNS`."""
    return MemoryEntry(
        **{
            **row,
            "retrieved_passages": tuple(row["retrieved_passages"]),
            "sources": tuple(json.loads(row["sources"])),
            "stages_ms": json.loads(row["stages_ms"]),
            "degradations": tuple(row["degradations"]),
        }
    )


def event_of(row: Row) -> MemoryEvent:
    """The event of a row with `session_id` and `EVENT_COLUMNS`."""
    return MemoryEvent(**{**row, "data": json.loads(row["data"])})


def _first_of_each(items: Sequence[Item]) -> Iterable[Item]:
    unique: dict[str, Item] = {}
    for item in items:
        unique.setdefault(item.id, item)
    return unique.values()
