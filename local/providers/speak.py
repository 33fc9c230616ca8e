"""Deepgram's `/v1/speak`: speech on a WebSocket, and in one request."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from aiohttp import web

from local.providers.audio import wav_bytes
from local.providers.control import Control, Endpoint
from local.providers.engines import VOICE_RATE
from local.providers.errors import bad_request
from local.providers.sockets import Peer, serve_socket
from local.providers.voice import Voice, sentences, whole_sentences

_RATES = (8_000, 16_000, 24_000, 32_000, 48_000)
_PIECE_S = 0.25
_BAD_QUERY = "invalid_query_parameter"


@dataclass(frozen=True)
class SpeakOptions:
    """What a client asks for."""

    rate: int
    speed: float

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> SpeakOptions:
        """Read the query of a request.

        Raises:
            ProviderError: a value that cannot be served.
        """
        if query.get("encoding", "linear16") != "linear16":
            raise bad_request("only linear16 is supported", _BAD_QUERY)
        rate, speed = query.get("sample_rate", str(VOICE_RATE)), query.get("speed", "1")
        if not rate.isdigit() or int(rate) not in _RATES:
            raise bad_request(f"sample_rate cannot be {rate}", _BAD_QUERY)
        try:
            pace = float(speed)
        except ValueError:
            pace = 0.0
        if not 0.7 <= pace <= 1.5:
            raise bad_request(f"speed cannot be {speed}", _BAD_QUERY)
        return cls(int(rate), pace)


class _Mark(Enum):
    FLUSH = "flush"
    CLOSE = "close"


@dataclass
class Session:
    """One connection: text comes in, sound goes out, in order."""

    voice: Voice
    peer: Peer
    options: SpeakOptions
    tasks: asyncio.TaskGroup
    request_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def __post_init__(self) -> None:
        self._text = ""
        self._flushed = self._cleared = 0
        self._begin()

    async def run(self) -> None:
        """Serve until the peer leaves or is done."""
        await self.peer.send_json({"type": "Metadata", "request_id": self.request_id})
        async for message in self.peer.messages():
            if isinstance(message, bytes):
                continue
            match message.get("type"):
                case "Speak":
                    self._take(str(message.get("text", "")))
                case "Flush":
                    self._finish(_Mark.FLUSH)
                case "Clear":
                    await self._clear()
                case "Close":
                    self._finish(_Mark.CLOSE)
                    await self._work
                    return
                case other:
                    warning = {"type": "Warning", "warn_msg": f"unknown message type {other}"}
                    await self.peer.send_json(warning | {"warn_code": "UNKNOWN"})

    def _begin(self) -> None:
        self._queue: asyncio.Queue[str | _Mark] = asyncio.Queue()
        self._work = self.tasks.create_task(self._speak(self._queue))

    def _take(self, text: str) -> None:
        whole, self._text = whole_sentences(self._text + text)
        for sentence in whole:
            self._queue.put_nowait(sentence)

    def _finish(self, mark: _Mark) -> None:
        for sentence in sentences(self._text):
            self._queue.put_nowait(sentence)
        self._text = ""
        self._queue.put_nowait(mark)

    async def _clear(self) -> None:
        self._text = ""
        self._work.cancel()
        await asyncio.wait([self._work])
        self._begin()
        await self.peer.send_json({"type": "Cleared", "sequence_id": self._cleared})
        self._cleared += 1

    async def _speak(self, queue: asyncio.Queue[str | _Mark]) -> None:
        piece = round(self.options.rate * _PIECE_S)
        while (item := await queue.get()) is not _Mark.CLOSE:
            if item is _Mark.FLUSH:
                await self.peer.send_json({"type": "Flushed", "sequence_id": self._flushed})
                self._flushed += 1
                continue
            async for pcm in self.voice.say(item, self.options.rate, self.options.speed):
                for at in range(0, len(pcm), piece):
                    await self.peer.send_bytes(pcm[at : at + piece].tobytes())


@dataclass
class Speak:
    """The endpoint."""

    voice: Voice
    control: Control

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Speech on a socket."""
        options = SpeakOptions.parse(request.query)
        self.control.note(Endpoint.SPEAK_CONNECT, query=dict(request.query))
        await self.control.play(Endpoint.SPEAK_CONNECT, request.query_string)

        async def session(peer: Peer, tasks: asyncio.TaskGroup) -> None:
            await Session(self.voice, peer, options, tasks).run()

        return await serve_socket(request, session)

    async def whole(self, request: web.Request) -> web.Response:
        """Speech in one answer: a WAV file, or bare samples with `container=none`."""
        options = SpeakOptions.parse(request.query)
        text = _text(await request.read())
        pcm = np.concatenate(
            [
                piece
                for sentence in sentences(text)
                async for piece in self.voice.say(sentence, options.rate, options.speed)
            ]
        )
        if request.query.get("container", "wav") == "none":
            return web.Response(body=pcm.tobytes(), content_type="audio/l16")
        return web.Response(body=wav_bytes(pcm, options.rate), content_type="audio/wav")


def _text(body: bytes) -> str:
    try:
        text = json.loads(body)["text"]
    except (ValueError, KeyError, TypeError):
        text = None
    if not isinstance(text, str) or not text.strip():
        raise bad_request('the body is {"text": …} with a text to speak', "invalid_body")
    return text
