"""Days of a calendar and ages above 89, as said and as written."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from src.services.cue_search import cue_near
from src.services.identifier_codes import codes
from src.services.identifier_cues import UNITS_OF_MEASURE
from src.services.spans import Span
from src.services.spoken_forms import Word
from src.services.word_lists import words_of

OLDEST_PLAIN_AGE = 89
"""Ages above it identify (HIPAA Safe Harbor, 45 CFR 164.514(b)(2)(i)(C))."""
_OLDEST = 120

_MONTHS = words_of(
    "january february march april may june july august september october november december jan feb mar "
    "apr jun jul aug sep sept oct nov dec janvari janwari farvari mai julai agast sitambar aktubar "
    "navambar disambar जनवरी फ़रवरी फरवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर सितम्बर अक्टूबर अक्तूबर "
    "नवंबर नवम्बर दिसंबर दिसम्बर يناير فبراير مارس أبريل ابريل إبريل مايو يونيو يوليو أغسطس اغسطس سبتمبر "
    "أكتوبر اكتوبر نوفمبر ديسمبر"
)
_VERBS = frozenset({"may", "march", "mar"})
_SUBJECTS = words_of("i you we he she it they that this who and")
_LINKS = frozenset({"of", "the", "من", "ki", "ke"})
_NUMERIC = re.compile(
    r"(?<![0-9./-])(?:[0-9]{1,2}([/.-])[0-9]{1,2}\1(?:[0-9]{4}|[0-9]{2})|[0-9]{4}([/-])[0-9]{1,2}\2[0-9]{1,2})(?![0-9]|[./-][0-9])"
)
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_BIRTH_WORDS = 8

_AGE_AFTER = words_of("years year year's yrs yr saal sal साल वर्ष سنة عاما عام سنوات")
_AGE_AFTER_NEXT = words_of("old of young ki ka ke के की का")
_AGE_BEFORE = words_of(
    "age aged turned turning turns i'm he's she's umar umr उम्र عمره عمرها عمري عمر"
)
_AGE_LINKS = words_of(
    "is was of at be will now almost nearly about just am already only over जدتي hai em"
)
_PEOPLE = words_of(
    "i he she who mother father grandmother grandfather grandma grandpa mom dad mum aunt uncle patient "
    "wife husband nana nani nanaji naniji dada dadi dadaji dadiji neighbor neighbour lady man woman gran "
    "granny granddad grandad nan nanna papa mummy mama baba amma appa sister brother sibling client "
    "resident member guy person friend parent relative great-grandmother"
)


def find_dates(text: str, words: Sequence[Word]) -> list[Span]:
    """Days with their month, and birthdays in figures."""
    found = [s for at, w in enumerate(words) if w.text in _MONTHS if (s := _around(words, at))]
    found += _numeric(text, words)
    found += _slashed(text, words)
    return found


def find_ages(text: str, words: Sequence[Word]) -> list[Span]:
    """Ages above `OLDEST_PLAIN_AGE`."""
    del text
    return [
        Span(w.start, w.end, "AGE")
        for at, w in enumerate(words)
        if OLDEST_PLAIN_AGE < w.value <= _OLDEST and not w.ordinal and _is_age(words, at)
    ]


def _around(words: Sequence[Word], at: int) -> Span | None:
    """The date whose month is `words[at]`."""
    first, last = at, at + 1
    before = at - 1
    while before >= 0 and words[before].text in _LINKS:
        before -= 1
    day_before = before >= 0 and 1 <= words[before].value <= 31 and at - before <= 3
    after = at + 1
    while after < len(words) and words[after].text in _LINKS:
        after += 1
    day_after = after < len(words) and 1 <= words[after].value <= 31 and after - at <= 2
    if day_before:
        first, last = before, _past_year(words, at + 1)
    elif day_after and not _is_verb(words, at, after):
        last = _past_year(words, after + 1)
    elif not _is_whole_year(words, at + 1):
        return None
    else:
        last = _past_year(words, at + 1)
    if first > 0 and words[first - 1].text == "the":
        first -= 1
    return Span(words[first].start, words[last - 1].end, _kind(words, first, last))


def _is_verb(words: Sequence[Word], at: int, day: int) -> bool:
    if words[at].text not in _VERBS or words[day].ordinal:
        return False
    return at > 0 and words[at - 1].text in _SUBJECTS


def _is_whole_year(words: Sequence[Word], at: int) -> bool:
    return at < len(words) and words[at].kind == "digits" and _is_year(words, at)


def _is_year(words: Sequence[Word], at: int) -> bool:
    return _past_year(words, at, short=False) > at


def _past_year(words: Sequence[Word], at: int, *, short: bool = True) -> int:
    """The place after the year at `at`; `at` itself if there is none."""
    text = [w.text for w in words[at : at + 3]] + ["", "", ""]
    if text[0] in ("sal", "of", "in") and text[1]:
        skipped = _past_year(words, at + 1, short=False)
        return skipped if skipped > at + 1 else at
    if _YEAR.fullmatch(text[0]):
        return at + 1
    if text[0] in ("19", "20"):
        if len(text[1]) == 2 and text[1].isdigit():
            return at + 2
        if text[1] == "0" and len(text[2]) == 1 and text[2].isdigit():
            return at + 3
    return at + 1 if short and len(text[0]) == 2 and text[0].isdigit() else at


def _kind(words: Sequence[Word], first: int, last: int) -> str:
    cue = cue_near(words, first, last)
    birth = cue is not None and cue[0] == "DATE_OF_BIRTH" and cue[2] <= _BIRTH_WORDS
    return "DATE_OF_BIRTH" if birth else "DATE"


def _numeric(text: str, words: Sequence[Word]) -> list[Span]:
    found = []
    starts = [w.start for w in words]
    for match in _NUMERIC.finditer(text):
        first, last = bisect_left(starts, match.start()), bisect_left(starts, match.end())
        found.append(Span(match.start(), match.end(), _kind(words, first, last)))
    return found


def _slashed(text: str, words: Sequence[Word]) -> list[Span]:
    """As in "Oh three slash twelve slash eighty one"."""
    found = []
    for code in codes(text, words):
        row = words[code.first : code.last]
        if sum(w.text == "slash" for w in row) == 2 and code.letters == 0:
            kind = _kind(words, code.first, code.last)
            found.append(Span(row[0].start, row[-1].end, kind))
    return found


def _is_age(words: Sequence[Word], at: int) -> bool:
    after = [w.text for w in words[at + 1 : at + 3]] + ["", ""]
    if after[0] in _AGE_AFTER:
        return (
            after[1] in _AGE_AFTER_NEXT
            or after[0] not in ("years", "saal", "साल")
            or _told(words, at)
        )
    return after[0] not in UNITS_OF_MEASURE and _told(words, at)


def _told(words: Sequence[Word], at: int) -> bool:
    """Whether what stands before says that a person is that old."""
    # "At ninety four I don't hear so well."
    following = words[at + 1].text if at + 1 < len(words) else ""
    if at > 0 and words[at - 1].text == "at" and following in ("i", "he", "she"):
        return True
    before = at - 1
    while before >= 0 and at - before <= 4 and words[before].text in _AGE_LINKS:
        before -= 1
    if before < 0:
        return len(words) == 1
    text = words[before].text
    owner = text.endswith("'s") and text.removesuffix("'s") in _PEOPLE
    if text in _AGE_BEFORE or owner or (text in _PEOPLE and before < at - 1):
        return True
    return text == "old" and before > 0 and words[before - 1].text == "how"
