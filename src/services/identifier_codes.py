"""Numbers and codes that identify somebody, however they were read out.

Digits and letters that follow each other, across fillers and corrections, make one code. What stands
beside it says of which kind it is; a code of seven digits identifies without any such words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from src.services.cue_search import CUE_WORDS_BACK, cue_near
from src.services.identifier_cues import (
    CUES,
    CURRENCY_BEFORE,
    GLUE,
    UNITS_OF_MEASURE,
)
from src.services.number_words import THOUSANDS
from src.services.spans import Span
from src.services.spoken_forms import Word
from src.services.word_lists import words_of

BARE_DIGITS = 7
"""A row of digits this long identifies whatever is said about it."""
_LOOSE_WORDS = 2
"""Words other than `GLUE` that may stand between a cue and a short code."""
_LONG_CODE = 6
_MAX_GAP_WORDS = 4
_GAP = re.compile(r"[\s,.\-\u2010-\u2015/()+#_;…]{0,6}")
_FILLERS = words_of(
    "uh um er erm hmm ah no sorry wait then dash hyphen space slash plus mean and actually rather matlab "
    "nahi underscore umm uhh"
)
_YEARS = re.compile(r"(?:19|20)\d\d")
_SPELLED_OUT = 6
"""Single digits and letters said one by one: nobody says a price or a count like that."""
_SHAPES = (
    ("ACCOUNT", re.compile(r"[a-z]{2}[0-9]{2}[a-z]{4}[0-9]{7}[a-z0-9]{0,19}|[a-z]{2}[0-9]{18,24}")),
    ("PAN", re.compile(r"[a-z]{3}[abcfghljpt][a-z][0-9]{4}[a-z]")),
    (
        "PLATE",
        re.compile(
            r"[a-z]{2}[0-9]{1,2}[a-z]{1,3}[0-9]{4}|[a-z]{2}[0-9]{2}[a-z]{3}|[0-9][a-z]{3}[0-9]{3}"
        ),
    ),
    ("NATIONAL_ID", re.compile(r"[a-ceghj-prstw-z][a-ceghj-nprstw-z][0-9]{6}[a-d]")),
)
"""Written forms that hardly anything else has."""
_LAST_DIGITS = words_of("last ending ends end aakhri number number's digits four नंबर ank رقم")
_POSTCODES = (5, 6, 9, 10, 12)
"""Digits of a postcode; ten and twelve: it was said twice, the second time right."""
_CLOCK = frozenset({"am", "pm", "a.m", "p.m"})
_MIN_WITH_CUE = {"POSTCODE": 5, "PAN": 4, "DATE_OF_BIRTH": 4, "MRN": 4, "DEVICE": 5, "IP": 6}
# Shorter ones are parts of codes as well: "DL" begins the plates of Delhi.
_CUE_WORDS = {w for phrase in CUES for w in phrase if len(w) > 2} | {"id", "no"}
_BEFORE_CODES = (GLUE | {phrase[-1] for phrase in CUES}) - {
    "a",
    "the",
    "to",
    "on",
    "at",
    "in",
    "me",
}


@dataclass(frozen=True, slots=True)
class Code:
    """A row of words that are digits and letters: `words[first:last]`."""

    first: int
    last: int
    text: str
    """Without anything between."""

    @property
    def digits(self) -> int:
        """How many digits."""
        return sum(c.isdigit() for c in self.text)

    @property
    def letters(self) -> int:
        """How many letters."""
        return len(self.text) - self.digits


def codes(text: str, words: Sequence[Word]) -> Iterator[Code]:
    """Every row of digits and letters, from left to right."""
    at = 0
    while at < len(words):
        if not _is_part(text, words, at):
            at += 1
            continue
        last = at + 1
        while (following := _next_part(text, words, last)) is not None:
            last = following + 1
        first, end = _trimmed(text, words, at, last)
        if first < end:
            parts = (w for w in words[first:end] if _is_code_word(w))
            yield Code(first, end, "".join(w.text for w in parts))
        at = last


def find_codes(text: str, words: Sequence[Word]) -> list[Span]:
    """The codes that identify somebody."""
    found = []
    for code in codes(text, words):
        label = _label(text, words, code)
        if label:
            plus = code.first > 0 and words[code.first - 1].text == "plus"
            first = code.first - plus
            found.append(Span(words[first].start, words[code.last - 1].end, label))
    return found


def _is_code_word(word: Word) -> bool:
    return word.kind in ("digits", "letters", "mixed") or _is_capital_group(word)


def _is_capital_group(word: Word) -> bool:
    if word.kind != "word" or word.text in _CUE_WORDS:
        return False
    return 2 <= len(word.raw) <= 5 and word.raw.isupper()


def _is_part(text: str, words: Sequence[Word], at: int) -> bool:
    word = words[at]
    if word.kind in ("digits", "letters", "mixed"):
        return True
    if not _is_capital_group(word):
        return False
    # Capitals belong to a code only beside its digits: "KA 01", not "the MRI".
    return any(
        0 <= near < len(words)
        and words[near].kind in ("digits", "mixed", "letters")
        and _GAP.fullmatch(
            text[min(word.end, words[near].end) : max(word.start, words[near].start)]
        )
        for near in (at - 1, at + 1)
    )


def _next_part(text: str, words: Sequence[Word], at: int) -> int | None:
    """The next word of the code that was read up to `at`, past fillers; None at its end."""
    for ahead in range(at, min(at + _MAX_GAP_WORDS + 1, len(words))):
        if not _GAP.fullmatch(text[words[ahead - 1].end : words[ahead].start]):
            return None
        if words[ahead].text == "i" and ahead + 1 < len(words) and words[ahead + 1].text == "mean":
            continue
        if _is_part(text, words, ahead):
            between = [w.text for w in words[at:ahead]]
            return None if between in (["and"], ["no"]) else ahead
        if words[ahead].text not in _FILLERS:
            return None
    return None


def _trimmed(text: str, words: Sequence[Word], first: int, last: int) -> tuple[int, int]:
    """Without an article or pronoun at its edges: "a 4", "5 i think"."""
    if last - first > 1 and words[first].text in ("a", "i") and words[first].kind == "letters":
        told = first > 0 and words[first - 1].text in _BEFORE_CODES
        if words[first + 1].kind == "digits" and not told:
            first += 1
    if last - first > 1 and words[last - 1].text in ("a", "i") and last < len(words):
        gap = text[words[last - 1].end : words[last].start]
        if not gap.strip() and words[last].text not in ("hai", "h", "है", "likha"):
            last -= 1
    return first, last


def _label(text: str, words: Sequence[Word], code: Code) -> str | None:
    if _is_quantity(text, words, code):
        return None
    cue = cue_near(words, code.first, code.last)
    if cue is not None:
        label, loose, _ = cue
        long = len(code.text) >= _LONG_CODE and code.digits >= 3
        if (
            loose <= (CUE_WORDS_BACK if long else _LOOSE_WORDS)
            and _fits(label, code)
            and not _is_year(words, code)
        ):
            return label
    return _bare_label(words, code)


def _fits(label: str, code: Code) -> bool:
    size = len(code.text)
    if label == "POSTCODE":
        return (code.letters == 0 and code.digits in _POSTCODES) or (
            5 <= size <= 7 and code.digits in (2, 3) and 3 <= code.letters <= 4
        )
    if label == "DATE_OF_BIRTH":
        return code.letters == 0 and 4 <= size <= 8 and not _YEARS.fullmatch(code.text)
    if label == "PAN":
        return code.letters > 0 and 4 <= size <= 12
    if code.letters and code.digits < 2:
        return label == "MEMBER_ID" and 3 <= size <= 5
    return size >= _MIN_WITH_CUE.get(label, 4)


def _bare_label(words: Sequence[Word], code: Code) -> str | None:
    """A code without a cue."""
    row = [w for w in words[code.first : code.last] if _is_code_word(w)]
    spelled_out = len(row) >= _SPELLED_OUT and sum(len(w.text) == 1 for w in row) >= _SPELLED_OUT
    if code.letters:
        shape = next((label for label, form in _SHAPES if form.fullmatch(code.text)), None)
        enough = 2 if spelled_out else 4 if len(row) > 1 else 5
        long = code.digits >= enough and len(code.text) >= _LONG_CODE
        return shape or ("NUMBER" if long else None)
    if _all_years(row) or code.digits < (_SPELLED_OUT if spelled_out else BARE_DIGITS):
        return None
    if 13 <= code.digits <= 19:
        return "CARD" if _luhn(code.text) else "NUMBER"
    return "PHONE" if code.digits in (10, 11) else "NUMBER"


def _is_year(words: Sequence[Word], code: Code) -> bool:
    """Four digits that are a year, unless somebody's last four."""
    told = {w.text for w in words[max(0, code.first - 5) : code.first]}
    return bool(_YEARS.fullmatch(code.text)) and not told & _LAST_DIGITS


def _all_years(words: Sequence[Word]) -> bool:
    return all(_YEARS.fullmatch(w.text) for w in words if w.kind == "digits")


def _luhn(digits: str) -> bool:
    doubled = (sum(divmod(int(d) * (1 + i % 2), 10)) for i, d in enumerate(reversed(digits)))
    return sum(doubled) % 10 == 0


def _is_quantity(text: str, words: Sequence[Word], code: Code) -> bool:
    following = words[code.last].text if code.last < len(words) else ""
    if following in _CLOCK:
        return code.digits <= 4 and not code.letters
    if following in UNITS_OF_MEASURE and not code.letters:
        return True
    row = words[code.first : code.last]
    if len(row) == 1 and THOUSANDS & set(row[0].raw.lower().split()):
        return True
    before = text[max(0, words[code.first].start - 2) : words[code.first].start]
    if any(sign in before for sign in "$€£₹"):
        return True
    return code.first > 0 and words[code.first - 1].text in CURRENCY_BEFORE
