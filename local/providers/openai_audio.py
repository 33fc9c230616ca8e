"""OpenAI's `/v1/audio/speech` and `/v1/audio/transcriptions`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from aiohttp import web
from aiohttp.multipart import BodyPartReader
from pydantic import BaseModel, Field, StringConstraints, ValidationError

from local.providers.audio import read_wav, wav_bytes
from local.providers.control import Control, Endpoint, Json
from local.providers.engines import VOICE_RATE, Engines
from local.providers.errors import bad_request
from local.providers.voice import Voice, sentences


class SpeechRequest(BaseModel):
    """Body of `/v1/audio/speech`."""

    input: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    response_format: Literal["pcm", "wav"]
    speed: float = Field(default=1.0, ge=0.25, le=4.0)


@dataclass
class OpenAiAudio:
    """The two endpoints."""

    engines: Engines
    voice: Voice
    control: Control

    async def speech(self, request: web.Request) -> web.Response:
        """A text as sound, 24 kHz."""
        try:
            wanted = SpeechRequest.model_validate_json(await request.read())
        except ValidationError as error:
            raise bad_request(str(error)) from error
        pcm = np.concatenate(
            [
                piece
                for sentence in sentences(wanted.input)
                async for piece in self.voice.say(
                    sentence, VOICE_RATE, wanted.speed, Endpoint.AUDIO_SPEECH
                )
            ]
        )
        if wanted.response_format == "pcm":
            return web.Response(body=pcm.tobytes(), content_type="audio/pcm")
        return web.Response(body=wav_bytes(pcm, VOICE_RATE), content_type="audio/wav")

    async def transcriptions(self, request: web.Request) -> web.Response:
        """The words of a WAV file."""
        fields, file = await _form(request)
        try:
            pcm, rate = read_wav(file)
        except ValueError as error:
            raise bad_request(str(error)) from error
        heard = await self.engines.recognise(pcm, rate)
        entry = self.control.note(Endpoint.AUDIO_TRANSCRIPTIONS, heard=heard, fields=fields)
        step = await self.control.play(Endpoint.AUDIO_TRANSCRIPTIONS, heard)
        text = entry["transcript"] = heard if step.reply is None else step.reply
        shape = fields.get("response_format", "json")
        if shape == "text":
            return web.Response(text=text + "\n")
        if shape == "json":
            return web.json_response({"text": text})
        if shape != "verbose_json":
            raise bad_request(f"response_format cannot be {shape}")
        seconds = round(len(pcm) / rate, 3)
        segment: Json = {"id": 0, "start": 0.0, "end": seconds, "text": text}
        body = {
            "task": "transcribe",
            "language": step.language or "english",
            "duration": seconds,
            "text": text,
            "segments": [segment] if text else [],
        }
        return web.json_response(body)


async def _form(request: web.Request) -> tuple[dict[str, str], bytes]:
    if not request.content_type.startswith("multipart/"):
        raise bad_request("a multipart form is expected")
    fields: dict[str, str] = {}
    file: bytes | None = None
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader):
            continue
        if part.name == "file":
            file = bytes(await part.read())
        else:
            fields[part.name or ""] = await part.text()
    if file is None:
        raise bad_request("file is missing", "missing_required_parameter")
    return fields, file
