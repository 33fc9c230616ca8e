"""Finds the statement that fits a question best, by its words and by its meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from local.providers.statements import Statement, coverage, terms

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Unit vectors of texts."""

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """One row per text."""

    def knows(self, text: str) -> bool:
        """Whether the text costs nothing to embed."""

    def expect(self, texts: Sequence[str]) -> None:
        """Texts that may be asked for later."""


_NEUTRAL = (
    "The weather was pleasant that afternoon.",
    "She wrote a letter to her sister.",
    "Please hold the line.",
    "The meeting starts at noon.",
    "He bought apples and bread at the market.",
    "This film was shown in many countries.",
    "You can find more information there.",
    "The team played well last season.",
    "I have never seen that before.",
    "Water boils at one hundred degrees.",
    "Thank you very much for your patience.",
    "The train leaves from platform four.",
)
_USUAL_LIKENESS = 0.79
_MEANING_WEIGHT = 5.0
_FITS = 0.42
"""Least score of an answer: measured on questions with and without one."""
_CERTAIN = 0.6
_CERTAIN_LEAD = 0.25
_UNKNOWN_PER_QUESTION = 48  # texts to embed at 20 ms each; beyond, words alone decide


class Matcher:
    """Compares a question with what a prompt states."""

    def __init__(self, embed: Embedder | None = None) -> None:
        """Without an embedder only words count."""
        self._embed = embed

    def warm_up(self) -> None:
        """Embed what every comparison needs."""
        if self._embed:
            self._embed(_NEUTRAL)

    def best(self, question: str, candidates: Sequence[Statement]) -> Statement | None:
        """The candidate that answers, or None when none does; of equals the first."""
        if not candidates:
            return None
        scores = np.array(coverage(terms(question), candidates))
        texts = [candidate.text for candidate in candidates]
        if self._embed and _certain(scores):
            self._embed.expect(texts)
        elif self._embed:
            scores = scores + _MEANING_WEIGHT * _nearness(self._embed, question, texts, scores)
        at = int(np.argmax(scores))
        return candidates[at] if scores[at] >= _FITS else None


def _nearness(
    embed: Embedder, question: str, texts: Sequence[str], scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Likeness of meaning, less the likeness that question and text have to anything.

    Short texts lie close to every other, and bare cosines of this model differ little.
    """
    near = np.zeros(len(texts))
    chosen = _worth_embedding(embed, texts, scores)
    if not chosen:
        return near
    asked, neutral = embed([question])[0], embed(_NEUTRAL)
    rows = embed([texts[at] for at in chosen])
    likeness = rows @ asked - (neutral @ asked).mean() - (rows @ neutral.T).mean(axis=1)
    near[chosen] = likeness + _USUAL_LIKENESS
    return near


def _worth_embedding(
    embed: Embedder, texts: Sequence[str], scores: NDArray[np.float64]
) -> list[int]:
    left, chosen = _UNKNOWN_PER_QUESTION, []
    for at in np.argsort(-scores, kind="stable").tolist():
        known = embed.knows(texts[at])
        if known or left > 0:
            chosen.append(at)
            left -= not known
    return chosen


def _certain(scores: NDArray[np.float64]) -> bool:
    """Whether the words alone leave no doubt."""
    best = np.sort(np.append(scores, 0.0))
    return bool(best[-1] >= _CERTAIN and best[-1] - best[-2] >= _CERTAIN_LEAD)
