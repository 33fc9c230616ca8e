"""Cuts the text of a document into chunks that fit a prompt, at the best seams there are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from src.schemas.knowledge import Chunk, Page
from src.services.ports import TokenCounter

_SEAMS = (
    re.compile(r"\n[ \t]*\n\s*"),  # between paragraphs
    # After a sentence; also of Hindi, Arabic and Chinese, where the next may follow without a blank.
    re.compile(r"(?<=[.!?])[\"')\]]*\s+|(?<=[।؟。！？])\s*"),  # noqa: RUF001 - these are meant
    re.compile(r"\n\s*"),
    re.compile(r"\s+"),
)
"""Best first; what still is too long is halved."""
_WHOLE_SENTENCES = 2
"""Text is always cut at the first two, so that chunks begin and overlap by whole sentences."""
_MOST_CHARS_PER_TOKEN = 8
"""A longer stretch is cut without counting its tokens: tokenisers take long over one without seams."""


@dataclass(frozen=True, kw_only=True)
class ChunkPolicy:
    """Sizes in tokens."""

    max_tokens: int = 220
    """A few paragraphs: four of them are a small part of a prompt, and embedding models that read 512
    tokens see all of each."""
    overlap_tokens: int = 40
    """A sentence or two of a chunk are repeated by the next, so that an answer across the seam is
    whole in one of them."""

    def __post_init__(self) -> None:
        """Refuse an overlap that would leave no room for progress."""
        if self.max_tokens < 1 or not 0 <= self.overlap_tokens <= self.max_tokens // 2:
            raise ValueError("overlap_tokens must be at most half of max_tokens")


@dataclass(frozen=True)
class _Unit:
    """A stretch of text that is not cut."""

    start: int
    end: int
    tokens: int


class Chunker:
    """Pure; blocks while it counts, so that it is called off the event loop."""

    def __init__(self, *, count: TokenCounter, policy: ChunkPolicy | None = None) -> None:
        self._count = count
        self._policy = policy or ChunkPolicy()

    def __call__(self, pages: Sequence[Page]) -> list[Chunk]:
        """The chunks in order. Each lies within one page, and has at most `max_tokens` tokens.

        Together they hold everything but white space at seams. A single character that has more tokens
        is the one exception to the bound.
        """
        return [
            Chunk(text=text, page=page.number)
            for page in pages
            for start, end in self.spans(page.text)
            if (text := page.text[start:end].strip())
        ]

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where the chunks of a text begin and end: in order, without gaps, overlapping."""
        units = list(self._units(text, 0, len(text))) if text else []
        first = 0
        while first < len(units):
            last = self._last(text, units, first)
            yield units[first].start, units[last].end
            if last + 1 == len(units):
                return
            first = self._next(units, first, last)

    def _last(self, text: str, units: Sequence[_Unit], first: int) -> int:
        """The last unit that fits into a chunk beginning with unit `first`."""
        last, tokens = first, units[first].tokens
        while last + 1 < len(units) and tokens + units[last + 1].tokens <= self._policy.max_tokens:
            last += 1
            tokens += units[last].tokens
        # Tokenisers see across seams, so that a sum is only nearly right.
        while last > first and not self._fits(text[units[first].start : units[last].end]):
            last -= 1
        return last

    def _next(self, units: Sequence[_Unit], first: int, last: int) -> int:
        """The unit the chunk after `first … last` begins with."""
        begin, tokens = last + 1, 0
        room = self._policy.max_tokens - units[last + 1].tokens
        while begin - 1 > first:
            tokens += units[begin - 1].tokens
            if tokens > min(self._policy.overlap_tokens, room):
                break
            begin -= 1
        return begin

    def _units(self, text: str, start: int, end: int, seam: int = 0) -> Iterator[_Unit]:
        """Units of `text[start:end]`, in order and without gaps."""
        if seam >= _WHOLE_SENTENCES and (unit := self._unit(text, start, end)) is not None:
            yield unit
        elif seam == len(_SEAMS):
            middle = (start + end) // 2
            yield from self._units(text, start, middle, seam)
            yield from self._units(text, middle, end, seam)
        else:
            for part in _parts(text, start, end, _SEAMS[seam]):
                yield from self._units(text, *part, seam + 1)

    def _unit(self, text: str, start: int, end: int) -> _Unit | None:
        """The stretch as one unit; None if it must be cut."""
        if end - start > _MOST_CHARS_PER_TOKEN * self._policy.max_tokens:
            return None
        tokens = self._count(text[start:end])
        if tokens > self._policy.max_tokens and end - start > 1:
            return None
        return _Unit(start, end, tokens)

    def _fits(self, text: str) -> bool:
        return self._count(text.strip()) <= self._policy.max_tokens


def _parts(text: str, start: int, end: int, seam: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """`text[start:end]` cut after each seam."""
    begin = start
    for found in seam.finditer(text, start, end):
        if begin < found.end() < end:
            yield begin, found.end()
            begin = found.end()
    yield begin, end
