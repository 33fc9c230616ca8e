"""The client of one LiveKit server, with bounded waits, and the translation of its errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from livekit import api

from src.schemas.errors import MediaServerError

_REQUEST_S = 5.0
"""What a claim by another node of a LiveKit cluster may take, with room to spare."""
_NOT_FOUND = "not_found"
GONE = (_NOT_FOUND, "unavailable")
"""What a question about a room is answered with that no node has any more."""


async def delete_room(livekit: api.LiveKitAPI, room: str) -> None:
    """Send everybody out of a room; nothing to do where it is gone, perhaps since it was listed.

    Raises:
        ServerError: the server refused.
    """
    try:
        await livekit.room.delete_room(api.DeleteRoomRequest(room=room))
    except api.ServerError as error:
        if error.code != _NOT_FOUND:
            raise


async def participants(livekit: api.LiveKitAPI, room: str) -> list[api.ParticipantInfo]:
    """Who is in a room; nobody where it is gone, perhaps since it was listed.

    Raises:
        ServerError: the server refused.
    """
    try:
        listed = await livekit.room.list_participants(api.ListParticipantsRequest(room=room))
    except api.ServerError as error:
        if error.code not in GONE:
            raise
        return []
    return list(listed.participants)


class LiveKitServer:
    """Constructing it does no I/O and needs no event loop; the first request connects."""

    def __init__(
        self, *, url: str, api_key: str, api_secret: str, request_s: float = _REQUEST_S
    ) -> None:
        """`url` is where the API is reached: `http(s)://` or `ws(s)://`."""
        self.url = url
        self.api_key = api_key
        self.api_secret = api_secret
        self._request_s = request_s
        self._client: api.LiveKitAPI | None = None

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[api.LiveKitAPI]:
        """The client, for requests that together take `request_s` at most.

        Raises:
            MediaServerError: the server refused, is away, or did not answer in time. Its own sentence
                may quote a phone number and is not repeated.
        """
        try:
            async with asyncio.timeout(self._request_s):
                yield self._connected()
        except api.ServerError as error:
            raise MediaServerError(f"media server: {error.code}") from error
        except (TimeoutError, aiohttp.ClientError) as error:
            raise MediaServerError(f"media server: {type(error).__name__}") from error

    async def ping(self) -> None:
        """Return once the server answers.

        Raises:
            MediaServerError: it does not.
        """
        async with self.asking() as livekit:
            await livekit.room.list_rooms(api.ListRoomsRequest(names=["-"]))

    async def aclose(self) -> None:
        """Close every connection."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    def _connected(self) -> api.LiveKitAPI:
        if self._client is None:
            try:
                self._client = api.LiveKitAPI(self.url, self.api_key, self.api_secret)
            except ValueError as error:
                raise MediaServerError("media server: no key is configured") from error
        return self._client
