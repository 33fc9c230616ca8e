"""A summariser of live conversations whose answers a test hands out."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import override

from src.schemas.errors import LanguageModelError
from src.services.compaction import MessageSummariser


@dataclass(eq=False)
class Asked:
    """One request; it waits until it is answered."""

    texts: tuple[str, ...]
    former: str
    reply: asyncio.Future[str]

    def answer(self, text: str) -> None:
        """Let the summary be `text`."""
        self.reply.set_result(text)

    def fail(self, error: Exception | None = None) -> None:
        """Let it be none."""
        self.reply.set_exception(error or LanguageModelError("down"))


class HeldSummariser(MessageSummariser):
    """Every request waits for the test."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []

    @override
    async def summarise_messages(self, texts: Sequence[str], former: str) -> str:
        self.asked.append(Asked(tuple(texts), former, asyncio.get_running_loop().create_future()))
        return await self.asked[-1].reply


class InstantSummariser(MessageSummariser):
    """Answers every request with the same text, or error."""

    def __init__(self, reply: str | Exception) -> None:
        self._reply = reply
        self.asked: list[tuple[tuple[str, ...], str]] = []

    @override
    async def summarise_messages(self, texts: Sequence[str], former: str) -> str:
        self.asked.append((tuple(texts), former))
        if isinstance(self._reply, Exception):
            raise self._reply
        return self._reply
