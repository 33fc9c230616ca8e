"""Sends agents into rooms of a LiveKit server."""

from __future__ import annotations

from livekit import api
from typing_extensions import override

from src.adapters.livekit_server import GONE, LiveKitServer, delete_room
from src.schemas.job_metadata import JobMetadata
from src.services.call_ports import Dispatcher

AGENT_NAME = "familiar"
"""The name that the worker registers under."""
EMPTY_ROOM_S = 60
"""How long a room waits for the other side, and how long it outlives them."""
_NOBODY_ANSWERS = (*GONE, "deadline_exceeded")
"""What a question about the jobs of a room is answered with that no node has any more."""


class LiveKitDispatcher(Dispatcher):
    """The job is part of the request that opens the room, so that a repeated one starts no second."""

    def __init__(self, server: LiveKitServer, *, agent_name: str = AGENT_NAME) -> None:
        self._server = server
        self._agent_name = agent_name

    @override
    async def dispatch(self, room: str, metadata: JobMetadata) -> None:
        job = api.RoomAgentDispatch(
            agent_name=self._agent_name, metadata=metadata.model_dump_json(exclude_none=True)
        )
        async with self._server.asking() as livekit:
            await livekit.room.create_room(
                api.CreateRoomRequest(
                    name=room,
                    empty_timeout=EMPTY_ROOM_S,
                    departure_timeout=EMPTY_ROOM_S,
                    agents=[job],
                )
            )

    @override
    async def cancel(self, room: str) -> bool:
        async with self._server.asking() as livekit:
            taken = await _is_taken(livekit, room)
            await delete_room(livekit, room)
        return taken


async def _is_taken(livekit: api.LiveKitAPI, room: str) -> bool:
    """Whether a worker has, or may have had, the job of the room."""
    # A question about the jobs of a closed room would wait for seconds for a node that has it.
    if not (await livekit.room.list_rooms(api.ListRoomsRequest(names=[room]))).rooms:
        return True
    try:
        dispatches = await livekit.agent_dispatch.list_dispatch(room)
    except api.ServerError as error:
        if error.code in _NOBODY_ANSWERS:
            return True  # closed meanwhile: by an agent, for all we know
        raise
    return not dispatches or any(one.state.jobs for one in dispatches)
