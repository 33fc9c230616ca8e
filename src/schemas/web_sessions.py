"""Web sessions over the API: made once, joined after every refresh of the page."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from src.schemas.call_requests import DynamicVariables, ResourceId
from src.schemas.text import Text

SessionMode = Literal["voice", "text"]


class WebSessionRequest(BaseModel):
    """A session of a visitor with an agent."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )

    agent_id: ResourceId = Field(description="One of your agents.", examples=["reception"])
    mode: SessionMode = Field(default="voice", description="How it begins.")
    user_id: ResourceId | None = Field(
        default=None,
        description="Your own id of the visitor, by which the agent remembers them. Secret keys only.",
        examples=["customer-42"],
    )
    dynamic_variables: DynamicVariables = Field(
        default_factory=dict,
        description="Values for `{{name}}` in greeting and prompt. Secret keys only.",
    )


class WebSessionView(BaseModel):
    """A session, as its maker gets it."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)

    session_id: str
    secret: str = Field(description="Opens the session; shown this once.")
    agent_id: str
    mode: SessionMode
    expires_at: AwareDatetime


class JoinRequest(BaseModel):
    """Enter a session, for the first time or after a refresh."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )

    secret: Text | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="What the session was made with; not needed with a secret key.",
    )
    mode: SessionMode | None = Field(
        default=None, description="Default: how the session began, or what it was set to since."
    )


class WebInvitation(BaseModel):
    """What a browser needs to meet the agent: for LiveKit's client."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)

    session_id: str
    contact_uid: str = Field(alias="contactUID", description="The record of this visit.")
    server_url: str = Field(examples=["wss://media.example.com"])
    token: str = Field(description="LiveKit access token for one room.")
    token_expires_at: AwareDatetime
    room: str
    identity: str
    mode: SessionMode
