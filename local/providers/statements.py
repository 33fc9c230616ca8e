"""What a prompt states, sentence by sentence, and how well a sentence fits a question by its words."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

_STOP = """
a about again all am an and any are as ask at be been but by can could did do does for from
get give go had has have he hello help her hey hi him his how i if in is it its just know
let like long many may me mean might much my need no not now of oh ok okay on one or our
please really said say she should so some sorry take takes tell than thank that the their
them then there they this to today too uh um us want was we well were what when where which
who why will with would yeah yes you your
"""
STOP_WORDS = frozenset(_STOP.split())
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[^\s\d])|\n+")
_LABEL = re.compile(r"^(?:q|a|question|answer)\s*:\s*", re.IGNORECASE)
_INSTRUCTION = re.compile(
    r"^(?:you (?:are|must|should|speak|help)|your (?:name|job|role|task|goal)|always|never|do not|"
    r"don't|if (?:the (?:caller|user|customer)|they|you|asked|someone)|answer|be|keep|use|ask|speak|"
    r"greet|respond|reply|avoid|stay|act|notes from|these (?:are|lines)|they are data|treat|the following)\b",
    re.IGNORECASE,
)
_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}(?: \d{2}:\d{2})?\s*(?:\([^)]*\))?\s*:\s*")
_HEADING = re.compile(r"^#{1,6}\s+(.*)")
_FIELD = re.compile(r"^[A-Za-z][\w' -]{1,30}?\s*[:=]\s*\S")


@dataclass(frozen=True)
class Statement:
    """One sentence that may be quoted."""

    text: str
    context: str = ""
    """Words that say what the sentence is about: its heading, or the question it answers."""
    said_by: str = "system"
    """Role of the message it stands in."""

    @property
    def is_instruction(self) -> bool:
        """Whether it tells the agent how to behave rather than something to pass on."""
        return self.said_by == "system" and bool(_INSTRUCTION.match(self.text))


def sentences(text: str) -> list[str]:
    """The sentences and lines of a text, without list marks."""
    parts = (part.strip(" -*>\t") for part in _SENTENCE_END.split(text))
    return [part for part in parts if part]


def statements(text: str, *, said_by: str = "system") -> list[Statement]:
    """What a text states; a question in it only lends its words to the answer that follows."""
    found: list[Statement] = []
    heading = question = ""
    for raw in sentences(text):
        if title := _HEADING.match(raw):
            heading, question = title[1], ""
            continue
        part = _DATE.sub("", _LABEL.sub("", raw))
        if part.endswith("?"):
            question = part
        elif len(part.split()) > 2 or _FIELD.match(part) or question:
            found.append(Statement(part, f"{heading} {question}".strip(), said_by))
            question = ""
    return found


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """A crude stem: enough that "refunds" meets "refund" and "closed" meets "closes"."""
    if len(word) < 5:
        return word[:-1] if len(word) == 4 and word.endswith("s") else word
    if word.endswith("ies"):
        return word[:-3] + "y"
    word = re.sub(r"(?:ing|ed|es|s)$", "", word)
    return word.removesuffix("e")


def terms(text: str) -> frozenset[str]:
    """Stems of the words that carry meaning."""
    words = re.findall(r"[^\W_]+", text.lower().replace("'", ""))
    return frozenset(stem(word) for word in words if word not in STOP_WORDS)


@lru_cache(maxsize=32768)
def likeness(one: str, other: str) -> float:
    """How alike two stems are: 1 the same, 0 not; between them what a recogniser mishears."""
    if one == other:
        return 1.0
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < 5 or longer[0] != shorter[0]:
        return 0.0
    if longer.startswith(shorter[: max(5, len(longer) - 3)]):
        return 0.9
    return 0.7 if difflib.SequenceMatcher(None, one, other).ratio() >= 0.8 else 0.0


def best_likeness(term: str, others: Iterable[str]) -> float:
    """Likeness of the closest of the others."""
    return max((likeness(term, other) for other in others), default=0.0)


def coverage(asked: frozenset[str], candidates: Sequence[Statement]) -> list[float]:
    """For each candidate the share of the asked words it has, rare words counting more."""
    own = [terms(candidate.text) for candidate in candidates]
    around = [
        terms(candidate.context) - words for candidate, words in zip(candidates, own, strict=True)
    ]
    weights = {}
    for term in asked:
        holders = sum(1 for words, near in zip(own, around, strict=True) if term in words | near)
        weights[term] = math.log(1 + (1 + len(candidates)) / (1 + holders))
    total = sum(weights.values()) or 1.0

    def share(words: frozenset[str], near: frozenset[str]) -> float:
        hits = (
            weight * max(best_likeness(term, words), 0.8 * best_likeness(term, near))
            for term, weight in weights.items()
        )
        return sum(hits) / total

    return [share(words, near) for words, near in zip(own, around, strict=True)]
