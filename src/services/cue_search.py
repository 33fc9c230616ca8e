"""Which words near a number say of which kind it is."""

from __future__ import annotations

from collections.abc import Sequence

from src.services.identifier_cues import CUES, GLUE, LONGEST_CUE
from src.services.spoken_forms import Word

CUE_WORDS_BACK = 14
"""How many words before a number its cue may be."""
_CUE_WORDS_AHEAD = 7
_GENERAL_CUES = {"PHONE": 8, "CARD": 2}
"""Classes whose cues fit other numbers too, and how many words before them a better one may be."""


def cue_near(words: Sequence[Word], first: int, last: int) -> tuple[str, int, int] | None:
    """The cue nearest to `words[first:last]`: its label, loose words between, and their number."""
    before = _cue_before(words, first)
    return before if before is not None else _cue_after(words, last)


def _cue_before(words: Sequence[Word], first: int) -> tuple[str, int, int] | None:
    loose = 0
    for end in range(first, max(0, first - CUE_WORDS_BACK), -1):
        for size in range(min(LONGEST_CUE, end), 0, -1):
            label = CUES.get(tuple(w.text for w in words[end - size : end]))
            if label is not None:
                label = _sharpened(words, end - size, label)
                return label, loose, first - end
        word = words[end - 1]
        loose += word.text not in GLUE and word.kind != "tag"
    return None


def _sharpened(words: Sequence[Word], first: int, label: str) -> str:
    """A cue that fits many things gives way to a better one before it: "aadhaar card number"."""
    back = _GENERAL_CUES.get(label, 0)
    for end in range(first, max(0, first - back), -1):
        for size in range(min(LONGEST_CUE, end), 0, -1):
            better = CUES.get(tuple(w.text for w in words[end - size : end]))
            if better is not None:
                return better
    return label


def _cue_after(words: Sequence[Word], last: int) -> tuple[str, int, int] | None:
    loose = 0
    for start in range(last, min(len(words), last + _CUE_WORDS_AHEAD)):
        for size in range(min(LONGEST_CUE, len(words) - start), 0, -1):
            label = CUES.get(tuple(w.text for w in words[start : start + size]))
            if label is not None:
                # "…, card 4111": announces the next code.
                ahead = words[start + size : start + size + 3]
                following = next((w for w in ahead if w.text not in GLUE), None)
                taken = following is not None and following.kind in ("digits", "mixed")
                return None if taken else (label, loose, start - last)
        loose += words[start].text not in GLUE
    return None
