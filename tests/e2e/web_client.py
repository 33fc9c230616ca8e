"""A participant as a browser is one: talks, listens, types and reads, through the LiveKit SDK."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from livekit import api, rtc

from local.kit import CallKit
from src.handlers.conversation import SOURCES_TOPIC

RATE_HZ = 24_000
_FRAME = RATE_HZ // 50
_LOUD = 200.0  # RMS of a 20 ms frame that counts as sound


@dataclass
class WebClient:
    """One participant in one room."""

    room: rtc.Room
    source: rtc.AudioSource | None
    heard: list[tuple[float, np.ndarray]] = field(default_factory=list)
    lines: list[tuple[str, str]] = field(default_factory=list)
    """Final transcript segments as (who, text): `agent` or `user`."""
    sources: list[Any] = field(default_factory=list)
    """What answers were given with, as it was sent."""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @classmethod
    @asynccontextmanager
    async def join(
        cls, kit: CallKit, room: str, *, voice: bool, identity: str = "visitor"
    ) -> AsyncIterator[WebClient]:
        """Join; without `voice` no microphone is published and no audio is subscribed to."""
        settings = kit.stack.read_env()
        token = (
            api.AccessToken(settings["LIVEKIT_API_KEY"], settings["LIVEKIT_API_SECRET"])
            .with_identity(identity)
            .with_grants(api.VideoGrants(room_join=True, room=room))
            .to_jwt()
        )
        async with cls.enter(kit.stack.livekit_url, token, voice=voice) as client:
            yield client

    @classmethod
    @asynccontextmanager
    async def enter(cls, url: str, token: str, *, voice: bool = False) -> AsyncIterator[WebClient]:
        """Join with a token that was handed out."""
        client = cls(rtc.Room(), rtc.AudioSource(RATE_HZ, 1) if voice else None)
        client.room.on("track_subscribed", client._subscribed)
        client.room.register_text_stream_handler("lk.transcription", client._transcribed)
        client.room.register_text_stream_handler(SOURCES_TOPIC, client._sourced)
        await client.room.connect(url, token, rtc.RoomOptions(auto_subscribe=voice))
        try:
            if client.source is not None:
                track = rtc.LocalAudioTrack.create_audio_track("microphone", client.source)
                await client.room.local_participant.publish_track(
                    track, rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE)
                )
            yield client
        finally:
            await client.room.disconnect()
            for task in client._tasks:
                task.cancel()
            await asyncio.gather(*client._tasks, return_exceptions=True)
            if client.source is not None:
                await client.source.aclose()

    async def say(self, pcm_8k: np.ndarray) -> float:
        """Speak; returns when the last word was said."""
        if self.source is None:
            raise RuntimeError("this client has no microphone")
        at = np.arange(0, len(pcm_8k), 8000 / RATE_HZ)
        pcm = np.interp(at, np.arange(len(pcm_8k)), pcm_8k).astype(np.int16)
        quiet = np.zeros(RATE_HZ, np.int16)  # a microphone does not end with the sentence
        for start in range(0, len(pcm), _FRAME):
            await self._send(pcm[start : start + _FRAME])
        await self.source.wait_for_playout()  # capturing runs ahead of the sound
        ended_at = time.time()
        for start in range(0, len(quiet), _FRAME):
            await self._send(quiet[start : start + _FRAME])
        return ended_at

    async def _send(self, pcm: np.ndarray) -> None:
        if self.source is not None and len(pcm):
            await self.source.capture_frame(rtc.AudioFrame(pcm.tobytes(), RATE_HZ, 1, len(pcm)))

    async def type(self, text: str) -> None:
        """Send a chat message."""
        await self.room.local_participant.send_text(text, topic="lk.chat")

    async def steer(self, method: str, **payload: str) -> dict[str, str]:
        """Call one of the agent's methods; its answer.

        Raises:
            rtc.RpcError: it refused.
        """
        agent = next(
            p.identity
            for p in self.room.remote_participants.values()
            if p.kind == rtc.ParticipantKind.PARTICIPANT_KIND_AGENT
        )
        answer: dict[str, str] = json.loads(
            await self.room.local_participant.perform_rpc(
                destination_identity=agent, method=method, payload=json.dumps(payload)
            )
        )
        return answer

    async def line(self, *words: str, who: str = "agent", timeout_s: float = 15.0) -> str:
        """The first transcript line of `who` that has all the words."""
        stop_at = time.monotonic() + timeout_s
        while time.monotonic() < stop_at:
            for speaker, text in self.lines:
                if speaker == who and all(word in text.lower() for word in words):
                    return text
            await asyncio.sleep(0.03)
        raise TimeoutError(f"{who} never said {words}: {self.lines}")

    async def ask(self, question: str, *words: str, timeout_s: float = 20.0) -> str:
        """Type a question to an agent that does not speak first, once it is there; its answer."""
        stop_at = time.monotonic() + timeout_s
        while not any(
            p.attributes.get("lk.agent.state") == "listening"
            for p in self.room.remote_participants.values()
        ):
            if time.monotonic() > stop_at:
                raise TimeoutError("no agent listens")
            await asyncio.sleep(0.05)
        await self.type(question)
        return await self.line(*words)

    async def quiet(self, pause_s: float = 1.0, timeout_s: float = 20.0) -> float:
        """When the agent's last sound ended, once it has been quiet for `pause_s`."""
        stop_at = time.monotonic() + timeout_s
        while time.monotonic() < stop_at:
            loud = self.loud_at()
            if loud and time.time() - loud[-1] >= pause_s:
                return loud[-1]
            await asyncio.sleep(0.05)
        raise TimeoutError("the agent did not become quiet")

    async def sound(self, since: float, timeout_s: float = 10.0) -> float:
        """When the agent is first heard at or after `since`."""
        stop_at = time.monotonic() + timeout_s
        while time.monotonic() < stop_at:
            for at in self.loud_at():
                if at >= since:
                    return at
            await asyncio.sleep(0.02)
        raise TimeoutError("the agent was not heard")

    async def gone(self, timeout_s: float = 10.0) -> None:
        """Wait until the room was closed."""
        stop_at = time.monotonic() + timeout_s
        while self.room.isconnected():
            if time.monotonic() > stop_at:
                raise TimeoutError("the room stayed open")
            await asyncio.sleep(0.05)

    def loud_at(self) -> list[float]:
        """When loud frames arrived."""
        return [
            at for at, pcm in self.heard if float(np.sqrt(np.mean(pcm.astype(float) ** 2))) > _LOUD
        ]

    def _subscribed(self, track: rtc.Track, *_: object) -> None:
        if track.kind == rtc.TrackKind.KIND_AUDIO:
            self._spawn(self._listen(track))

    async def _listen(self, track: rtc.Track) -> None:
        stream = rtc.AudioStream(track, sample_rate=RATE_HZ, num_channels=1, frame_size_ms=20)
        try:
            async for event in stream:
                self.heard.append((time.time(), np.frombuffer(event.frame.data, np.int16).copy()))
        finally:
            await stream.aclose()

    def _transcribed(self, reader: rtc.TextStreamReader, identity: str) -> None:
        self._spawn(self._read(reader, identity))

    def _sourced(self, reader: rtc.TextStreamReader, _: str) -> None:
        self._spawn(self._note_sources(reader))

    async def _note_sources(self, reader: rtc.TextStreamReader) -> None:
        self.sources.append(json.loads(await reader.read_all()))

    async def _read(self, reader: rtc.TextStreamReader, identity: str) -> None:
        text = await reader.read_all()
        final = (reader.info.attributes or {}).get("lk.transcription_final", "true") == "true"
        if final and text.strip():
            own = identity == self.room.local_participant.identity
            self.lines.append(("user" if own else "agent", text))

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        self._tasks.add(asyncio.get_running_loop().create_task(work))
