"""A transcript as text for a language model: one line a turn, in texts of a bounded length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType

from src.schemas.contact import Turn

_SPEAKERS = MappingProxyType({"user": "Caller", "assistant": "Agent"})


def is_conversation(transcript: Sequence[Turn]) -> bool:
    """Whether both sides said something."""
    return {"user", "assistant"} <= {turn.role for turn in transcript if turn.text.strip()}


def spoken_lines(transcript: Sequence[Turn]) -> list[str]:
    """`Caller: …` or `Agent: …` for each turn that holds words."""
    # Each on one line, so that a turn cannot pretend to hold another speaker's.
    return [
        f"{_SPEAKERS[turn.role]}: {' '.join(turn.text.split())}"
        for turn in transcript
        if turn.text.strip()
    ]


def packed(lines: Sequence[str], max_chars: int) -> list[str]:
    """The lines, in order, in as few texts of at most `max_chars` as they fill; nothing is lost."""
    texts: list[str] = []
    for line in _pieces(lines, max_chars):
        if texts and len(texts[-1]) + 1 + len(line) <= max_chars:
            texts[-1] += f"\n{line}"
        else:
            texts.append(line)
    return texts


def _pieces(lines: Sequence[str], max_chars: int) -> Iterator[str]:
    for line in lines:
        for start in range(0, len(line), max_chars):
            yield line[start : start + max_chars]
