"""What was said as it would be written, word by word, each with its place in the text.

"Double nine, oh" becomes `99` `0`, "forty two" `42`, "d as in david" `d`, "٤٢" `42`; other words stay as
they are. Whatever is found in the written form can so be masked in the words that were said. One pass
over the text, with a bounded look ahead.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from src.services.number_words import (
    AMBIGUOUS,
    ARABIC_TENS,
    HINDI_IN_LATIN,
    HUNDREDS,
    ORDINALS,
    REPEATS,
    TEENS,
    TENS,
    THOUSANDS,
    UNITS,
    ZEROS_IN_NUMBERS,
)

Kind = Literal["word", "digits", "letters", "mixed", "tag"]

# Vowel signs and the like are no \w in Python; a word of Hindi or Arabic is in pieces without them.
_CHAR = r"(?:[^\W_]|[\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963])"
_TOKEN = re.compile(rf"\[[A-Z_]{{2,30}}\]|{_CHAR}+(?:['\u2019]{_CHAR}+)*")
_ORDINAL_DIGITS = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)")
_FILLERS = frozenset({"uh", "um", "er", "erm", "hmm", "and", "then", "phir", "no", "sorry"})
_MAX_FILLERS = 4
_LETTER_FOR = frozenset({"for", "like", "से", "se"})


@dataclass(frozen=True, slots=True)
class Word:
    """One word of the written form."""

    text: str
    """Lower case, digits in ASCII."""
    start: int
    """Character offset of the first word that was said for it."""
    end: int
    kind: Kind
    raw: str
    """As it was said."""
    ordinal: bool = False

    @property
    def value(self) -> int:
        """The number; -1 if it is none or too long to be a quantity."""
        return int(self.text) if self.kind == "digits" and len(self.text) <= 9 else -1


def written_form(text: str, *, language: str = "en") -> list[Word]:
    """The words of a text, numbers and spelled letters as they would be written."""
    tokens = [_Token(m[0], m.start(), m.end()) for m in _TOKEN.finditer(text)]
    reader = _Reader(tokens, hindi=language.startswith("hi"))
    words: list[Word] = []
    while reader.at < len(tokens):
        words.append(reader.next_word())
    return words


class _Token:
    __slots__ = ("end", "low", "raw", "start")

    def __init__(self, raw: str, start: int, end: int) -> None:
        self.raw, self.start, self.end = raw, start, end
        self.low = _ascii_digits(raw.lower().replace("\u2019", "'"))


class _Reader:
    """Reads tokens from left to right."""

    def __init__(self, tokens: Sequence[_Token], *, hindi: bool) -> None:
        self._tokens, self._hindi = tokens, hindi
        self.at = 0

    def next_word(self) -> Word:
        """The word that begins at the current token."""
        for read in (self._repeat, self._ordinal, self._number, self._letter):
            found = read(self.at)
            if found is not None:
                text, kind, used = found
                return self._word(text, kind, used, ordinal=read == self._ordinal)
        low = self._tokens[self.at].low
        if low.startswith("["):
            return self._word(low, "tag", 1)
        digits = sum(c.isdigit() for c in low)
        if digits and digits == len(low) and low.isascii():
            return self._word(low, "digits", 1)
        return self._word(low, "mixed" if digits else "word", 1)

    def _word(self, text: str, kind: Kind, used: int, *, ordinal: bool = False) -> Word:
        first, last = self._tokens[self.at], self._tokens[self.at + used - 1]
        raw = " ".join(t.raw for t in self._tokens[self.at : self.at + used])
        self.at += used
        return Word(text, first.start, last.end, kind, raw, ordinal)

    def _low(self, at: int) -> str:
        return self._tokens[at].low if 0 <= at < len(self._tokens) else ""

    def _repeat(self, at: int) -> tuple[str, Kind, int] | None:
        count = REPEATS.get(self._low(at))
        if count is None:
            return None
        following = self._low(at + 1)
        digit = following if len(following) == 1 and following.isdigit() else self._unit(at + 1)
        if digit is None and following in ZEROS_IN_NUMBERS:
            digit = "0"
        if digit is not None:
            return digit * count, "digits", 2
        if len(following) == 1 and following.isalpha():
            return following * count, "letters", 2
        return None

    def _ordinal(self, at: int) -> tuple[str, Kind, int] | None:
        low = self._low(at)
        if match := _ORDINAL_DIGITS.fullmatch(low):
            return match[1], "digits", 1
        if low in ORDINALS:
            return str(ORDINALS[low]), "digits", 1
        if low in TENS and ORDINALS.get(self._low(at + 1), 10) < 10:
            return str(TENS[low] + ORDINALS[self._low(at + 1)]), "digits", 2
        return None

    def _letter(self, at: int) -> tuple[str, Kind, int] | None:
        low = self._low(at)
        if len(low) != 1 or not low.isalpha():
            return None
        link, word = self._low(at + 1), self._low(at + 2)
        if link == "as" and word == "in" and self._low(at + 3).startswith(low):
            return low, "letters", 4 + self._is_x_ray(at + 3)
        if link in _LETTER_FOR and word.startswith(low) and (len(word) > 1 or low == "x"):
            return low, "letters", 3 + self._is_x_ray(at + 2)
        return low, "letters", 1

    def _is_x_ray(self, at: int) -> bool:
        return self._low(at) == "x" and self._low(at + 1) == "ray"

    def _number(self, at: int) -> tuple[str, Kind, int] | None:
        """A number below a million, or one chunk of a longer row of digits."""
        high = self._below_thousand(at)
        if high is None:
            return ("0", "digits", 1) if self._is_zero(at) else None
        text, used = high
        if self._low(at + used) not in THOUSANDS:
            return text, "digits", used
        used += 1
        rest = self._below_thousand(at + used + (self._low(at + used) == "and"))
        if rest is None:
            return f"{text}000", "digits", used
        used += rest[1] + (self._low(at + used) == "and")
        return f"{text}{int(rest[0]):03}", "digits", used

    def _below_thousand(self, at: int) -> tuple[str, int] | None:
        if self._low(at) == "a" and self._low(at + 1) in HUNDREDS | THOUSANDS:
            base: tuple[str, int] | None = ("1", 1)
        elif self._low(at) in HUNDREDS and self._hindi_or_foreign(at):
            return "100", 1
        else:
            base = self._below_hundred(at)
        if base is None or self._low(at + base[1]) not in HUNDREDS:
            return base
        text, used = base[0], base[1] + 1
        linked = self._low(at + used) == "and"
        rest = self._below_hundred(at + used + linked)
        if rest is None:
            return f"{text}00", used
        return f"{text}{int(rest[0]):02}", used + linked + rest[1]

    def _below_hundred(self, at: int) -> tuple[str, int] | None:
        low = self._low(at)
        if low in TENS:
            unit = self._unit(at + 1)
            return (
                (str(TENS[low] + int(unit)), 2) if unit not in (None, "0") else (str(TENS[low]), 1)
            )
        if low in ARABIC_TENS:
            return str(ARABIC_TENS[low]), 1
        if low in TEENS:
            return (str(TEENS[low]), 1) if self._is_number_here(at) else None
        return self._arabic_pair(at)

    def _arabic_pair(self, at: int) -> tuple[str, int] | None:
        """A unit, or in Arabic a unit "and" a ten."""
        unit = self._unit(at)
        following = self._low(at + 1)
        if unit is not None and following.startswith("و") and following[1:] in ARABIC_TENS:
            return str(ARABIC_TENS[following[1:]] + int(unit)), 2
        return None if unit is None else (unit, 1)

    def _unit(self, at: int) -> str | None:
        value = UNITS.get(self._low(at))
        return str(value) if value is not None and self._is_number_here(at) else None

    def _is_number_here(self, at: int) -> bool:
        if self._hindi or self._low(at) not in AMBIGUOUS:
            return True
        return any(self._beside(at, step) in HINDI_IN_LATIN for step in (-1, 1))

    def _beside(self, at: int, step: int) -> str:
        """The next token in a direction that is no filler."""
        place = at + step
        while abs(place - at) < _MAX_FILLERS and self._low(place) in _FILLERS:
            place += step
        return self._low(place)

    def _hindi_or_foreign(self, at: int) -> bool:
        return self._low(at) in ("sau", "सौ", "مئة", "مائة")

    def _is_zero(self, at: int) -> bool:
        return self._low(at) in ZEROS_IN_NUMBERS and (
            self._is_digit_word(at - 1) or self._is_digit_word(at + 1)
        )

    def _is_digit_word(self, at: int) -> bool:
        low = self._low(at)
        number = low in UNITS or low in TEENS or low in TENS or low in HUNDREDS or low in REPEATS
        # Two in a row ("oh oh") count as well; a letter may come before or after ("b oh four").
        return (
            number
            or low[:1].isdigit()
            or (len(low) == 1 and low not in "ai")
            or low in ZEROS_IN_NUMBERS
        )


def _ascii_digits(text: str) -> str:
    if text.isascii():
        return text
    return "".join(
        str(unicodedata.decimal(c)) if unicodedata.decimal(c, None) is not None else c for c in text
    )
