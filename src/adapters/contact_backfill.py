"""What an older contact document lacks for the lookups to find it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from src.adapters.contact_documents import (
    RETENTION_CHECK,
    Document,
    call_moment,
    moment,
    plain_text,
)
from src.services.phone_numbers import caller_number

_DATES = ("callStartedAt", "callEndedAt", "createdAt")

BACKFILL_FIELDS: Document = {
    **dict.fromkeys(("phone", "originalPhone", "phoneLast10", "ownerId", "AgentID", *_DATES), 1),
    **dict.fromkeys(("summaryStatus", "analysisStatus", RETENTION_CHECK), 1),
    "transcript": {"$slice": 1},
}
"""All that `missing_fields` reads."""

NEEDS_BACKFILL: Document = {
    "$or": [
        {"phoneLast10": {"$exists": False}},
        {"ownerId": {"$in": [None, ""]}},
        {"summaryStatus": {"$type": "string"}, "analysisStatus": {"$exists": False}},
        {"transcript": {"$nin": [None, [], ""]}, RETENTION_CHECK: {"$exists": False}},
        *({name: {"$ne": None, "$not": {"$type": "date"}}} for name in _DATES),
    ]
}
"""Matches the documents for which `missing_fields` may have something."""


def missing_fields(document: Mapping[str, Any], owners: Mapping[str, str]) -> Document:
    """The fields to set; empty if the document has all it needs.

    Args:
        document: a contact document with at least `BACKFILL_FIELDS`.
        owners: the owner of each agent.
    """
    fields: Document = {}
    if "phoneLast10" not in document:
        phone, original = (
            plain_text(document.get("phone")),
            plain_text(document.get("originalPhone")),
        )
        fields["phoneLast10"] = caller_number(phone, original, region=None).last10
    owner = owners.get(str(document.get("AgentID")))
    if not document.get("ownerId") and owner:
        fields["ownerId"] = owner
    if "analysisStatus" not in document and isinstance(document.get("summaryStatus"), str):
        fields["analysisStatus"] = document["summaryStatus"]  # a call that waits goes on waiting
    said_at = moment(document.get("callEndedAt")) or call_moment(document)
    if document.get("transcript") and RETENTION_CHECK not in document and said_at is not None:
        fields[RETENTION_CHECK] = said_at  # at once, whatever its age
    for name in _DATES:
        value = document.get(name)
        if value is not None and not isinstance(value, datetime):
            fields[name] = moment(value)
            if fields[name] is None:
                fields[f"{name}AsReceived"] = value  # nothing of a customer's is thrown away
    return fields
