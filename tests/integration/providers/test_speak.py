"""Speech through livekit's Deepgram plugin, and on the bare wire."""

from __future__ import annotations

from typing import Any

import aiohttp
import numpy as np
import pytest
from livekit.agents import APIStatusError
from livekit.plugins import deepgram

from local.providers.audio import Pcm, pcm_from_bytes, read_wav
from local.providers.client import ProvidersClient, Step
from tests.integration.providers.speech import ONCE, VOICE_RATE, share_heard

pytestmark = pytest.mark.integration

TEXT = "Hello Maria, this is Clara of Acme Health. How can I help you today?"


def voice(url: str, http: aiohttp.ClientSession, **options: Any) -> deepgram.TTS:
    options = {"api_key": "local"} | options
    return deepgram.TTS(base_url=f"{url}/v1/speak", http_session=http, **options)


async def spoken(tts: deepgram.TTS, text: str) -> Pcm:
    stream = tts.stream(conn_options=ONCE)
    stream.push_text(text)
    stream.end_input()
    data = b"".join([event.frame.data.tobytes() async for event in stream])
    await stream.aclose()
    await tts.aclose()
    return pcm_from_bytes(data)


@pytest.mark.parametrize("rate", [24_000, 8_000])
async def test_what_is_said_is_understood(
    url: str, http: aiohttp.ClientSession, providers: ProvidersClient, rate: int
) -> None:
    pcm = await spoken(voice(url, http, sample_rate=rate), TEXT)
    assert 2 < len(pcm) / rate < 6
    assert share_heard(TEXT, await providers.transcribe(pcm, rate)) >= 0.8
    assert [entry["text"] for entry in await providers.log("speak")] == [
        "Hello Maria, this is Clara of Acme Health.",
        "How can I help you today?",
    ]


async def test_the_same_words_always_sound_the_same(providers: ProvidersClient) -> None:
    assert np.array_equal(await providers.speak("Hello."), await providers.speak("Hello."))


async def test_speech_begins_and_ends_without_silence(
    url: str, http: aiohttp.ClientSession
) -> None:
    pcm = await spoken(voice(url, http), "What are your opening hours?")
    loud = np.flatnonzero(np.abs(pcm.astype(np.int32)) > 400)
    assert loud[0] / VOICE_RATE < 0.05
    assert (len(pcm) - loud[-1]) / VOICE_RATE < 0.25


async def test_a_sentence_in_one_request_is_spoken(
    url: str, http: aiohttp.ClientSession, providers: ProvidersClient
) -> None:
    frames = [event.frame async for event in voice(url, http).synthesize(TEXT)]
    pcm = pcm_from_bytes(b"".join(frame.data.tobytes() for frame in frames))
    assert share_heard(TEXT, await providers.transcribe(pcm, VOICE_RATE)) >= 0.8


async def test_a_script_the_voice_cannot_read_takes_its_time(
    url: str, http: aiohttp.ClientSession
) -> None:
    pcm = await spoken(voice(url, http), "مرحبا كيف حالك")
    assert len(pcm) / VOICE_RATE > 0.5


@pytest.mark.parametrize(("key", "status"), [("bad", 401), ("local", 503)])
async def test_a_refused_connection_reaches_the_plugin_as_a_status(
    url: str, http: aiohttp.ClientSession, providers: ProvidersClient, key: str, status: int
) -> None:
    await providers.script("speak_connect", Step(status=503))
    with pytest.raises(APIStatusError) as raised:
        await spoken(voice(url, http, api_key=key), "Hello.")
    assert raised.value.status_code == status


async def test_a_scripted_failure_closes_the_open_connection(
    url: str, http: aiohttp.ClientSession, providers: ProvidersClient
) -> None:
    await providers.script("speak", Step(close_code=1012))
    with pytest.raises(APIStatusError) as raised:
        await spoken(voice(url, http), "Hello.")
    assert raised.value.status_code == 1012


async def next_of(socket: aiohttp.ClientWebSocketResponse, kind: str) -> tuple[float, list[str]]:
    """Seconds of sound, and the kinds of messages, up to the first of a kind."""
    seconds, kinds = 0.0, [""]
    while kinds[-1] != kind:
        message = await socket.receive(timeout=10)
        if message.type is aiohttp.WSMsgType.BINARY:
            seconds += len(message.data) / 2 / VOICE_RATE
        else:
            kinds.append(message.json()["type"])
    return seconds, kinds[1:]


async def test_cleared_text_is_not_spoken_and_the_connection_goes_on(
    url: str, http: aiohttp.ClientSession, providers: ProvidersClient
) -> None:
    await providers.script("speak", Step(delay=30, match="First one"))
    async with http.ws_connect(f"{url}/v1/speak?sample_rate=24000") as socket:
        await socket.send_json({"type": "Speak", "text": "First one. Second one. Third"})
        await socket.send_json({"type": "Clear"})
        assert await next_of(socket, "Cleared") == (0.0, ["Metadata", "Cleared"])
        await socket.send_json({"type": "Speak", "text": "Good morning."})
        await socket.send_json({"type": "Flush"})
        seconds, kinds = await next_of(socket, "Flushed")
    assert 0.4 < seconds < 1.6
    assert kinds == ["Flushed"]


async def test_closing_speaks_what_is_left(url: str, http: aiohttp.ClientSession) -> None:
    async with http.ws_connect(f"{url}/v1/speak") as socket:
        await socket.send_json({"type": "Speak", "text": "Good morning."})
        await socket.send_json({"type": "Close"})
        messages = [message async for message in socket]
    assert any(message.type is aiohttp.WSMsgType.BINARY for message in messages)
    assert socket.close_code == 1000


async def test_a_command_unknown_to_it_is_warned_about(
    url: str, http: aiohttp.ClientSession
) -> None:
    async with http.ws_connect(f"{url}/v1/speak") as socket:
        await socket.send_json({"type": "Shout"})
        _, kinds = await next_of(socket, "Warning")
    assert kinds == ["Metadata", "Warning"]


@pytest.mark.parametrize("query", ["sample_rate=7", "encoding=mp3", "speed=9"])
async def test_a_query_that_cannot_be_served_is_refused_in_deepgrams_words(
    url: str, http: aiohttp.ClientSession, query: str
) -> None:
    async with http.post(f"{url}/v1/speak?{query}", json={"text": "Hello."}) as response:
        assert response.status == 400
        assert (await response.json())["err_code"] == "INVALID_QUERY_PARAMETER"


@pytest.mark.parametrize("body", [b"", b"[]", b'{"text": " "}', b'{"text": 1}'])
async def test_a_request_without_text_is_refused(
    url: str, http: aiohttp.ClientSession, body: bytes
) -> None:
    async with http.post(f"{url}/v1/speak", data=body) as response:
        assert response.status == 400
        assert (await response.json())["err_code"] == "INVALID_BODY"


async def test_a_request_gets_a_wav_file_unless_it_wants_bare_samples(
    url: str, http: aiohttp.ClientSession
) -> None:
    async with http.post(f"{url}/v1/speak?sample_rate=8000", json={"text": "Hello."}) as response:
        pcm, rate = read_wav(await response.read())
    assert rate == 8000
    assert len(pcm) > 2000
