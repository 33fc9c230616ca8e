"""Scripts for what the providers do next, and the log of what was asked of them."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Sequence
from enum import StrEnum
from http import HTTPStatus
from typing import Any

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from local.providers.errors import ProviderError

Json = dict[str, Any]

_ENTRIES_PER_SLICE = 25  # encoded before other work gets its turn


class Endpoint(StrEnum):
    """What can be scripted."""

    LISTEN_CONNECT = "listen_connect"
    LISTEN = "listen"
    """One phrase, live or in a file."""
    SPEAK_CONNECT = "speak_connect"
    SPEAK = "speak"
    """One sentence, live or in one request."""
    CHAT = "chat"
    EMBEDDINGS = "embeddings"
    AUDIO_SPEECH = "audio_speech"
    AUDIO_TRANSCRIPTIONS = "audio_transcriptions"


class ScriptedCall(BaseModel):
    """A tool call that the chat makes instead of an answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    arguments: Json = Field(default_factory=dict)


class Step(BaseModel):
    """How one request is answered; what is left out keeps the usual answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reply: str | None = None
    """What is heard, said or answered."""
    tool: ScriptedCall | None = None
    """Chat only."""
    language: str | None = None
    """Language code of a scripted transcript."""
    delay: float = Field(default=0.0, ge=0)
    """Seconds to wait first."""
    status: int | None = Field(default=None, ge=400, le=599)
    """HTTP status to fail with; on an open socket it closes with 1011."""
    close_code: int | None = Field(default=None, ge=1000, le=4999)
    """Code to close an open socket with."""
    match: str | None = None
    """Only a request that contains this text, whatever the case, takes the step."""


class Script(BaseModel):
    """Body of `POST /control`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    endpoint: Endpoint
    steps: Sequence[Step]


class CloseSocket(Exception):  # noqa: N818  # a scripted close is no error of ours
    """The socket is to be closed with a code of its own."""

    def __init__(self, close_code: int) -> None:
        super().__init__(f"close with {close_code}")
        self.close_code = close_code


class Control:
    """The script and the log of one server."""

    def __init__(self) -> None:
        self._steps: dict[Endpoint, list[Step]] = {endpoint: [] for endpoint in Endpoint}
        self._log: deque[Json] = deque(maxlen=1000)

    def note(self, endpoint: Endpoint, **what: Any) -> Json:
        """Write an entry, which may be completed later."""
        entry = {"at": time.time(), "endpoint": endpoint.value, **what}
        self._log.append(entry)
        return entry

    def awaits(self, endpoint: Endpoint) -> bool:
        """Whether the next request to the endpoint is scripted, whatever it holds."""
        return any(step.match is None for step in self._steps[endpoint])

    async def play(self, endpoint: Endpoint, request: str = "") -> Step:
        """Take the first step that fits the request, and wait its delay.

        Raises:
            CloseSocket: the step closes the socket.
            ProviderError: the step fails the request.
        """
        step = self._take(endpoint, request.casefold())
        await asyncio.sleep(step.delay)
        if step.close_code is not None:
            raise CloseSocket(step.close_code)
        if step.status is not None:
            raise ProviderError(step.status, "scripted", "scripted failure")
        return step

    def _take(self, endpoint: Endpoint, request: str) -> Step:
        steps = self._steps[endpoint]
        for at, step in enumerate(steps):
            if step.match is None or step.match.casefold() in request:
                return steps.pop(at)
        return Step()

    def extend(self, script: Script) -> None:
        """Add steps after those that wait."""
        self._steps[script.endpoint].extend(script.steps)

    def reset(self) -> None:
        """Forget script and log."""
        for steps in self._steps.values():
            steps.clear()
        self._log.clear()

    async def log_as_json(self, endpoint: str | None) -> str:
        """The log, oldest first, all or for one endpoint."""
        entries = [entry for entry in self._log if endpoint in (None, entry["endpoint"])]
        parts = []
        for at, entry in enumerate(entries):
            parts.append(json.dumps(entry))
            if at % _ENTRIES_PER_SLICE == _ENTRIES_PER_SLICE - 1:
                await asyncio.sleep(0)
        return f'{{"log": [{", ".join(parts)}]}}'


def control_routes(control: Control) -> list[web.RouteDef]:
    """`/control`: POST adds steps, GET reads the log, DELETE forgets both."""

    async def read(request: web.Request) -> web.Response:
        log = await control.log_as_json(request.query.get("endpoint"))
        return web.Response(text=log, content_type="application/json")

    async def add(request: web.Request) -> web.Response:
        try:
            script = Script.model_validate_json(await request.read())
        except ValidationError as error:
            raise ProviderError(HTTPStatus.BAD_REQUEST, "bad_script", str(error)) from error
        control.extend(script)
        return web.Response(status=HTTPStatus.NO_CONTENT)

    async def reset(_: web.Request) -> web.Response:
        control.reset()
        return web.Response(status=HTTPStatus.NO_CONTENT)

    return [
        web.get("/control", read),
        web.post("/control", add),
        web.delete("/control", reset),
    ]
