"""What the product tells others of: calls, campaigns, deletions."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field


class EventType(StrEnum):
    """What happened."""

    CALL_STARTED = "call.started"
    CALL_ANSWERED = "call.answered"
    CALL_ENDED = "call.ended"
    CALL_ANALYZED = "call.analyzed"
    CAMPAIGN_FINISHED = "campaign.finished"
    MEMORY_DELETED = "memory.deleted"


class Event(BaseModel):
    """One thing that happened; holds ids, states and times, and nothing personal.

    A copy at a receiver, or one that waits for it, is beyond the reach of a deletion.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """Unique; the same event has the same id however often it is told."""
    type: EventType
    owner_id: str
    at: AwareDatetime
    data: dict[str, Any] = Field(default_factory=dict)
    """JSON values."""
