"""Fields of a contact document, read and written alike by stores and services.

Reading is tolerant: customers' documents are older than this code. What cannot be read counts as
absent and never fails a call.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from src.schemas.contact import ContactStatus, NewContact, Turn

FINAL_STATUSES = frozenset(
    list(ContactStatus)[list(ContactStatus).index(ContactStatus.COMPLETED) :]
)
"""A record with one of these never takes another status."""

RETENTION_CHECK = "retentionCheckAt"
"""When the retention of what a record holds of a call's words is looked at next; absent without words."""


def moment(value: object) -> datetime | None:
    """The instant a stored value names (UTC if it names no zone), or None if it names none."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:  # year 1 or 9999 with an offset
        return None


def call_moment(document: Mapping[str, Any]) -> datetime | None:
    """When the call was: `callStartedAt`, else `createdAt`."""
    return moment(document.get("callStartedAt")) or moment(document.get("createdAt"))


def variables(document: Mapping[str, Any]) -> dict[str, str]:
    """The dynamic variables as text, without blank ones and without what is no plain value."""
    stored = document.get("dynamicVariables")
    if not isinstance(stored, Mapping):
        return {}
    texts = {name: plain_text(value) for name, value in stored.items() if isinstance(name, str)}
    return {name: text for name, text in texts.items() if text.strip()}


def plain_text(value: object) -> str:
    """Text, a number or a truth value as text; blank for everything else."""
    match value:
        case str():
            return str(value)
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case float() if math.isfinite(value):
            # Numbers of JavaScript programs are stored as doubles: 3 comes back as 3.0.
            return str(int(value)) if value.is_integer() else str(value)
    return ""


def contact_uid(document: Mapping[str, Any]) -> str:
    """The record's identifier; the store's own where an old record has none."""
    return text(document.get("contactUID")) or str(document.get("_id", ""))


def text(value: object) -> str | None:
    """Text as it is, and numbers, since some imports stored phone numbers as such."""
    return plain_text(value) or None


def transcript(document: Mapping[str, Any]) -> tuple[Turn, ...]:
    """The turns that can be read, in their order."""
    stored = document.get("transcript")
    turns = [_turn(item) for item in stored] if isinstance(stored, list) else []
    return tuple(turn for turn in turns if turn is not None)


def _turn(item: object) -> Turn | None:
    try:
        return Turn.model_validate(item)
    except ValidationError:
        return None


def start_fields(contact: NewContact) -> dict[str, Any]:
    """What is known of a call when it starts, without `contactUID`, `status` and the variables."""
    return {
        "ownerId": contact.owner_id,
        "AgentID": contact.agent_id,
        "phone": contact.phone,
        "originalPhone": contact.original_phone,
        "phoneLast10": contact.phone_last10,
        "callDirection": contact.call_direction.value,
        "campaignId": contact.campaign_id,
        "callStartedAt": contact.call_started_at,
        **({"sessionId": contact.session_id} if contact.session_id else {}),
        **({"userId": contact.user_id} if contact.user_id else {}),
        **({"room": contact.room} if contact.room else {}),
    }


def stored_contact(document: Mapping[str, Any]) -> NewContact | None:
    """What `start_fields` made of a call, or None if the record is not of a call of ours."""
    try:
        return NewContact.model_validate(
            {
                "contact_uid": contact_uid(document),
                "owner_id": text(document.get("ownerId")) or "",
                "agent_id": text(document.get("AgentID")) or "",
                "phone": text(document.get("phone")),
                "original_phone": text(document.get("originalPhone")),
                "phone_last10": text(document.get("phoneLast10")),
                "call_direction": document.get("callDirection"),
                "status": document.get("status"),
                "dynamic_variables": variables(document),
                "campaign_id": text(document.get("campaignId")),
                "session_id": text(document.get("sessionId")),
                "user_id": text(document.get("userId")),
                "room": text(document.get("room")),
                "call_started_at": call_moment(document),
            }
        )
    except ValidationError:
        return None
