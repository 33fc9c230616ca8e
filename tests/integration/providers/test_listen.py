"""Recognition through livekit's Deepgram plugin, and on the bare wire."""

from __future__ import annotations

import json
import logging
from typing import Any

import aiohttp
import numpy as np
import pytest
from livekit import rtc
from livekit.agents import APIStatusError, stt
from livekit.plugins import deepgram

from local.providers.audio import wav_bytes
from local.providers.client import ProvidersClient, Step
from local.providers.engines import Engines
from tests.integration.providers.speech import (
    ONCE,
    RATE,
    TWICE,
    between_silence,
    heard_by,
    share_heard,
    texts,
)

pytestmark = pytest.mark.integration

SENTENCE = "My thermostat in the nursery has stopped working."
FINAL = stt.SpeechEventType.FINAL_TRANSCRIPT


def listener(url: str, http: aiohttp.ClientSession, **options: Any) -> deepgram.STT:
    options = {"api_key": "local"} | options
    return deepgram.STT(base_url=f"{url}/v1/listen", http_session=http, **options)


async def test_speech_is_recognised_with_interim_and_final_results(
    url: str, http: aiohttp.ClientSession, providers: ProvidersClient
) -> None:
    sound = between_silence(await providers.speak(SENTENCE))
    events = await heard_by(listener(url, http).stream(), sound)
    kinds = [event.type for event in events]
    assert kinds[0] is stt.SpeechEventType.START_OF_SPEECH
    assert kinds[-1] is stt.SpeechEventType.END_OF_SPEECH
    assert kinds.index(stt.SpeechEventType.INTERIM_TRANSCRIPT) < kinds.index(FINAL)
    assert share_heard(SENTENCE, " ".join(texts(events, FINAL))) >= 0.8


async def test_a_file_is_recognised(
    url: str, http: aiohttp.ClientSession, providers: ProvidersClient
) -> None:
    pcm = between_silence(await providers.speak(SENTENCE))
    frame = rtc.AudioFrame(pcm.tobytes(), RATE, 1, len(pcm))
    event = await listener(url, http).recognize(frame)
    assert share_heard(SENTENCE, event.alternatives[0].text) >= 0.8


async def test_a_scripted_transcript_comes_with_its_language(
    url: str, http: aiohttp.ClientSession, providers: ProvidersClient
) -> None:
    await providers.script("listen", Step(reply="मेरा रिफंड कहाँ है?", language="hi"))
    sound = between_silence(await providers.speak(SENTENCE))
    events = await heard_by(listener(url, http, language="multi").stream(), sound)
    assert texts(events, FINAL) == ["मेरा रिफंड कहाँ है?"]
    assert texts(events, stt.SpeechEventType.INTERIM_TRANSCRIPT) == []
    [final] = [event for event in events if event.type is FINAL]
    assert final.alternatives[0].language == "hi"


async def test_a_script_for_one_caller_waits_for_that_caller(
    url: str, http: aiohttp.ClientSession, providers: ProvidersClient
) -> None:
    await providers.script("listen", Step(reply="Scripted.", match="thermostat"))
    for sentence, expected in (("What are your opening hours?", False), (SENTENCE, True)):
        sound = between_silence(await providers.speak(sentence))
        events = await heard_by(listener(url, http).stream(), sound)
        assert (texts(events, FINAL) == ["Scripted."]) is expected


@pytest.mark.parametrize(("key", "status"), [("bad", 401), ("local", 503)])
async def test_a_refused_connection_reaches_the_plugin_as_a_status(
    url: str, http: aiohttp.ClientSession, providers: ProvidersClient, key: str, status: int
) -> None:
    await providers.script("listen_connect", Step(status=503))
    stream = listener(url, http, api_key=key).stream(conn_options=ONCE)
    with pytest.raises(APIStatusError) as raised:
        await heard_by(stream, np.zeros(RATE, np.int16))
    await stream.aclose()
    assert raised.value.status_code == status


async def test_the_plugin_connects_again_after_a_failure(
    url: str, http: aiohttp.ClientSession, providers: ProvidersClient
) -> None:
    await providers.script("listen_connect", Step(status=503))
    sound = between_silence(await providers.speak(SENTENCE))
    events = await heard_by(listener(url, http).stream(conn_options=TWICE), sound)
    assert share_heard(SENTENCE, " ".join(texts(events, FINAL))) >= 0.8
    assert len(await providers.log("listen_connect")) == 2


class Wire:
    """A bare client of `/v1/listen`."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def command(self, kind: str) -> None:
        await self.socket.send_json({"type": kind})

    async def until(self, kind: str) -> list[dict[str, Any]]:
        """The messages up to the first of a kind."""
        found: list[dict[str, Any]] = []
        while not found or found[-1]["type"] != kind:
            found.append(await self.socket.receive_json(timeout=10))
        return found

    async def close_code(self) -> int | None:
        async for _ in self.socket:
            pass
        return self.socket.close_code


@pytest.fixture
async def wire(url: str, http: aiohttp.ClientSession) -> Any:
    query = "sample_rate=16000&encoding=linear16&interim_results=false&vad_events=true"
    address = f"{url}/v1/listen?{query}&utterance_end_ms=1000&punctuate=true&endpointing=25"
    async with http.ws_connect(address) as socket:
        yield Wire(socket)


async def test_a_silence_after_speech_ends_the_utterance(
    wire: Wire, providers: ProvidersClient
) -> None:
    sound = between_silence(await providers.speak("What are your opening hours?"), after_s=1.3)
    await wire.socket.send_bytes(sound.tobytes())
    started, result, ended = await wire.until("UtteranceEnd")
    assert started["type"] == "SpeechStarted"
    assert (result["is_final"], result["speech_final"], result["from_finalize"]) == (
        True,
        True,
        False,
    )
    spoken = result["channel"]["alternatives"][0]["words"]
    heard = " ".join(word["word"] for word in spoken)
    assert share_heard("what are your opening hours", heard) >= 0.8
    assert (
        0.4
        < spoken[0]["start"]
        < spoken[-1]["end"]
        == pytest.approx(ended["last_word_end"], abs=0.01)
    )


async def test_finalize_gives_what_was_said_so_far(wire: Wire, providers: ProvidersClient) -> None:
    sound = between_silence(await providers.speak("What are your opening hours?"), after_s=0.0)
    await wire.socket.send_bytes(sound.tobytes())
    await wire.command("Finalize")
    result = (await wire.until("Results"))[-1]
    assert (result["is_final"], result["speech_final"], result["from_finalize"]) == (
        True,
        False,
        True,
    )
    assert "opening" in result["channel"]["alternatives"][0]["transcript"]


async def test_closing_the_stream_ends_with_metadata_and_an_orderly_close(wire: Wire) -> None:
    await wire.socket.send_bytes(bytes(32_000))
    await wire.command("KeepAlive")
    await wire.command("CloseStream")
    metadata = (await wire.until("Metadata"))[-1]
    assert metadata["duration"] == pytest.approx(1.0)
    assert await wire.close_code() == 1000


@pytest.mark.parametrize(
    ("step", "code"), [(Step(close_code=4008), 4008), (Step(status=500), 1011)]
)
async def test_a_scripted_failure_closes_the_open_stream(
    wire: Wire, providers: ProvidersClient, step: Step, code: int
) -> None:
    await providers.script("listen", step)
    sound = between_silence(await providers.speak("Yes, please."))
    await wire.socket.send_bytes(sound.tobytes())
    assert await wire.close_code() == code


async def test_a_failing_engine_closes_in_order(
    wire: Wire, providers: ProvidersClient, engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = between_silence(await providers.speak("Yes, please."))

    async def fail(*_: object) -> str:
        raise RuntimeError("engine failed")

    monkeypatch.setattr(engines, "recognise", fail)
    await wire.socket.send_bytes(sound.tobytes())
    assert await wire.close_code() == 1011


async def test_nonsense_closes_the_stream(wire: Wire) -> None:
    await wire.socket.send_str("nonsense")
    assert await wire.close_code() == 1008


async def test_a_peer_that_vanishes_disturbs_nobody(
    url: str, providers: ProvidersClient, caplog: pytest.LogCaptureFixture
) -> None:
    sound = between_silence(await providers.speak(SENTENCE))
    async with aiohttp.ClientSession(headers={"Authorization": "Token local"}) as leaving:
        socket = await leaving.ws_connect(f"{url}/v1/listen?sample_rate=16000")
        await socket.send_bytes(sound.tobytes())
        assert socket._response.connection is not None
        assert socket._response.connection.transport is not None
        socket._response.connection.transport.abort()
    assert share_heard(SENTENCE, await providers.transcribe(sound, RATE)) >= 0.8
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("query", ["sample_rate=7", "encoding=opus", "utterance_end_ms=soon"])
async def test_a_query_that_cannot_be_served_is_refused_in_deepgrams_words(
    url: str, http: aiohttp.ClientSession, query: str
) -> None:
    async with http.get(f"{url}/v1/listen?{query}") as response:
        body = json.loads(await response.text())
    assert response.status == 400
    assert body["err_code"] == "BAD_REQUEST"
    assert body["err_msg"]


async def test_a_file_that_is_no_wav_is_refused(url: str, http: aiohttp.ClientSession) -> None:
    async with http.post(f"{url}/v1/listen", data=b"nonsense") as response:
        assert response.status == 400
        assert (await response.json())["err_code"] == "BAD_REQUEST"


async def test_the_language_of_a_file_can_be_scripted(
    url: str, http: aiohttp.ClientSession, providers: ProvidersClient
) -> None:
    await providers.script("listen", Step(reply="Hola.", language="es"))
    pcm = await providers.speak("Yes.")
    address = f"{url}/v1/listen?detect_language=true"
    async with http.post(address, data=wav_bytes(pcm, 24_000)) as response:
        [channel] = (await response.json())["results"]["channels"]
    assert channel["detected_language"] == "es"
    assert channel["alternatives"][0]["transcript"] == "hola"
