"""The events of a call, as its record holds them until they were told.

A record's `outbox` holds what happened and was not yet told; its `toldEvents` the types of all that
ever got there, so that a write which is repeated after the telling does not tell again.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from src.schemas.events import Event, EventType
from src.services.contact_fields import contact_uid, moment, text

Document = dict[str, Any]

OUTBOX, TOLD = "outbox", "toldEvents"
EVENT_FIELDS = (
    *("contactUID", "ownerId", "AgentID", "callDirection", "campaignId", "status"),
    *("callStartedAt", "callEndedAt", "analysisStatus", "analysis", OUTBOX),
)
"""All that `waiting_events` reads."""


def outbox_entry(uid: str, kind: EventType, at: datetime) -> Document:
    """What the outbox holds of an event; its id is the same whenever the same thing is told."""
    return {"id": f"{uid}:{kind.value}", "type": kind.value, "at": at}


def waiting_events(document: Mapping[str, Any]) -> list[Event]:
    """The events in a record's outbox, oldest first; what cannot be read is left out."""
    stored = document.get(OUTBOX)
    found = [_event(document, one) for one in stored] if isinstance(stored, list) else []
    return sorted((one for one in found if one is not None), key=lambda one: one.at)


def _event(document: Mapping[str, Any], entry: object) -> Event | None:
    if not isinstance(entry, Mapping):
        return None
    at, known = moment(entry.get("at")), {kind.value: kind for kind in EventType}
    kind = known.get(str(entry.get("type")))
    if at is None or kind is None:
        return None
    return Event(
        id=str(entry.get("id")),
        type=kind,
        owner_id=text(document.get("ownerId")) or "",
        at=at,
        data=_common(document) | _details(document, kind),
    )


def _common(document: Mapping[str, Any]) -> Document:
    return {
        "contactUID": contact_uid(document),
        "agentId": text(document.get("AgentID")),
        "direction": text(document.get("callDirection")),
        "campaignId": text(document.get("campaignId")),
    }


def _details(document: Mapping[str, Any], kind: EventType) -> Document:
    """Only what does not change any more: an event says the same whenever it is told."""
    if kind is EventType.CALL_ENDED:
        return {
            "status": text(document.get("status")),
            "callStartedAt": _rfc3339(document.get("callStartedAt")),
            "callEndedAt": _rfc3339(document.get("callEndedAt")),
        }
    if kind is EventType.CALL_ANALYZED:
        analysis = document.get("analysis")
        known = analysis if isinstance(analysis, Mapping) else {}
        return {
            "analysisStatus": text(document.get("analysisStatus")),
            "outcome": text(known.get("outcome")),
            "optOut": known.get("optOut") is True,
        }
    return {}


def _rfc3339(stored: object) -> str | None:
    at = moment(stored)
    return None if at is None else at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
