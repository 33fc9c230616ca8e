"""A client for tests: scripts the providers, reads what they were asked, hears and speaks.

async with ProvidersClient("http://127.0.0.1:8100") as providers:
    await providers.script("chat", Step(reply="Hello.", delay=0.5), Step(status=500))
    text = await providers.transcribe(pcm, 8000)
"""

from __future__ import annotations

from types import TracebackType
from typing import Literal, Self

import aiohttp
import numpy as np

from local.providers.audio import Pcm, pcm_from_bytes, wav_bytes
from local.providers.control import Endpoint, Json, Script, Step

__all__ = ["ProvidersClient", "Step"]

_KEY = "local"
_TIMEOUT = aiohttp.ClientTimeout(total=60)
EndpointName = Literal[
    "listen_connect",
    "listen",
    "speak_connect",
    "speak",
    "chat",
    "embeddings",
    "audio_speech",
    "audio_transcriptions",
]


class ProvidersClient:
    """Talks to one running server; enter it before use."""

    def __init__(self, base_url: str) -> None:
        """`base_url` is without `/v1`."""
        self._base_url = base_url.rstrip("/")
        self._http: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        headers = {"Authorization": f"Bearer {_KEY}"}
        self._http = aiohttp.ClientSession(headers=headers, timeout=_TIMEOUT, raise_for_status=True)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._http:
            await self._http.close()

    async def script(self, endpoint: EndpointName | Endpoint, *steps: Step) -> None:
        """Say what the next requests to an endpoint get; each step serves one request.

        Raises:
            aiohttp.ClientResponseError: a step makes no sense.
        """
        body = Script(endpoint=Endpoint(endpoint), steps=steps).model_dump(mode="json")
        async with self._session.post(f"{self._base_url}/control", json=body):
            pass

    async def log(self, endpoint: EndpointName | Endpoint | None = None) -> list[Json]:
        """What was asked so far, oldest first; each entry has `at` (Unix time) and `endpoint`.

        chat: `messages`, `tools`, `reply`, `called`; speak: `text`; listen: `heard`, `transcript`,
        `language`; listen_connect and speak_connect: `query`; embeddings: `input`.
        """
        query = {"endpoint": Endpoint(endpoint).value} if endpoint else {}
        async with self._session.get(f"{self._base_url}/control", params=query) as response:
            entries: list[Json] = (await response.json())["log"]
        return entries

    async def reset(self) -> None:
        """Forget the log and the steps that wait."""
        async with self._session.delete(f"{self._base_url}/control"):
            pass

    async def transcribe(self, pcm: Pcm, rate: int) -> str:
        """The words in a sound, as a listener would take them down."""
        form = aiohttp.FormData()
        form.add_field("file", wav_bytes(np.asarray(pcm, np.int16), rate), filename="a.wav")
        url = f"{self._base_url}/v1/audio/transcriptions"
        async with self._session.post(url, data=form) as response:
            return str((await response.json())["text"])

    async def speak(self, text: str, *, rate: int = 24_000) -> Pcm:
        """A text as sound, in the voice of the agents."""
        url = f"{self._base_url}/v1/speak?container=none&sample_rate={rate}"
        async with self._session.post(url, json={"text": text}) as response:
            return pcm_from_bytes(await response.read())

    @property
    def _session(self) -> aiohttp.ClientSession:
        if self._http is None:
            raise RuntimeError("enter the client first: async with ProvidersClient(...)")
        return self._http
