"""Dialled numbers over the API: which agent answers which."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from src.schemas.call_requests import ResourceId
from src.schemas.text import Text


class PhoneNumberRequest(BaseModel):
    """Let an agent answer calls to a number."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )

    number: Text = Field(
        min_length=1,
        max_length=64,
        description="E.164, or national if a `defaultRegion` is set.",
        examples=["+15105550100"],
    )
    agent_id: ResourceId = Field(description="One of your agents.", examples=["reception"])
    label: Text | None = Field(default=None, max_length=200, examples=["Front desk"])


class PhoneNumberView(BaseModel):
    """A bound number."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)

    number: str = Field(description="E.164", examples=["+15105550100"])
    agent_id: str
    label: str | None = None
    created_at: AwareDatetime | None = None
    updated_at: AwareDatetime | None = None


class PhoneNumberDrift(BaseModel):
    """Where the media server differs from your bindings; binding any number again mends it."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)

    missing: tuple[str, ...] = Field(
        description="Your numbers that the media server does not know: calls to them do not arrive."
    )
    unknown_count: int = Field(
        description="Numbers that the media server knows and nobody has bound."
    )
    rule: Literal["ok", "missing", "differs", "unneeded"] = Field(
        description="The rule that sends agents to calls."
    )
