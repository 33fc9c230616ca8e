"""What the speech tests share."""

from __future__ import annotations

import re

import numpy as np
from livekit import rtc
from livekit.agents import APIConnectOptions, stt
from livekit.plugins import deepgram

from local.providers.audio import Pcm, resample

RATE = 16_000
VOICE_RATE = 24_000
ONCE = APIConnectOptions(max_retry=0, timeout=5)
TWICE = APIConnectOptions(max_retry=1, retry_interval=0.01, timeout=5)


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


def share_heard(said: str, heard: str) -> float:
    return len(words(said) & words(heard)) / len(words(said))


def between_silence(pcm: Pcm, *, after_s: float = 1.0) -> Pcm:
    """Speech of the voice as a stream would carry it: at `RATE`, with silence around it."""
    speech = resample(pcm, VOICE_RATE, RATE)
    silence = np.zeros(RATE // 2, np.int16)
    return np.concatenate([silence, speech, np.zeros(round(RATE * after_s), np.int16)])


def push(stream: deepgram.stt.SpeechStream, pcm: Pcm) -> None:
    for at in range(0, len(pcm), RATE // 50):
        piece = pcm[at : at + RATE // 50]
        stream.push_frame(rtc.AudioFrame(piece.tobytes(), RATE, 1, len(piece)))


async def heard_by(stream: deepgram.stt.SpeechStream, pcm: Pcm) -> list[stt.SpeechEvent]:
    """What a stream says of one phrase, but not what it cost."""
    push(stream, pcm)
    events: list[stt.SpeechEvent] = []
    async for event in stream:
        if event.type is not stt.SpeechEventType.RECOGNITION_USAGE:
            events.append(event)
        if event.type is stt.SpeechEventType.END_OF_SPEECH:
            break  # the plugin takes up to five seconds to end a stream by itself
    await stream.aclose()
    return events


def texts(events: list[stt.SpeechEvent], kind: stt.SpeechEventType) -> list[str]:
    return [event.alternatives[0].text for event in events if event.type is kind]
