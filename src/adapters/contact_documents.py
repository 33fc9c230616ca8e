"""A contact as a document, in both directions.

Reading is tolerant: customers' documents are older than this code. What cannot be read counts as
absent and never fails a call.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from src.schemas.analysis import AnalysisStatus
from src.schemas.contact import (
    CallDirection,
    CallEnd,
    PastConversation,
    RememberedVariables,
)
from src.services.contact_fields import (
    FINAL_STATUSES,
    RETENTION_CHECK,
    call_moment,
    contact_uid,
    moment,
    plain_text,
    start_fields,
    text,
    transcript,
    variables,
)
from src.services.transcript_text import is_conversation

__all__ = [
    "FINAL_STATUSES",
    "HISTORY_FIELDS",
    "KEPT_FIELDS",
    "RETENTION_CHECK",
    "WITHDRAWN_BY",
    "Document",
    "call_moment",
    "contact_uid",
    "end_fields",
    "moment",
    "past_conversation",
    "plain",
    "plain_text",
    "remembered_variables",
    "start_fields",
    "transcript",
    "variables",
]

Document = dict[str, Any]

HISTORY_FIELDS = (
    "contactUID",
    "phone",
    "originalPhone",
    "AgentID",
    "callDirection",
    "conversation_summary",
    "dynamicVariables",
    "callStartedAt",
    "createdAt",
)
"""All that `past_conversation` and `remembered_variables` read; a document may be much larger."""


def past_conversation(document: Mapping[str, Any]) -> PastConversation | None:
    """The call as history, or None if it has no summary or no date."""
    at, summary = call_moment(document), document.get("conversation_summary")
    if at is None or not isinstance(summary, str) or not summary.strip():
        return None
    return PastConversation(
        contact_uid=contact_uid(document),
        phone=text(document.get("phone")),
        original_phone=text(document.get("originalPhone")),
        agent_id=text(document.get("AgentID")) or "",
        call_direction=text(document.get("callDirection")) or "unknown",
        summary=summary,
        at=at,
    )


def remembered_variables(document: Mapping[str, Any]) -> RememberedVariables | None:
    """What an outbound call knew of its callee, or None if the call is no source of variables."""
    at, values = call_moment(document), variables(document)
    if at is None or not values or document.get("callDirection") != CallDirection.OUTBOUND:
        return None
    return RememberedVariables(
        contact_uid=contact_uid(document),
        phone=text(document.get("phone")),
        original_phone=text(document.get("originalPhone")),
        variables=values,
        at=at,
    )


KEPT_FIELDS = frozenset({"originalPhone", "campaignId"})
"""Fields in which the record of a campaign knows better than the call."""

WITHDRAWN_BY = ("hangupRequestedAt", "callEndedAt")
"""A call whose record has one of these is not placed any more."""

_SHORTEST_RETENTION = timedelta(days=1)
"""`MemorySettings.retention_days` is a whole number from 1 on."""


def end_fields(end: CallEnd) -> Document:
    """What the close adds, without `status` and the events."""
    talked = is_conversation(end.transcript)
    receipt = end.receipt
    return {
        "transcript": [turn.model_dump() for turn in end.transcript],
        "callEndedAt": end.ended_at,
        "memoryReceipt": None if receipt is None else plain(receipt.model_dump()),
        "handoffReceipts": [plain(item.model_dump()) for item in end.handoff_receipts],
        "degradations": list(end.degradations),
        "language": end.language,
        "analysisStatus": (
            AnalysisStatus.PENDING if talked else AnalysisStatus.NO_CONVERSATION
        ).value,
        **({RETENTION_CHECK: end.ended_at + _SHORTEST_RETENTION} if end.transcript else {}),
    }


def plain(value: Any) -> Any:  # noqa: ANN401 - any tree of plain values, and the same tree back
    """The tree with enum members as text and tuples as lists, which is all that a store takes."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, str) else value
