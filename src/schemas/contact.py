"""A contact: the record of one call, and what later calls may read of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from src.schemas.receipt import MemoryReceipt


class CallDirection(StrEnum):
    """Who started the call. Web sessions have no phone number."""

    INBOUND = "inbound"
    OUTBOUND = "outbound"
    WEB = "web"


class ContactStatus(StrEnum):
    """Where a call stands; the last eight (from `COMPLETED`) are final."""

    DIALING = "dialing"
    RINGING = "ringing"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    BUSY = "busy"
    NO_ANSWER = "no_answer"
    REJECTED = "rejected"
    INVALID_NUMBER = "invalid_number"
    UNREACHABLE = "unreachable"
    ABANDONED = "abandoned"
    FAILED = "failed"


class Turn(BaseModel):
    """One thing said or typed in a call, as it was really heard."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Literal["user", "assistant"]
    text: str
    at: AwareDatetime
    interrupted: bool = False
    """The assistant was cut short; `text` holds only what was played."""


class NewContact(BaseModel):
    """What is known of a call when it starts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    contact_uid: str
    owner_id: str
    agent_id: str
    phone: str | None
    """E.164 when it parses, else as received; None for web sessions and withheld numbers."""
    original_phone: str | None
    phone_last10: str | None
    call_direction: CallDirection
    status: ContactStatus
    dynamic_variables: dict[str, str] = Field(default_factory=dict)
    campaign_id: str | None = None
    session_id: str | None = None
    """The conversation in memory; several calls may belong to one."""
    user_id: str | None = None
    """The person's pseudonym in memory."""
    room: str | None = None
    """Where the call takes place on the media server."""
    call_started_at: AwareDatetime


class CallEnd(BaseModel):
    """What is known of a call when it is over."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: ContactStatus
    ended_at: AwareDatetime
    transcript: tuple[Turn, ...] = ()
    receipt: MemoryReceipt | None = None
    handoff_receipts: tuple[MemoryReceipt, ...] = ()
    """What each agent was told that the caller was handed to."""
    degradations: tuple[str, ...] = ()
    language: str = "en"
    """BCP 47; the language the analysis is written in."""


class PastConversation(BaseModel):
    """A finished call that has a summary, as the history lookup reads it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    contact_uid: str
    phone: str | None
    original_phone: str | None
    agent_id: str
    call_direction: str
    summary: str
    at: AwareDatetime
    """`callStartedAt`, else `createdAt`; aware, UTC."""


class RememberedVariables(BaseModel):
    """The variables of an earlier outbound call."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    contact_uid: str
    phone: str | None
    original_phone: str | None
    variables: dict[str, str]
    at: AwareDatetime


class ContactQuery(BaseModel):
    """Candidates for "the same caller": the store matches, the service decides."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    owner_id: str
    phone_last10: str
    agent_ids: frozenset[str]
    until: AwareDatetime
    """Only calls at or before this moment."""
    since: AwareDatetime | None = None
    """Only calls at or after this moment; None for no lower end."""
    exclude_contact_uid: str | None = None
    """The record of the call that is asking."""
