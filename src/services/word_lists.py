"""Word lists as they are read best: many words a line."""

from __future__ import annotations


def words_of(text: str) -> frozenset[str]:
    """The words of a text that are separated by blanks."""
    return frozenset(text.split())


def phrases_of(text: str) -> frozenset[tuple[str, ...]]:
    """The phrases of a text that are separated by bars, each as its words."""
    return frozenset(tuple(phrase.split()) for phrase in text.split("|"))
