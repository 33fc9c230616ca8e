"""Sentences kept as sound on this machine's disk, for when the voice itself fails."""

from __future__ import annotations

import asyncio
import hashlib
import os
import wave
from collections.abc import AsyncIterator
from pathlib import Path

from livekit import rtc
from livekit.agents import APIError, tts, utils

from src.logs import get_logger

logger = get_logger(__name__)

_FRAME_S = 0.02


class SpareSpeech:
    """One WAV file per sentence and voice; each is spoken once and then kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def keep(self, voice: tts.TTS, *, name: str, sentence: str) -> None:
        """Have the sentence ready in this voice; a failure is logged.

        Args:
            voice: What speaks it now.
            name: Of the voice, as files are told apart by it.
            sentence: The words of the product or of an agent, never a caller's.
        """
        path = self._path(name, sentence)
        if await asyncio.to_thread(path.exists):
            return
        try:
            async with voice.synthesize(sentence) as stream:
                frames = [event.frame async for event in stream]
        except APIError as error:
            logger.warning("spare speech not made", extra={"error": type(error).__name__})
            return
        try:
            if frames:
                await asyncio.to_thread(_write, path, rtc.combine_audio_frames(frames))
        except OSError as error:
            logger.warning("spare speech not kept", extra={"error": type(error).__name__})

    async def frames(self, *, name: str, sentence: str) -> AsyncIterator[rtc.AudioFrame] | None:
        """The sentence as sound, or None if it was never kept."""
        path = self._path(name, sentence)
        if not await asyncio.to_thread(path.exists):
            return None
        return _played(await asyncio.to_thread(_read, path))

    def _path(self, name: str, sentence: str) -> Path:
        digest = hashlib.sha256(f"{name}\0{sentence}".encode()).hexdigest()
        return self._folder / f"{digest}.wav"


async def _played(sound: rtc.AudioFrame) -> AsyncIterator[rtc.AudioFrame]:
    cutter = utils.audio.AudioByteStream(
        sound.sample_rate, sound.num_channels, round(sound.sample_rate * _FRAME_S)
    )
    for frame in (*cutter.write(sound.data.tobytes()), *cutter.flush()):
        yield frame


def _write(path: Path, sound: rtc.AudioFrame) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    with wave.open(str(part), "wb") as out:
        out.setnchannels(sound.num_channels)
        out.setsampwidth(2)
        out.setframerate(sound.sample_rate)
        out.writeframes(sound.data.tobytes())
    part.replace(path)


def _read(path: Path) -> rtc.AudioFrame:
    with wave.open(str(path), "rb") as source:
        data = source.readframes(source.getnframes())
        return rtc.AudioFrame(
            data, source.getframerate(), source.getnchannels(), source.getnframes()
        )
