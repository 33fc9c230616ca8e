"""Numbers, amounts of money, days and times as they are said in a call."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SMALL = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_WORDS = {word: number for number, word in enumerate(_SMALL)} | {
    word: 10 * (place + 2) for place, word in enumerate(_TENS)
}
_SCALES = {"hundred": 100, "thousand": 1000, "lakh": 100_000, "million": 1_000_000}
_WORD = "|".join([*_WORDS, *_SCALES])
_NUMBER = (
    r"(?<![\w.,])-?(?:\d{1,3}(?:,\d{2,3})+|\d+)(?:\.\d+)?(?![\w]|[.,]\d)"
    rf"|\b(?:{_WORD})(?:[ -](?:and )?(?:{_WORD}))*\b"
)
_A_NUMBER = re.compile(_NUMBER, re.IGNORECASE)
_MONEY = re.compile(
    rf"(?:[$€£₹]|\brs\.?)\s?(?P<after>(?:\d{{1,3}}(?:,\d{{2,3}})+|\d+)(?:\.\d+)?)"
    rf"|(?P<before>{_NUMBER})\s?(?:[€₹]|(?:dollars?|euros?|pounds?|rupees?|rupaye|pesos?|usd|eur|inr)\b"
    rf"|रुपये|रुपए)",
    re.IGNORECASE,
)

_MONTH = (
    "(?:january|february|march|april|may|june|july|august|september|october|november|december"
    "|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)"
)
_WEEKDAY = (
    "(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday"
    "|lunes|martes|mi[eé]rcoles|jueves|viernes|s[aá]bado|domingo"
    "|somvaar|mangalvaar|budhvaar|guruvaar|shukravaar|shanivaar|ravivaar)"
)
_DAY = re.compile(
    r"\d{4}-\d{2}-\d{2}"
    rf"|\b(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of| de)? {_MONTH}(?:,? (?:de )?\d{{4}})?\b"
    rf"|\b{_MONTH} (?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?\b"
    rf"|\b(?:(?:next|this|el|el pr[oó]ximo) )?{_WEEKDAY}\b"
    r"|\b(?:the day after tomorrow|tomorrow|today|tonight|next (?:week|month)|pasado ma[nñ]ana|ma[nñ]ana)\b"
    r"|सोमवार|मंगलवार|बुधवार|गुरुवार|शुक्रवार|शनिवार|रविवार|कल",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\b\d{1,2}[:.]\d{2}(?: ?[ap]\.?m\b\.?)?|\b\d{1,2} ?[ap]\.?m\b\.?"
    rf"|\b(?:half past |quarter (?:to|past) )?(?:{_WORD}|\d{{1,2}})(?: o'?clock| in the (?:morning|afternoon|evening)| baje)\b"
    r"|\b(?:noon|midnight)\b",
    re.IGNORECASE,
)


def numbers(text: str) -> Iterator[float]:
    """Every number, in digits or in English words."""
    return (_number(found[0]) for found in _A_NUMBER.finditer(text))


def amounts(text: str) -> Iterator[float]:
    """Every number that a currency stands beside."""
    return (_number(found["after"] or found["before"]) for found in _MONEY.finditer(text))


def day(text: str) -> str:
    """The last day named; empty if there is none. The last, since the first may be refused."""
    return _last(_DAY, text)


def time(text: str) -> str:
    """The last time of day named; empty if there is none."""
    return _last(_TIME, text)


def _last(pattern: re.Pattern[str], text: str) -> str:
    found = ""
    for match in pattern.finditer(text):
        found = match[0]
    return found


def _number(said: str) -> float:
    if any(mark.isdigit() for mark in said):
        return float(said.replace(",", ""))
    total = part = 0
    for word in re.split(r"[ -]", said.lower()):
        if word == "hundred":
            part = max(part, 1) * 100
        elif word in _SCALES:
            total, part = total + max(part, 1) * _SCALES[word], 0
        else:
            part += _WORDS.get(word, 0)
    return float(total + part)
