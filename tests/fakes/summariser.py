"""A summariser that says what it was told to."""

from collections.abc import Sequence

from typing_extensions import override

from src.schemas.contact import Turn
from src.services.ports import Summariser

SUMMARY = "The caller asked about opening hours. The agent answered. The caller was content."


class FakeSummariser(Summariser):
    """Answers with the given replies in turn (an exception is raised), then always with `SUMMARY`."""

    def __init__(self, *replies: str | Exception) -> None:
        self._replies = list(replies)
        self.asked: list[tuple[tuple[Turn, ...], str]] = []
        """Transcript and language of each request."""

    @override
    async def summarise(self, transcript: Sequence[Turn], *, language: str) -> str:
        self.asked.append((tuple(transcript), language))
        reply = self._replies.pop(0) if self._replies else SUMMARY
        if isinstance(reply, Exception):
            raise reply
        return reply


class EchoingSummariser(Summariser):
    """Repeats what was said."""

    @override
    async def summarise(self, transcript: Sequence[Turn], *, language: str) -> str:
        return " ".join(turn.text for turn in transcript)
