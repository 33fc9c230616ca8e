"""Looks after the rooms of a LiveKit server."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from livekit import api
from typing_extensions import override

from src.adapters.livekit_server import LiveKitServer, delete_room, participants
from src.services.follow_up_ports import Rooms

_AT_ONCE = 8
_NAMES = 200
"""Rooms per request."""


class LiveKitRooms(Rooms):
    """A room is served while a participant of the kind `AGENT` is in it."""

    def __init__(self, server: LiveKitServer) -> None:
        self._server = server

    @override
    async def served(self, rooms: Collection[str]) -> frozenset[str]:
        names = sorted(rooms)
        there: list[str] = []
        for start in range(0, len(names), _NAMES):
            there += await self._existing(names[start : start + _NAMES])
        turn = asyncio.Semaphore(_AT_ONCE)
        answers = await asyncio.gather(*(self._has_agent(room, turn) for room in there))
        return frozenset(room for room, served in zip(there, answers, strict=True) if served)

    @override
    async def close(self, room: str) -> None:
        async with self._server.asking() as livekit:
            await delete_room(livekit, room)

    async def _existing(self, names: list[str]) -> list[str]:
        async with self._server.asking() as livekit:
            listed = await livekit.room.list_rooms(api.ListRoomsRequest(names=names))
        return [room.name for room in listed.rooms]

    async def _has_agent(self, room: str, turn: asyncio.Semaphore) -> bool:
        async with turn, self._server.asking() as livekit:
            there = await participants(livekit, room)
        return any(
            one.kind == api.ParticipantInfo.Kind.AGENT
            and one.state != api.ParticipantInfo.State.DISCONNECTED
            for one in there
        )
