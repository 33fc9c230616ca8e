"""Vectors from a model behind the OpenAI embeddings API."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass

from openai import AsyncOpenAI, OpenAIError
from openai.types import CreateEmbeddingResponse
from typing_extensions import override

from src.schemas.errors import EmbeddingError
from src.schemas.knowledge import Vector
from src.services.knowledge_ports import Embedder

MAX_DIMENSIONS = 16_000
"""What a `vector` column of pgvector holds at most."""


@dataclass(frozen=True, kw_only=True)
class EmbeddingLimits:
    """Bounds of one request."""

    texts: int = 64
    """OpenAI takes 2,048; small requests let a turn's query get in between on a shared server."""
    chars: int = 40_000
    timeout_s: float = 30.0


class OpenAIEmbedder(Embedder):
    """Sends the texts in batches, one after the other. The dimension is what the model answers with."""

    def __init__(
        self, *, client: AsyncOpenAI, model: str, limits: EmbeddingLimits | None = None
    ) -> None:
        # Who calls knows whether there is time for another try.
        self._client = client.with_options(max_retries=0)
        self._model = model
        self._limits = limits or EmbeddingLimits()

    @property
    @override
    def model(self) -> str:
        return self._model

    @override
    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        vectors: list[Vector] = []
        for batch in _batches(texts, self._limits):
            vectors += await self._embed(batch)
        if len({len(vector) for vector in vectors}) > 1:
            raise EmbeddingError("the vectors are of several dimensions")
        return vectors

    async def _embed(self, batch: list[str]) -> list[Vector]:
        try:
            async with asyncio.timeout(self._limits.timeout_s):
                answer = await self._client.embeddings.create(
                    model=self._model, input=batch, encoding_format="float"
                )
        # A broken body makes the client raise ValueError.
        except (OpenAIError, TimeoutError, ValueError) as error:
            raise EmbeddingError(f"no embeddings: {type(error).__name__}") from error
        return _vectors(answer, len(batch))


def _vectors(answer: object, count: int) -> list[Vector]:
    # A gateway that answers with a page instead of JSON makes the client return text.
    if not isinstance(answer, CreateEmbeddingResponse) or not answer.data:
        raise EmbeddingError("the answer holds no embeddings")
    ordered = sorted(answer.data, key=lambda one: one.index)
    if [one.index for one in ordered] != list(range(count)):
        raise EmbeddingError("the answer does not hold one embedding per text")
    if not all(_usable(one.embedding) for one in ordered):
        raise EmbeddingError("a vector cannot be compared")
    return [one.embedding for one in ordered]


def _usable(vector: object) -> bool:
    return (
        isinstance(vector, list)
        and 0 < len(vector) <= MAX_DIMENSIONS
        and all(isinstance(value, float | int) and math.isfinite(value) for value in vector)
        and any(vector)
    )


def _batches(texts: Sequence[str], limits: EmbeddingLimits) -> list[list[str]]:
    batches: list[list[str]] = []
    chars = 0
    for text in texts:
        if not batches or len(batches[-1]) == limits.texts or chars + len(text) > limits.chars:
            batches.append([])
            chars = 0
        batches[-1].append(text)
        chars += len(text)
    return batches
