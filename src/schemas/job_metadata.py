"""What the dispatcher tells a job: the JSON in the LiveKit dispatch."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from src.schemas.contact import CallDirection

E164 = Annotated[str, StringConstraints(pattern=r"^\+[1-9]\d{6,14}$")]


class JobMetadata(BaseModel):
    """Version 1 of the contract; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    v: Literal[1] = 1
    call_type: CallDirection
    agent_id: str | None = Field(default=None, min_length=1)
    """Required for outbound and web jobs; inbound jobs find the agent by the dialled number."""
    contact_uid: str | None = None
    phone: E164 | None = None
    agent_config: dict[str, Any] | None = None
    """The flattened agent (`AgentMeta` fields); None loads it from the store."""
    dynamic_values: dict[str, str] = Field(default_factory=dict)
    campaign_id: str | None = None
    session_id: str | None = None
    user_id: str | None = None
    mode: Literal["voice", "text"] = "voice"
