"""The other OpenAI endpoints through OpenAI's own client, and how the server refuses."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import numpy as np
import openai
import pytest

from local.providers.audio import pcm_from_bytes, read_wav, wav_bytes
from local.providers.client import ProvidersClient, Step
from tests.integration.providers.speech import VOICE_RATE, share_heard

pytestmark = pytest.mark.integration

SENTENCE = "How long does a refund take?"


@pytest.fixture
async def client(url: str) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="local", max_retries=0) as client:
        yield client


async def test_texts_of_one_meaning_are_embedded_near_each_other(
    client: openai.AsyncOpenAI,
) -> None:
    texts = [
        "How long until I get my money back?",
        "Refunds take three days.",
        "The moon is made of cheese.",
        *(f"Sentence number {n}." for n in range(10)),
    ]
    answer = await client.embeddings.create(model="text-embedding-3-small", input=texts)
    rows = np.array([item.embedding for item in answer.data])
    assert [item.index for item in answer.data] == list(range(13))
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(13), abs=1e-3)
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.02


async def test_an_embedding_is_the_same_in_both_encodings(client: openai.AsyncOpenAI) -> None:
    # Left to itself the client asks for base64 and decodes it.
    encoded = await client.embeddings.create(model="m", input="Hello.")
    plain = await client.embeddings.create(model="m", input=["Hello."], encoding_format="float")
    assert encoded.data[0].embedding == pytest.approx(plain.data[0].embedding, abs=1e-6)
    short = await client.embeddings.create(model="m", input="Hello.", dimensions=64)
    assert len(short.data[0].embedding) == 64
    assert np.linalg.norm(short.data[0].embedding) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("shape", ["pcm", "wav"])
async def test_speech_is_understood_by_transcription(
    client: openai.AsyncOpenAI, shape: str
) -> None:
    spoken = await client.audio.speech.create(
        model="tts-1",
        voice="alloy",
        input=SENTENCE,
        response_format=shape,  # type: ignore[arg-type]
    )
    pcm, rate = (pcm_from_bytes(spoken.content), VOICE_RATE)
    if shape == "wav":
        pcm, rate = read_wav(spoken.content)
    file = ("a.wav", wav_bytes(pcm, rate))
    heard = await client.audio.transcriptions.create(model="whisper-1", file=file)
    assert share_heard(SENTENCE, heard.text) >= 0.8
    verbose = await client.audio.transcriptions.create(
        model="whisper-1", file=file, response_format="verbose_json"
    )
    assert verbose.duration == pytest.approx(len(pcm) / rate, abs=0.01)
    plain = await client.audio.transcriptions.create(
        model="whisper-1", file=file, response_format="text"
    )
    assert plain.strip() == heard.text == verbose.text


async def test_a_long_recording_with_pauses_is_transcribed_whole(
    providers: ProvidersClient,
) -> None:
    one, other = await providers.speak(SENTENCE), await providers.speak("My card is lost.")
    pause = np.zeros(VOICE_RATE * 4, np.int16)
    heard = await providers.transcribe(
        np.concatenate([pause, one, pause, other, pause]), VOICE_RATE
    )
    assert share_heard(f"{SENTENCE} My card is lost.", heard) >= 0.8


async def test_silence_has_no_words(providers: ProvidersClient) -> None:
    assert await providers.transcribe(np.zeros(VOICE_RATE * 2, np.int16), VOICE_RATE) == ""


async def test_an_endpoint_fails_as_scripted(
    client: openai.AsyncOpenAI, providers: ProvidersClient
) -> None:
    await providers.script("embeddings", Step(status=429))
    with pytest.raises(openai.RateLimitError):
        await client.embeddings.create(model="m", input="Hello.")
    await providers.script("audio_transcriptions", Step(reply="Scripted."))
    assert await providers.transcribe(np.zeros(8000, np.int16), 8000) == "Scripted."


async def test_the_models_are_listed(client: openai.AsyncOpenAI) -> None:
    assert "local-extractive" in [model.id async for model in client.models.list()]


async def test_a_bad_key_is_refused(url: str) -> None:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="bad", max_retries=0) as client:
        with pytest.raises(openai.AuthenticationError) as raised:
            await client.models.list()
    assert raised.value.code == "invalid_api_key"


async def test_what_is_not_there_is_not_found(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError):
        await client.get("/nothing", cast_to=object)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/embeddings", {"input": []}),
        ("/embeddings", {"input": [[1, 2]]}),
        ("/audio/speech", {"input": "Hello.", "response_format": "mp3"}),
        ("/audio/speech", {"input": " ", "response_format": "pcm"}),
        ("/audio/transcriptions", {"file": "none"}),
    ],
)
async def test_a_request_that_cannot_be_served_is_refused(
    client: openai.AsyncOpenAI, path: str, body: object
) -> None:
    with pytest.raises(openai.BadRequestError) as raised:
        await client.post(path, body=body, cast_to=object)
    assert raised.value.type == "invalid_request_error"


@pytest.mark.parametrize(
    "script",
    [
        {"endpoint": "chatt", "steps": []},
        {"endpoint": "chat", "steps": [{"relpy": "Hello."}]},
        {"endpoint": "chat", "steps": [{"status": 200}]},
    ],
)
async def test_a_script_that_makes_no_sense_is_refused(
    url: str, http: aiohttp.ClientSession, script: object
) -> None:
    async with http.post(f"{url}/control", json=script) as response:
        assert response.status == 400
