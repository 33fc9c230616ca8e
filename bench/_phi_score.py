"""Recall and precision of found spans against labelled ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bench._phi_set import Utterance

Found = Sequence[tuple[int, int, str]]
"""Character offsets and the finder's own name for the class."""
Finder = Callable[[Utterance], Found]


@dataclass
class Score:
    """Counts of one class, or of all."""

    labelled: int = 0
    covered: int = 0
    named: int = 0
    """Covered by a span of the labelled class."""
    marked: int = 0
    right: int = 0

    @property
    def recall(self) -> float:
        """Share of the labelled spans that are masked to the last letter and digit."""
        return self.covered / self.labelled if self.labelled else 1.0

    @property
    def precision(self) -> float:
        """Share of the found spans that are at least half inside labelled ones."""
        return self.right / self.marked if self.marked else 1.0


@dataclass
class Scores:
    """Of one finder on one half of the set."""

    groups: dict[str, Score] = field(default_factory=lambda: defaultdict(Score))
    total: Score = field(default_factory=Score)
    misses: list[tuple[Utterance, str]] = field(default_factory=list)


def score(utterances: Sequence[Utterance], finder: Finder) -> Scores:
    """Labelled spans count for their class, found ones for the class the utterance is about."""
    scores = Scores()
    for utterance in utterances:
        found = finder(utterance)
        text = utterance.text
        masked = _places(text, found)
        for start, end, label in utterance.spans:
            covered = _places(text, [(start, end, label)]) <= masked
            named = covered and any(n == label for a, b, n in found if a < end and b > start)
            for counts in (scores.groups[label], scores.total):
                counts.labelled += 1
                counts.covered += covered
                counts.named += named
            if not covered:
                scores.misses.append((utterance, f"missed {label}: {text[start:end]}"))
        labelled = _places(text, utterance.spans)
        for start, end, name in found:
            inside = _places(text, [(start, end, name)])
            right = bool(inside) and 2 * len(inside & labelled) >= len(inside)
            for counts in (scores.groups[utterance.group], scores.total):
                counts.marked += 1
                counts.right += right
            if not right:
                scores.misses.append((utterance, f"wrong {name}: {text[start:end]}"))
    return scores


def _places(text: str, spans: Found) -> set[int]:
    """Characters that are letters or digits; blanks and punctuation may be masked or not."""
    return {i for start, end, _ in spans for i in range(start, end) if text[i].isalnum()}
