"""Street addresses and postcodes, written or said."""

from __future__ import annotations

import re
from collections.abc import Sequence

from src.services.common_words import COMMON
from src.services.identifier_cues import UNITS_OF_MEASURE
from src.services.spans import Span
from src.services.spoken_forms import Word
from src.services.word_lists import words_of

_STREETS = words_of(
    "street st road rd avenue ave lane ln drive dr court ct boulevard blvd way place pl terrace close "
    "crescent highway hwy parkway square circle trail row walk grove gardens mews nagar marg colony "
    "chowk gali ganj vihar puram layout enclave path bazaar नगर मार्ग गली कॉलोनी चौक विहार रोड"
)
_HOUSES = (
    ("flat", "number"), ("flat", "no"), ("flat",), ("house", "number"), ("house", "no"), ("h", "no"),
    ("plot", "number"), ("plot", "no"), ("plot",), ("door", "number"), ("makaan", "number"),
    ("makan", "number"), ("मकान", "नंबर"), ("फ्लैट", "नंबर"), ("घर", "नंबर"),
)  # fmt: skip
_NOT_IN_STREETS = words_of("on at the in is and to from of down up along off near by my a")
_TOWN_BEGINS = words_of("new old great little upper lower")
_UNITS = words_of("apartment apt unit suite ste floor flat block sector phase room building tower")
_MAX_NAME = 4
_MAX_NUMBER = 6
_MAX_AREA = 6
_MAX_CITY = 3
_MAX_TAIL = 14
_UK_POSTCODE = re.compile(r"(?<!\w)[A-Z]{1,2}[0-9][0-9A-Z]? ?[0-9][A-Z]{2}(?!\w)")
_ZIP9 = re.compile(r"(?<![\w-])[0-9]{5}-[0-9]{4}(?![\w-])")
_BOX = re.compile(r"(?<!\w)p\.? ?o\.? box [0-9]{1,8}", re.IGNORECASE)


def find_places(text: str, words: Sequence[Word]) -> list[Span]:
    """Addresses of houses, and postcodes whose form gives them away."""
    found = [Span(m.start(), m.end(), "POSTCODE") for m in _UK_POSTCODE.finditer(text)]
    found += [Span(m.start(), m.end(), "POSTCODE") for m in _ZIP9.finditer(text)]
    found += [Span(m.start(), m.end(), "ADDRESS") for m in _BOX.finditer(text)]
    for at, word in enumerate(words):
        place = None
        if word.text in _STREETS:
            place = _street(words, at)
        elif word.text == "شارع":
            place = _arabic_street(words, at)
        place = place or _house(words, at)
        if place is not None:
            found.append(Span(words[place[0]].start, words[place[1] - 1].end, "ADDRESS"))
    return found


def _street(words: Sequence[Word], at: int) -> tuple[int, int] | None:
    """As in "Four eighty two hanson street apartment four b larsonfort"."""
    number = at - 1
    while number >= 0 and at - number <= _MAX_NAME and words[number].kind == "word":
        if words[number].text in _NOT_IN_STREETS:
            return None
        number -= 1
    if number < 0 or number == at - 1 or not _is_house_number(words[number]):
        return None
    first = number
    while first > 0 and number - first < _MAX_NUMBER and _is_house_number(words[first - 1]):
        first -= 1
    return first, _past_city(words, at + 1)


def _is_house_number(word: Word) -> bool:
    return word.kind in ("digits", "mixed") and len(word.text) <= 6


def _past_city(words: Sequence[Word], last: int) -> int:
    """The place after the unit, the town and its postcode."""
    names = 0
    end = min(last + _MAX_TAIL, len(words))
    while last < end:
        word = words[last]
        if word.text in _UNITS | _STREETS:
            last += 1
        elif names < _MAX_CITY and _names_town(words, last):
            names += 1
            last += 1
        elif _is_house_number(word) or (word.kind == "letters" and _after_number(words, last)):
            if not _counts(words, last):
                last += 1
            else:
                break
        else:
            break
    return last


def _names_town(words: Sequence[Word], at: int) -> bool:
    if words[at].text in _TOWN_BEGINS and at + 1 < len(words):
        at += 1
    return words[at].kind == "word" and words[at].text not in COMMON


def _after_number(words: Sequence[Word], at: int) -> bool:
    return words[at - 1].kind == "digits" or words[at - 1].text in _UNITS


def _counts(words: Sequence[Word], at: int) -> bool:
    return at + 1 < len(words) and words[at + 1].text in UNITS_OF_MEASURE


def _house(words: Sequence[Word], at: int) -> tuple[int, int] | None:
    """As in "Flat three oh two, gandhi nagar, surat"."""
    for lead in _HOUSES:
        number = at + len(lead)
        if tuple(w.text for w in words[at:number]) != lead:
            continue
        last = number
        while last < len(words) and last - number < _MAX_NUMBER and _is_house_number(words[last]):
            last += 1
        if last == number or _counts(words, last - 1):
            return None
        return at, _past_area(words, last)
    return None


def _past_area(words: Sequence[Word], last: int) -> int:
    """With the quarter that follows the number, if it is named as one."""
    for ahead in range(last, min(last + _MAX_AREA, len(words))):
        if words[ahead].text in _STREETS | {"sector", "phase", "block"}:
            return _past_city(words, ahead + 1)
        if words[ahead].kind == "word" and words[ahead].text in COMMON:
            break
    return last


def _arabic_street(words: Sequence[Word], at: int) -> tuple[int, int] | None:
    for ahead in range(at + 1, min(at + 6, len(words))):
        if words[ahead].kind == "digits":
            return at, ahead + 1
    return None
