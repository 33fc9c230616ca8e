"""What happened in a call, moment by moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from src.schemas.call_records import TimelineItem, TimelineKind
from src.schemas.memory import MemoryEntry, MemoryEvent
from src.services.contact_fields import call_moment, moment

Item = TypeVar("Item", bound=MemoryEntry | MemoryEvent)

_MOMENTS: Mapping[str, TimelineKind] = {
    "hangupRequestedAt": "hangup_requested",
    "callEndedAt": "ended",
}


def timeline(
    document: Mapping[str, Any], entries: Sequence[MemoryEntry], events: Sequence[MemoryEvent]
) -> tuple[TimelineItem, ...]:
    """The call's moments in order.

    Args:
        document: The call's record.
        entries: Messages of its session, which may have had other calls before and after.
        events: Events of its session.
    """
    since, until = call_moment(document), moment(document.get("callEndedAt"))
    items = [
        *_moments(document, since),
        *(_message(one, at) for one, at in _within(entries, since, until)),
        *(_event(one, at) for one, at in _within(events, since, until)),
    ]
    # Sorting is stable: at the same moment a start stays before what follows from it.
    return tuple(sorted(items, key=lambda item: item.at))


def _moments(document: Mapping[str, Any], since: datetime | None) -> Iterator[TimelineItem]:
    if since is not None:
        yield TimelineItem(at=since, kind="started")
    for name, kind in _MOMENTS.items():
        if (at := moment(document.get(name))) is not None:
            yield TimelineItem(at=at, kind=kind)
    analysis = document.get("analysis")
    if isinstance(analysis, Mapping) and (at := moment(analysis.get("analysedAt"))) is not None:
        yield TimelineItem(at=at, kind="analysed")


def _within(
    items: Sequence[Item], since: datetime | None, until: datetime | None
) -> Iterator[tuple[Item, datetime]]:
    for item in items:
        at = item.timestamp
        if at is None or (since and at < since) or (until and at > until):
            continue
        yield item, at


def _message(entry: MemoryEntry, at: datetime) -> TimelineItem:
    return TimelineItem(
        at=at,
        kind="message",
        role=entry.role,
        mode=entry.mode,
        language=entry.language,
        text=entry.content,
        latency_ms=entry.latency_ms,
        stages_ms=dict(entry.stages_ms),
        sources=tuple(dict(one) for one in entry.sources),
        degradations=entry.degradations,
    )


def _event(event: MemoryEvent, at: datetime) -> TimelineItem:
    return TimelineItem(at=at, kind="event", event=event.event_type, data=dict(event.data))
