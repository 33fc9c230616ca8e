"""Placing one call over the API: what is asked for, and where the call stands."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from src.schemas.contact import ContactStatus
from src.schemas.text import Text

MAX_VARIABLES_BYTES = 16_384
"""All names and values together in UTF-8: they travel in the job's metadata, which LiveKit holds in
memory for every job."""

_Name = Annotated[Text, Field(min_length=1, max_length=100)]
_Value = Annotated[Text, Field(max_length=2000)]


def _bounded(variables: dict[str, str]) -> dict[str, str]:
    size = sum(len(name.encode()) + len(value.encode()) for name, value in variables.items())
    if size > MAX_VARIABLES_BYTES:
        raise ValueError(f"at most {MAX_VARIABLES_BYTES} bytes altogether")
    return variables


DynamicVariables = Annotated[
    dict[_Name, _Value],
    Field(
        max_length=50,
        description="Values for `{{name}}` in greeting and prompt.",
        examples=[{"name": "Daivik"}],
    ),
    AfterValidator(_bounded),
]
_STATUSES = "One of: " + ", ".join(ContactStatus) + "; older records may have others."
ResourceId = Annotated[Text, Field(min_length=1, max_length=200)]


class CallRequest(BaseModel):
    """One outbound call to place now."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )

    agent_id: ResourceId = Field(description="One of your agents.", examples=["reception"])
    phone: Text = Field(
        min_length=1,
        max_length=64,
        description="Whom to call: E.164, or national if a `defaultRegion` is set.",
        examples=["+919876543210"],
    )
    dynamic_variables: DynamicVariables = Field(default_factory=dict)
    campaign_id: ResourceId | None = Field(default=None, description="Your own reference.")


class CallView(BaseModel):
    """Where a placed call stands."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)

    contact_uid: str = Field(alias="contactUID", examples=["9f0c1d…"])
    agent_id: str
    phone: str = Field(description="E.164")
    status: str = Field(description=_STATUSES, examples=["dialing"])
    campaign_id: str | None = None
    created_at: AwareDatetime | None = None
    call_started_at: AwareDatetime | None = None
    call_ended_at: AwareDatetime | None = None
    hangup_requested_at: AwareDatetime | None = None
