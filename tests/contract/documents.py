"""Contacts and queries with the parts a test does not care about filled in."""

from datetime import datetime, timedelta
from typing import Any

from src.adapters.contact_documents import Document
from src.schemas.analysis import AnalysisStatus, CallAnalysis
from src.schemas.contact import (
    CallDirection,
    CallEnd,
    ContactQuery,
    ContactStatus,
    NewContact,
    Turn,
)
from src.schemas.follow_up import FinishedAnalysis
from tests.fakes.clock import NOON

__all__ = [
    "AGENT",
    "LAST10",
    "NOON",
    "OWNER",
    "PHONE",
    "TALK",
    "ago",
    "analysed",
    "call_end",
    "new_contact",
    "past_call",
    "query",
    "turn",
]

PHONE = "+14155550123"
LAST10 = "4155550123"
OWNER = "acme"
AGENT = "reception"


def ago(**parts: float) -> datetime:
    """A moment before the fake clock's start."""
    return NOON - timedelta(**parts)


def past_call(uid: str, **fields: Any) -> Document:
    """A finished outbound call with a summary and a variable; `...` leaves a field out."""
    document = {
        "contactUID": uid,
        "ownerId": OWNER,
        "AgentID": AGENT,
        "phone": PHONE,
        "originalPhone": PHONE,
        "phoneLast10": LAST10,
        "callDirection": "outbound",
        "status": "completed",
        "dynamicVariables": {"name": "Daivik"},
        "conversation_summary": f"Summary of {uid}.",
        "callStartedAt": ago(days=1),
        "createdAt": ago(days=1),
        **fields,
    }
    return {name: value for name, value in document.items() if value is not ...}


def query(*agents: str, **fields: Any) -> ContactQuery:
    """All calls of the caller with the given agents up to now."""
    return ContactQuery.model_validate(
        {
            "owner_id": OWNER,
            "phone_last10": LAST10,
            "agent_ids": frozenset(agents or (AGENT,)),
            "until": NOON,
            **fields,
        }
    )


def new_contact(uid: str = "call-1", **fields: Any) -> NewContact:
    """An outbound call that begins now."""
    return NewContact.model_validate(
        {
            "contact_uid": uid,
            "owner_id": OWNER,
            "agent_id": AGENT,
            "phone": PHONE,
            "original_phone": PHONE,
            "phone_last10": LAST10,
            "call_direction": CallDirection.OUTBOUND,
            "status": ContactStatus.DIALING,
            "call_started_at": NOON,
            **fields,
        }
    )


def turn(role: str, text: str) -> Turn:
    """Something said at noon."""
    return Turn.model_validate({"role": role, "text": text, "at": NOON})


TALK = (turn("assistant", "Hello."), turn("user", "When do you open?"))


def call_end(status: ContactStatus = ContactStatus.COMPLETED, **fields: Any) -> CallEnd:
    """The end of a call in which the caller said something."""
    return CallEnd.model_validate(
        {"status": status, "ended_at": NOON, "transcript": TALK, **fields}
    )


def analysed(**fields: Any) -> FinishedAnalysis:
    """An analysis that succeeded now."""
    analysis = {
        "summary": "They talked.",
        "summary_en": None,
        "outcome": "resolved",
        "fields": None,
        "language": "en",
        **fields,
    }
    return FinishedAnalysis(
        status=AnalysisStatus.DONE, at=NOON, analysis=CallAnalysis.model_validate(analysis)
    )
