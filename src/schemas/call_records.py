"""Call records over the API.

Text fields are as they were stored: records that other programs wrote may hold other words than the
product's own.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from src.schemas.contact import CallDirection, ContactStatus
from src.schemas.instants import Instant
from src.schemas.json_values import JsonObject
from src.schemas.receipt import MemoryOutcome


class _Wire(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class CallRecordFilter(BaseModel):
    """Which calls are wanted; what is left out does not matter."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    agent_id: str | None = None
    phone: str | None = None
    """In any format."""
    direction: CallDirection | None = None
    status: ContactStatus | None = None
    campaign_id: str | None = None
    since: Instant | None = None
    """Calls that started then or later."""
    until: Instant | None = None
    """Calls that started before."""


class CallRecordSummary(_Wire):
    """A call, as lists show it."""

    contact_uid: str = Field(alias="contactUID")
    agent_id: str
    direction: str = Field(examples=["inbound"])
    status: str = Field(examples=["completed"])
    phone: str | None = Field(
        default=None, description="E.164 if it is known; none in the browser."
    )
    campaign_id: str | None = None
    session_id: str | None = Field(
        default=None, description="The conversation; several calls of a browser may belong to one."
    )
    call_started_at: AwareDatetime | None = None
    call_ended_at: AwareDatetime | None = None
    analysis_status: str | None = Field(
        default=None, examples=["done"], description="pending, done, no_conversation or failed."
    )
    conversation_summary: str | None = None


class TurnView(_Wire):
    """One thing said or typed, masked where the settings ask for it."""

    role: Literal["user", "assistant"]
    text: str
    at: AwareDatetime
    interrupted: bool = Field(description="Cut short; `text` is what was heard of it.")


class FeatureReceiptView(_Wire):
    """What one memory feature did."""

    outcome: MemoryOutcome
    contact_uids: tuple[str, ...] = Field(default=(), alias="contactUIDs")
    variables: tuple[str, ...] = Field(default=(), description="Names, never values.")
    agent_ids: tuple[str, ...] = ()
    window_start: AwareDatetime | None = None
    refused: dict[str, int] = Field(
        default_factory=dict, description="Reason to number of records."
    )
    took_ms: float = 0.0


class MemoryReceiptView(_Wire):
    """What the call was told of earlier calls, and why."""

    history: FeatureReceiptView
    variables: FeatureReceiptView


TimelineKind = Literal["started", "message", "event", "hangup_requested", "ended", "analysed"]


class TimelineItem(_Wire):
    """One moment of a call."""

    at: AwareDatetime
    kind: TimelineKind
    role: str | None = Field(default=None, description="Of a message.")
    mode: str | None = Field(default=None, description="Of a message: voice or text.")
    language: str | None = Field(default=None, description="Of a message (BCP 47).")
    text: str | None = Field(default=None, description="Of a message.")
    latency_ms: float | None = Field(
        default=None, description="Of an answer: end of the question to its first sound or word."
    )
    stages_ms: dict[str, float] = Field(default_factory=dict, description="The same by stage.")
    sources: tuple[dict[str, Any], ...] = Field(
        default=(), description="Passages that the answer was given with."
    )
    degradations: tuple[str, ...] = ()
    event: str | None = Field(default=None, examples=["language_switch"])
    data: dict[str, Any] = Field(default_factory=dict, description="Of an event.")


class CallRecordDetail(CallRecordSummary):
    """A call with everything that is kept of it."""

    dynamic_variables: dict[str, str] = Field(default_factory=dict)
    conversation_summary_en: str | None = Field(
        default=None, description="In English, where the call was in another language."
    )
    language: str | None = None
    transcript: tuple[TurnView, ...] = ()
    analysis: JsonObject | None = None
    memory_receipt: MemoryReceiptView | None = None
    handoff_receipts: tuple[MemoryReceiptView, ...] = ()
    degradations: tuple[str, ...] = Field(default=(), description="What the caller did without.")
    timeline: tuple[TimelineItem, ...] = ()
    timeline_complete: bool = Field(
        default=True,
        description="False while the record of conversations cannot be read: messages are missing.",
    )
