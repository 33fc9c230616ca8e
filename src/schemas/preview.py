"""A dry run: what somebody would hear now, and why."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from src.schemas.contact import CallDirection
from src.schemas.receipt import MemoryOutcome, RefusalReason
from src.schemas.text import Text

PreviewDirection = Literal[CallDirection.INBOUND, CallDirection.OUTBOUND]
PreviewVariables = Annotated[
    dict[
        Annotated[Text, Field(min_length=1, max_length=100)],
        Annotated[Text, Field(max_length=2000)],
    ],
    Field(max_length=50),
]


class PreviewRequest(BaseModel):
    """Who calls, or is called."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    phone: str = Field(min_length=1, max_length=256)
    direction: PreviewDirection = CallDirection.INBOUND
    dynamic_variables: PreviewVariables = Field(default_factory=dict)


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class RefusedContact(_Answer):
    """A call record with the same last ten digits that is not used."""

    contact_uid: str = Field(alias="contactUID")
    reason: RefusalReason


class PreviewedFeature(_Answer):
    """What one of the two memory features did."""

    outcome: MemoryOutcome
    contact_uids: tuple[str, ...] = Field(
        default=(), alias="contactUIDs", description="The records that are used, oldest first."
    )
    refused: tuple[RefusedContact, ...] = Field(
        default=(), description="The records that were looked at and are not used."
    )
    agent_ids: tuple[str, ...] = Field(default=(), description="Whose calls were looked at.")
    took_ms: float = 0.0


class PreviewedHistory(PreviewedFeature):
    """What is told of earlier conversations."""

    window_start: AwareDatetime | None = None
    block: str = Field(default="", description="What is appended to `Context`.")


class PreviewedVariables(PreviewedFeature):
    """What earlier outbound calls fill in."""

    filled: dict[str, str] = Field(
        default_factory=dict, description="Names and values, of those that the call did not have."
    )


class Preview(_Answer):
    """What this caller would hear now. Nothing was called and nothing was written."""

    agent_id: str
    direction: PreviewDirection
    phone: str | None = Field(
        default=None, description="E.164; absent if the number cannot be read as a whole."
    )
    language: str
    greeting: str = Field(examples=["Hello Daivik, how can I help you?"])
    missing_variables: tuple[str, ...] = Field(
        default=(), description="Variables of the greeting with neither value nor default."
    )
    history: PreviewedHistory
    variables: PreviewedVariables
    degradations: tuple[str, ...] = Field(
        default=(), description="What is missing because a store was late or failed."
    )
    took_ms: float = Field(description="For the look-ups and the words, in milliseconds.")
