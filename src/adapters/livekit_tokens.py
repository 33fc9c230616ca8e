"""Signs the tokens with which browsers join a room."""

from __future__ import annotations

from datetime import timedelta

from livekit import api
from typing_extensions import override

from src.adapters.livekit_dispatch import AGENT_NAME, EMPTY_ROOM_S
from src.services.call_ports import RoomPass, RoomTokens


class LiveKitTokens(RoomTokens):
    """Signing is local: no server is asked."""

    def __init__(
        self, *, server_url: str, api_key: str, api_secret: str, agent_name: str = AGENT_NAME
    ) -> None:
        """`server_url` is the address that browsers can reach."""
        self._server_url = server_url
        self._api_key = api_key
        self._api_secret = api_secret
        self._agent_name = agent_name

    @property
    @override
    def server_url(self) -> str:
        return self._server_url

    @override
    def sign(self, room_pass: RoomPass, *, ttl_s: int) -> str:
        token = (
            api.AccessToken(self._api_key, self._api_secret)
            .with_identity(room_pass.identity)
            .with_name("Visitor")
            .with_ttl(timedelta(seconds=ttl_s))
            .with_grants(_grants(room_pass))
        )
        if room_pass.job is not None:
            metadata = room_pass.job.model_dump_json(exclude_none=True)
            job = api.RoomAgentDispatch(agent_name=self._agent_name, metadata=metadata)
            token = token.with_room_config(
                api.RoomConfiguration(
                    empty_timeout=EMPTY_ROOM_S, departure_timeout=EMPTY_ROOM_S, agents=[job]
                )
            )
        return token.to_jwt()


def _grants(room_pass: RoomPass) -> api.VideoGrants:
    """The right to one room; a microphone, and no other source, only where there is to be one."""
    speaks = room_pass.microphone
    return api.VideoGrants(
        room_join=True,
        room=room_pass.room,
        can_publish=speaks,
        can_publish_sources=["microphone"] if speaks else None,
        can_publish_data=True,
        can_subscribe=True,
        can_update_own_metadata=False,
    )
