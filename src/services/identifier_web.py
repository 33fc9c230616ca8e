"""Addresses of mail, web and network, written or said ("rob dot j at example dot com")."""

from __future__ import annotations

import re
from collections.abc import Sequence

from src.services.common_names import FAMILY_AFTER_GIVEN, GIVEN
from src.services.common_words import COMMON
from src.services.spans import Span
from src.services.spoken_forms import Word
from src.services.word_lists import words_of

_TLDS = words_of(
    "com org net in co edu gov io ai uk us me info biz app dev ae sa au ca de fr health care clinic "
    "कॉम इन كوم"
)
_TYPED_TLDS = (
    "com|org|net|in|co|edu|gov|io|ai|uk|us|me|info|biz|app|dev|ae|sa|au|ca|de|fr|health|care|clinic"
)
_DOTS = frozenset({"dot", "period", "डॉट", "دوت", "نقطة"})
_JOINERS = _DOTS | {"dash", "hyphen", "underscore", "minus", "डैश", "plus"}
_ATS = frozenset({"at", "एट", "آت", "ات"})
_MAX_WORDS = 24
_MAX_PLAIN = 2

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+'-]{1,64} ?@ ?[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
_URL = re.compile(
    rf"(?:https?://|www\.)[^\s,;<>\"]{{1,300}}|(?<![\w@.-])[a-z0-9-]{{1,63}}(?:\.[a-z0-9-]{{1,63}}){{0,3}}\.(?:{_TYPED_TLDS})(?![\w-])(?:/[^\s,;<>\"]{{0,300}})?",
    re.IGNORECASE,
)
_IP = re.compile(r"(?<![\w.])[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?![\w]|\.[0-9])")
_IP6 = re.compile(r"(?<![\w:])[0-9a-f]{1,4}(?::[0-9a-f]{0,4}){4,7}(?![\w:])", re.IGNORECASE)
_MAC = re.compile(r"(?<![\w:-])[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}(?![\w:-])", re.IGNORECASE)
_TRAILING = ".!?)'"


def find_web(text: str, words: Sequence[Word]) -> list[Span]:
    """E-mail addresses, links, and addresses of machines."""
    found = [Span(m.start(), m.end(), "EMAIL") for m in _EMAIL.finditer(text)]
    found += [
        Span(m.start(), m.start() + len(m[0].rstrip(_TRAILING)), "URL") for m in _URL.finditer(text)
    ]
    for pattern, label in ((_IP, "IP"), (_MAC, "DEVICE"), (_IP6, "IP")):
        found += [Span(m.start(), m.end(), label) for m in pattern.finditer(text)]
    return found + _spoken_hosts(words) + _spoken_ips(words)


def _spoken_hosts(words: Sequence[Word]) -> list[Span]:
    found: list[Span] = []
    done = 0
    for at in range(1, len(words) - 1):
        if at < done or words[at].text not in _DOTS or words[at + 1].text not in _TLDS:
            continue
        last = at + 2
        while last + 1 < len(words) and words[last].text in _DOTS and words[last + 1].text in _TLDS:
            last += 2
        first = _name_start(words, at - 1, floor=done)
        sign = _at_sign(words, first)
        if sign is not None and sign > done:
            span = (_name_start(words, sign - 1, floor=done), last, "EMAIL")
        else:
            last = _past_path(words, last)
            span = (_past_scheme(words, first, floor=done), last, "URL")
        found.append(Span(words[span[0]].start, words[span[1] - 1].end, span[2]))
        done = last
    return found


def _name_start(words: Sequence[Word], at: int, *, floor: int) -> int:
    """Where the name begins whose last word is `words[at]`."""
    plain = 0
    while at - 1 >= floor and plain <= _MAX_PLAIN:
        before, here = words[at - 1], words[at]
        if before.text in _JOINERS and at - 2 >= floor:
            at -= 2
        elif before.text in _ATS or before.text in _JOINERS:
            break
        elif (
            before.kind == "letters" and (before.text not in ("a", "i") or here.kind == "letters")
        ) or before.kind in ("digits", "mixed"):
            at -= 1
        elif plain < _MAX_PLAIN and _is_name_word(words, at - 1):
            plain += 1
            at -= 1
        else:
            break
    return at


def _is_name_word(words: Sequence[Word], at: int) -> bool:
    word = words[at]
    if word.text in FAMILY_AFTER_GIVEN and at > 0 and words[at - 1].text in GIVEN:
        return True
    return word.kind == "word" and word.text not in COMMON


def _at_sign(words: Sequence[Word], first: int) -> int | None:
    """Place of the sign's first word, if it stands right before `first`."""
    before = [w.text for w in words[max(0, first - 3) : first]]
    if before[-3:] == ["at", "the", "rate"]:
        return first - 3
    if before[-2:] == ["at", "rate"]:
        return first - 2
    return (
        first - 1 if before and before[-1] in _ATS and _names_somebody(words, first - 2) else None
    )


def _names_somebody(words: Sequence[Word], at: int) -> bool:
    """As in "I am at example dot com" is no e-mail address."""
    return at >= 0 and (words[at].kind != "word" or words[at].text not in COMMON)


def _past_scheme(words: Sequence[Word], first: int, *, floor: int) -> int:
    """Where the link begins, with "w w w dot" and "h t t p s colon slash slash"."""
    while first > floor:
        before = words[first - 1].text
        if (
            before in ("www", "http", "https", "colon", "slash")
            or before in _DOTS
            or (words[first - 1].kind == "letters" and before in "wtphs")
        ):
            first -= 1
        else:
            break
    return first


def _past_path(words: Sequence[Word], last: int) -> int:
    while last + 1 < len(words) and words[last].text == "slash":
        last += 2
        while last < len(words):
            if words[last].text in _JOINERS and last + 1 < len(words):
                last += 2
            elif words[last].kind in ("digits", "mixed") or _is_next_path_word(words, last):
                last += 1
            else:
                break
    return last


def _is_next_path_word(words: Sequence[Word], at: int) -> bool:
    word = words[at]
    if word.kind == "letters":
        return word.text not in ("a", "i")
    return word.kind == "word" and word.text not in COMMON and word.text != "slash"


def _spoken_ips(words: Sequence[Word]) -> list[Span]:
    """Four numbers with "dot" between."""
    found: list[Span] = []
    at = 0
    while at < len(words):
        ends: list[int] = []
        place = at
        while len(ends) < 4 and (end := _past_octet(words, place)) > place:
            ends.append(end)
            place = end + 1 if end < len(words) and words[end].text in _DOTS | {"point"} else end
            if place == end:
                break
        if len(ends) == 4:
            found.append(Span(words[at].start, words[ends[-1] - 1].end, "IP"))
            at = ends[-1]
        else:
            at += 1
    return found


def _past_octet(words: Sequence[Word], at: int) -> int:
    digits = ""
    while at < len(words) and words[at].kind == "digits" and len(digits + words[at].text) <= 3:
        digits += words[at].text
        at += 1
    return at
