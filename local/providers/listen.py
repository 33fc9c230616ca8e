"""Deepgram's `/v1/listen`: live recognition on a WebSocket, and of a whole file."""

from __future__ import annotations

import asyncio
import time
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
from aiohttp import web

from local.providers.audio import read_wav
from local.providers.control import Control, Endpoint, Json, Step
from local.providers.engines import Engines
from local.providers.errors import bad_request
from local.providers.listen_wire import ListenOptions, batch_results, results
from local.providers.phrases import (
    Event,
    LongSilence,
    Lull,
    Phrase,
    PhraseEnded,
    PhraseFinder,
    Resumed,
    SpeechGoesOn,
    SpeechStarted,
)
from local.providers.sockets import Peer, serve_socket

_REST_PER_WORK = 4  # an interim result may take a quarter of the time a phrase lasts


@dataclass
class Result:
    """A recognition whose outcome is to be sent."""

    phrase: Phrase
    words: asyncio.Task[str] | None
    """None: nothing was said, and nothing has to be recognised."""
    final: bool
    speech_final: bool = False
    from_finalize: bool = False
    since: float = field(default_factory=time.perf_counter)


@dataclass
class Session:
    """One live recognition. What happens is sent in the order in which it happened."""

    engines: Engines
    control: Control
    peer: Peer
    options: ListenOptions
    tasks: asyncio.TaskGroup
    request_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def __post_init__(self) -> None:
        options = self.options
        self._finder = PhraseFinder(options.rate, options.pause_ms, options.gap_ms)
        self._outbox: asyncio.Queue[Result | Json | None] = asyncio.Queue()
        self._guess: asyncio.Task[str] | None = None
        self._interim_not_before = 0.0

    async def run(self) -> None:
        """Serve until the peer leaves or is done."""
        delivery = self.tasks.create_task(self._deliver())
        async for message in self.peer.messages():
            if isinstance(message, bytes):
                for event in self._finder.feed(message):
                    self._take(event)
            elif not self._obey(message.get("type")):
                await delivery
                return

    def _obey(self, command: str | None) -> bool:
        """Whether the stream goes on after the command."""
        if command in ("Finalize", "CloseStream"):
            self._finalize()
        if command != "CloseStream":
            return True
        self._outbox.put_nowait(self._metadata())
        self._outbox.put_nowait(None)
        return False

    def _take(self, event: Event) -> None:
        match event:
            case SpeechStarted(at_s) if self.options.vad_events:
                self._send({"type": "SpeechStarted", "channel": [0, 1], "timestamp": at_s})
            case Lull(phrase):
                self._guess = self._recognise(phrase) if self.engines.can_listen else None
                if self._guess and self._shows_interims:
                    self._outbox.put_nowait(Result(phrase, self._guess, final=False))
            case Resumed():
                self._guess = None
            case SpeechGoesOn(phrase) if self._may_guess(phrase):
                self._outbox.put_nowait(Result(phrase, self._recognise(phrase), final=False))
            case PhraseEnded(phrase, by_pause):
                words, self._guess = self._guess or self._recognise(phrase), None
                speech_final = by_pause and self.options.endpointing
                self._outbox.put_nowait(
                    Result(phrase, words, final=True, speech_final=speech_final)
                )
            case LongSilence(last_speech_s):
                end = {"type": "UtteranceEnd", "channel": [0, 1], "last_word_end": last_speech_s}
                self._send(end)
            case _:
                pass  # an interim result or a speech event that nobody asked for

    @property
    def _shows_interims(self) -> bool:
        # What is really said must not show through a scripted transcript.
        return self.options.interim_results and not self.control.awaits(Endpoint.LISTEN)

    def _may_guess(self, phrase: Phrase) -> bool:
        """Interim results are a courtesy: they yield to the results others wait for."""
        return (
            self._shows_interims
            and self.engines.can_listen
            and self._outbox.empty()
            and phrase.ends_s >= self._interim_not_before
        )

    def _finalize(self) -> None:
        at_s = self._finder.heard_s
        phrase = self._finder.flush()
        words = (self._guess or self._recognise(phrase)) if phrase else None
        self._guess = None
        nothing = Phrase(np.zeros(0, np.int16), at_s, at_s)
        self._outbox.put_nowait(Result(phrase or nothing, words, final=True, from_finalize=True))

    def _recognise(self, phrase: Phrase) -> asyncio.Task[str]:
        return self.tasks.create_task(self._timed(phrase))

    async def _timed(self, phrase: Phrase) -> str:
        began = time.perf_counter()
        words = await self.engines.recognise(phrase.pcm, self.options.rate)
        took_s = time.perf_counter() - began
        self._interim_not_before = phrase.ends_s + _REST_PER_WORK * took_s
        return words

    def _send(self, body: Json) -> None:
        self._outbox.put_nowait(body)

    async def _deliver(self) -> None:
        while (item := await self._outbox.get()) is not None:
            if not isinstance(item, Result):
                await self.peer.send_json(item)
            elif item.final:
                await self._deliver_final(item)
            elif text := (await item.words if item.words else ""):
                await self._answer(item, text, None)

    async def _deliver_final(self, result: Result) -> None:
        heard, step = "", Step()
        if result.words:
            heard = await result.words
            waited_s = round(time.perf_counter() - result.since, 3)
            entry = self.control.note(Endpoint.LISTEN, heard=heard, waited_s=waited_s)
            entry["request_id"] = self.request_id
            step = await self.control.play(Endpoint.LISTEN, f"{self.options.query} {heard}")
            entry["transcript"] = heard if step.reply is None else step.reply
            entry["language"] = step.language or self.options.language
        await self._answer(result, heard if step.reply is None else step.reply, step.language)

    async def _answer(self, result: Result, text: str, language: str | None) -> None:
        body = results(self.options, result.phrase, text, language)
        body |= {
            "is_final": result.final,
            "speech_final": result.speech_final,
            "from_finalize": result.from_finalize,
            "metadata": {"request_id": self.request_id},
        }
        await self.peer.send_json(body)

    def _metadata(self) -> Json:
        return {
            "type": "Metadata",
            "request_id": self.request_id,
            "created": datetime.now(UTC).isoformat(),
            "duration": self._finder.heard_s,
            "channels": 1,
        }


@dataclass
class Listen:
    """The endpoint."""

    engines: Engines
    control: Control

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Live recognition."""
        options = ListenOptions.parse(request.query)
        self.control.note(Endpoint.LISTEN_CONNECT, query=dict(request.query))
        await self.control.play(Endpoint.LISTEN_CONNECT, request.query_string)

        async def session(peer: Peer, tasks: asyncio.TaskGroup) -> None:
            await Session(self.engines, self.control, peer, options, tasks).run()

        return await serve_socket(request, session)

    async def file(self, request: web.Request) -> web.Response:
        """Recognition of one WAV file."""
        try:
            pcm, rate = read_wav(await request.read())
        except ValueError as error:
            raise bad_request(str(error), "bad_request") from error
        options = ListenOptions.parse(request.query, rate=rate)
        heard = await self.engines.recognise(pcm, rate)
        entry = self.control.note(Endpoint.LISTEN, heard=heard)
        step = await self.control.play(Endpoint.LISTEN, f"{options.query} {heard}")
        text = heard if step.reply is None else step.reply
        entry["transcript"] = text
        phrase = Phrase(pcm, 0.0, len(pcm) / rate)
        return web.json_response(batch_results(options, phrase, text, step.language))
