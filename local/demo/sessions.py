"""Invitations to a room: what a browser needs to meet an agent, and nothing more."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from livekit import api
from pydantic import BaseModel, ConfigDict, Field

from local.demo.agent_list import ListedAgent
from src.schemas.contact import CallDirection
from src.schemas.job_metadata import JobMetadata

DISPATCH_NAME = "familiar"
"""The name the worker registers under."""
TOKEN_TTL = timedelta(minutes=10)
EMPTY_ROOM_S = 30
"""How long a room waits for its visitor, and how long it outlives them."""


class SessionRequest(BaseModel):
    """What the page asks for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    agent_id: str = Field(min_length=1, max_length=200)
    mode: Literal["voice", "text"] = "voice"


class UnknownAgentError(LookupError):
    """The page asked for an agent that is not on the list."""


@dataclass(frozen=True, slots=True)
class Invitation:
    """What the page gets."""

    url: str
    token: str
    room: str
    identity: str


class SessionIssuer:
    """Makes invitations to rooms of their own, into which the chosen agent is dispatched."""

    def __init__(
        self,
        *,
        livekit_url: str,
        api_key: str,
        api_secret: str,
        agents: Sequence[ListedAgent],
    ) -> None:
        self._livekit_url = livekit_url
        self._api_key = api_key
        self._api_secret = api_secret
        self._agent_ids = frozenset(agent.agent_id for agent in agents)

    def invite(self, request: SessionRequest) -> Invitation:
        """A new room, and the right to join it for the next ten minutes.

        Raises:
            UnknownAgentError: the agent is not on the list.
        """
        if request.agent_id not in self._agent_ids:
            raise UnknownAgentError(request.agent_id)
        session_id = uuid.uuid4().hex
        room, identity = f"web-{session_id}", f"visitor-{session_id[:12]}"
        token = (
            api.AccessToken(self._api_key, self._api_secret)
            .with_identity(identity)
            .with_name("Visitor")
            .with_ttl(TOKEN_TTL)
            .with_grants(_grants(room, request))
            .with_room_config(_room_configuration(request, session_id))
        )
        return Invitation(self._livekit_url, token.to_jwt(), room, identity)


def _grants(room: str, request: SessionRequest) -> api.VideoGrants:
    """The right to one room; a microphone, and no other source, only where there is to be one."""
    speaks = request.mode == "voice"
    return api.VideoGrants(
        room_join=True,
        room=room,
        can_publish=speaks,
        can_publish_sources=["microphone"] if speaks else None,
        can_publish_data=True,
        can_subscribe=True,
        can_update_own_metadata=False,
    )


def _room_configuration(request: SessionRequest, session_id: str) -> api.RoomConfiguration:
    metadata = JobMetadata(
        call_type=CallDirection.WEB,
        agent_id=request.agent_id,
        contact_uid=f"web-{uuid.uuid4().hex}",
        session_id=session_id,
        mode=request.mode,
    )
    return api.RoomConfiguration(
        empty_timeout=EMPTY_ROOM_S,
        departure_timeout=EMPTY_ROOM_S,
        agents=[
            api.RoomAgentDispatch(
                agent_name=DISPATCH_NAME, metadata=metadata.model_dump_json(exclude_none=True)
            )
        ],
    )
