"""WebSockets whose tasks end with them and whose failures close them in order."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

from aiohttp import WSCloseCode, WSMsgType, web

from local.providers.control import CloseSocket, Json
from local.providers.errors import ProviderError

logger = logging.getLogger(__name__)

OPEN_SOCKETS: web.AppKey[set[web.WebSocketResponse]] = web.AppKey("open_sockets", set)


class Peer:
    """The other side; it may leave at any time, and sending to it then does nothing."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket

    async def messages(self) -> AsyncIterator[bytes | Json]:
        """Its sound and its commands, until it leaves.

        Raises:
            CloseSocket: it sent something that is neither.
        """
        async for message in self._socket:
            if message.type is WSMsgType.BINARY:
                yield message.data
            elif message.type is WSMsgType.TEXT:
                yield _command(message.data)

    async def send_json(self, body: Json) -> None:
        """Send a message."""
        await self._unless_gone(self._socket.send_json(body))

    async def send_bytes(self, data: bytes) -> None:
        """Send sound."""
        await self._unless_gone(self._socket.send_bytes(data))

    async def close(self, code: int) -> None:
        """Close the socket; a second time does nothing."""
        await self._unless_gone(self._socket.close(code=code))

    @staticmethod
    async def _unless_gone(sending: Awaitable[object]) -> None:
        try:
            await sending
        except ConnectionError:
            return


def _command(text: str) -> Json:
    try:
        command = json.loads(text)
    except ValueError:
        command = None
    if not isinstance(command, dict):
        raise CloseSocket(WSCloseCode.POLICY_VIOLATION)
    return command


Session = Callable[[Peer, asyncio.TaskGroup], Awaitable[None]]


class _SessionOver(Exception):  # noqa: N818  # ends the task group, nothing failed
    pass


async def serve_socket(request: web.Request, session: Session) -> web.WebSocketResponse:
    """Upgrade, run the session, end its tasks, and close with a code that tells how it went."""
    socket = web.WebSocketResponse(max_msg_size=8 * 2**20, timeout=2.0)
    await socket.prepare(request)
    peer, open_sockets = Peer(socket), request.app[OPEN_SOCKETS]
    open_sockets.add(socket)
    try:
        await peer.close(await _close_code(peer, session))
    finally:
        open_sockets.discard(socket)
    return socket


async def _run_to_the_end(peer: Peer, session: Session, tasks: asyncio.TaskGroup) -> None:
    await session(peer, tasks)
    raise _SessionOver  # a task group ends the tasks it still has only on an exception


async def _close_code(peer: Peer, session: Session) -> int:
    code: int = WSCloseCode.OK
    try:
        async with asyncio.TaskGroup() as tasks:
            await _run_to_the_end(peer, session, tasks)
    except* _SessionOver:
        pass
    except* CloseSocket as wanted:
        code = next(
            error.close_code for error in wanted.exceptions if isinstance(error, CloseSocket)
        )
    except* ProviderError:
        code = WSCloseCode.INTERNAL_ERROR
    except* Exception:
        logger.exception("session failed")
        code = WSCloseCode.INTERNAL_ERROR
    return code


async def close_open_sockets(app: web.Application) -> None:
    """Tell the peers that the server goes away, so that shutdown need not wait for them."""
    sockets = app[OPEN_SOCKETS]
    for socket in list(sockets):
        await socket.close(code=WSCloseCode.GOING_AWAY)
