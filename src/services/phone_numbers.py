"""Phone numbers as carriers send them, and whose they are."""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import unquote

import phonenumbers
from phonenumbers import NumberParseException, PhoneNumber, PhoneNumberFormat, PhoneNumberType
from phonenumbers import ValidationResult as Possibility

_MAX_RAW_LENGTH = 256
_MIN_DIGITS = 7
_MAX_DIGITS = 20
_SHARED_DIGITS = 10
# Without a region, ten bare digits are more likely a national number than an international one.
_MIN_BARE_INTERNATIONAL_DIGITS = 11
_BRACKETED = re.compile(r"<([^<>]*)>")
_SCHEME = re.compile(r"(?:tel|sips?|callto):\s*", re.IGNORECASE)
_CONTEXT = re.compile(r";phone-context=(\+[0-9]+)", re.IGNORECASE)
_EXTENSION = re.compile(r"[;,#]|(?:ext(?:ension|n)?|x)[.:]?\s*[0-9]", re.IGNORECASE)
_TRUNK_HINT = re.compile(r"\(\s*0\s*\)")
_SEPARATORS = re.compile(r"[\s()\[\]./\-\u2010-\u2015\u2212]+")
_WRITTEN = re.compile(r"\+?[0-9]+")
# What "anonymous", "restricted", "unavailable", "unknown", "blocked", "private" and "withheld" give
# on a keypad: some networks send that in place of a hidden number.
_WITHHELD_DIGITS = frozenset(
    ("266696687", "7378742833", "86282452253", "8656696", "2562533", "7748283", "94844353")
)
# Many people call from these, or nobody does.
_SERVICE_TYPES = frozenset(
    (
        *(PhoneNumberType.TOLL_FREE, PhoneNumberType.PREMIUM_RATE, PhoneNumberType.SHARED_COST),
        *(PhoneNumberType.UAN, PhoneNumberType.VOICEMAIL),
    )
)


@dataclass(frozen=True, slots=True)
class CallerNumber:
    """Who calls, as far as the network says."""

    e164: str | None
    """The whole number, if it is known for certain enough: see `to_e164`."""
    last10: str | None
    """What earlier calls are looked up by; None means no lookup."""
    raw: str | None
    """The number as received."""


def load_numbering_plans() -> None:
    """Read every country's plan now; else each is read from disk when its first number comes."""
    phonenumbers.PhoneMetadata.load_all()


def last10(raw: str | None) -> str | None:
    """The last ten digits of a number (all of them if it has seven to nine).

    None if it cannot tell people apart: fewer than seven digits, withheld, or a service number
    (toll-free, premium rate and the like). Text that is no phone number gives None as well.
    """
    written = _written(raw)
    if written is None:
        return None
    digits = written.removeprefix("+")
    if not _MIN_DIGITS <= len(digits) <= _MAX_DIGITS or digits in _WITHHELD_DIGITS:
        return None
    if not digits.strip("0") or _is_service(_parsed(written, None)):
        return None
    return digits[-_SHARED_DIGITS:]


def to_e164(raw: str | None, *, region: str | None) -> str | None:
    """The number in E.164, if it can be told; None otherwise.

    With `+` or `00` before it a number is whole, and need only be possible (its country exists and
    its length fits): numbering plans grow, and test numbers such as +15551234567 are not valid. Bare
    digits are a guess and must be valid: as a national number of `region` first, then as an
    international one whose plus the carrier left out.

    Args:
        raw: Anything a carrier may send: a number in any script's digits, a `tel:` or `sip:` URI.
        region: Two-letter country of numbers in national form, None if there is no telling.
    """
    written = _written(raw)
    if written is None or written.removeprefix("+") in _WITHHELD_DIGITS:
        return None
    number = _parsed(written, region)
    return None if number is None else phonenumbers.format_number(number, PhoneNumberFormat.E164)


@functools.lru_cache(maxsize=256)  # one lookup reads the same number in record after record
def caller_number(phone: str | None, original: str | None, *, region: str | None) -> CallerNumber:
    """The number of a caller or a record: `phone` decides, `original` only where that is blank.

    A caller who hides behind `phone` is not looked up by what `original` may still show.
    """
    raw = (phone or "").strip() or (original or "").strip() or None
    e164 = to_e164(raw, region=region)
    # By the whole number where it is known: short national numbers gain their country's digits,
    # and service numbers are recognised in national form too.
    return CallerNumber(e164=e164, last10=last10(e164 or raw), raw=raw)


def same_person(
    caller: CallerNumber, candidate_phone: str | None, candidate_original: str | None
) -> bool:
    """Whether a record with the same last ten digits is of the same person as the caller.

    Two whole numbers must be equal: nearly half of all Indian mobiles share their last ten digits
    with a valid North American number. A number made whole with the caller's region counts as whole,
    so that a wrong region loses memory and never tells it to a stranger. Where one of the two is
    known only in national form, the digits decide.
    """
    candidate = caller_number(candidate_phone, candidate_original, region=None)
    if caller.last10 is None or caller.last10 != candidate.last10:
        return False
    return caller.e164 is None or candidate.e164 is None or caller.e164 == candidate.e164


def _written(raw: str | None) -> str | None:
    """Plain digits, with a plus before them if the number is international; None if it is none."""
    if not raw or len(raw) > _MAX_RAW_LENGTH:
        return None
    text = "".join(map(_plain, unicodedata.normalize("NFKC", unquote(raw)))).strip()
    if bracketed := _BRACKETED.search(text):
        text = bracketed[1].strip()
    if scheme := _SCHEME.match(text):
        text = text[scheme.end() :]
    context = _CONTEXT.search(text)
    text = _EXTENSION.split(text.partition("@")[0], maxsplit=1)[0].strip()
    if context and not text.startswith("+"):
        text = f"{context[1]}{text}"
    if text.startswith(("+", "00")):
        text = _TRUNK_HINT.sub("", text)
    text = _SEPARATORS.sub("", text)
    if text.startswith("00"):
        text = f"+{text[2:]}"
    return text if _WRITTEN.fullmatch(text) else None


def _plain(character: str) -> str:
    """ASCII for a digit of any script; nothing for an invisible character."""
    if character.isascii():
        return character
    if unicodedata.category(character) == "Cf":
        return ""
    digit = unicodedata.decimal(character, None)
    return character if digit is None else str(digit)


def _parsed(written: str, region: str | None) -> PhoneNumber | None:
    if written.startswith("+"):
        number = _parse(written, None)
        fits = number and phonenumbers.is_possible_number_with_reason(number)
        return number if fits == Possibility.IS_POSSIBLE else None
    if region and _is_valid(number := _parse(written, region)):
        return number
    if region or len(written) >= _MIN_BARE_INTERNATIONAL_DIGITS:
        number = _parse(f"+{written}", None)
        return number if _is_valid(number) else None
    return None


def _parse(text: str, region: str | None) -> PhoneNumber | None:
    try:
        return phonenumbers.parse(text, region)
    except NumberParseException:
        return None


def _is_valid(number: PhoneNumber | None) -> bool:
    return number is not None and phonenumbers.is_valid_number(number)


def _is_service(number: PhoneNumber | None) -> bool:
    return number is not None and phonenumbers.number_type(number) in _SERVICE_TYPES
