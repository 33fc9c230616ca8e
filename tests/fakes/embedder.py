"""Vectors without a model: texts that share word stems are near each other."""

import asyncio
import hashlib
import math
import re
from collections.abc import Sequence

from typing_extensions import override

from src.schemas.errors import EmbeddingError
from src.schemas.knowledge import Vector
from src.services.knowledge_ports import Embedder

DIMENSIONS = 64
MEANINGS = {"money": "refund", "reimbursed": "refund", "cash": "refund", "hound": "dog"}
"""Words that mean the same as another."""


class FakeEmbedder(Embedder):
    """Deterministic; fails or hangs when told to."""

    def __init__(self, *, model: str = "fake", dimensions: int = DIMENSIONS) -> None:
        self._model = model
        self._dimensions = dimensions
        self.failures = 0
        """That many calls fail."""
        self.answers = asyncio.Event()
        """Cleared: nothing is answered until it is set."""
        self.answers.set()
        self.embedded: list[str] = []

    @property
    @override
    def model(self) -> str:
        return self._model

    @override
    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        await self.answers.wait()
        if self.failures:
            self.failures -= 1
            raise EmbeddingError("told to fail")
        self.embedded += texts
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        vector = [0.0] * self._dimensions
        for word in re.findall(r"\w+", text.lower()):
            known = MEANINGS.get(word, word)
            digest = hashlib.sha256(known.encode()).digest()
            vector[int.from_bytes(digest[:4]) % self._dimensions] += 1.0
        norm = math.sqrt(sum(value * value for value in vector)) or 1.0
        return [value / norm for value in vector] if any(vector) else [1.0, *vector[1:]]
