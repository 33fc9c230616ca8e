"""The names a template may ask for, and what is known of each."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping

from typing_extensions import override

_SIMPLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.\- ]{0,99}")
_MAX_NAME_LENGTH = 100
# Characters that headers of spreadsheets use beside letters, marks and digits.
_HEADER_CHARACTERS = frozenset("_-. '\u2019()#&/+%?\u00a0\u200c\u200d")
_JOINERS = "\u200c\u200d"
_QUOTED = re.compile(r"(\"[^\"]*\"|'[^']*')")


def fold(name: str) -> str:
    """The form in which two spellings of one name are equal: case and blanks do not matter.

    Combining marks are spelled out, because Liquid cannot read them: see `lexable`.
    """
    if name.isascii():
        return " ".join(name.casefold().split())
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
    return _spell_marks(" ".join(folded.split()))


def lexable(expression: str) -> str:
    """A Liquid expression in which names of any script can be read; quoted text stays as it is."""
    if expression.isascii():
        return expression
    parts = _QUOTED.split(expression)
    parts[::2] = [_spell_marks(unicodedata.normalize("NFC", part)) for part in parts[::2]]
    return "".join(parts)


def has_range(expression: str) -> bool:
    """Whether a Liquid expression has a range, `(1..9)`, outside quoted text."""
    return ".." in expression and ".." in _QUOTED.sub("", expression)


def is_name(text: str) -> bool:
    """Whether text between braces reads like a name (`name`, `First Name`, `नाम`), not like code."""
    if _SIMPLE_NAME.fullmatch(text):
        return True
    if not text or len(text) > _MAX_NAME_LENGTH:
        return False
    if not (text[0] == "_" or unicodedata.category(text[0])[0] in "LN"):
        return False
    if not all(c in _HEADER_CHARACTERS or _is_name_character(c) for c in text):
        return False
    return text.isdigit() or any(c.isalpha() for c in text)


class Names(Mapping[str, str]):
    """What is known in a call, by folded name; a value of nothing but blanks is not known.

    System names are reserved: a value of the call under such a name is never used, so that no
    campaign can pass off a caller's number as another.
    """

    def __init__(
        self,
        values: Mapping[str, str],
        *,
        defaults: Mapping[str, str],
        system: Mapping[str, str],
    ) -> None:
        own, reserved = _folded(values), {fold(name) for name in system}
        free = {name: value for name, value in own.items() if name not in reserved}
        self._known = {**free, **_folded(system)}
        self._defaults = _folded(defaults)

    @override
    def __getitem__(self, name: str) -> str:
        return self._known[fold(name)]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    @override
    def __len__(self) -> int:
        return len(self._known)

    def default(self, name: str) -> str:
        """What the agent says in place of an unknown value; empty if it says nothing."""
        return self._defaults.get(fold(name), "")


def _folded(values: Mapping[str, str]) -> dict[str, str]:
    """The values that are not blank, by folded name; the first of two spellings wins."""
    folded: dict[str, str] = {}
    for name, value in values.items():
        if value.strip():
            folded.setdefault(fold(name), value)
    return folded


def _is_name_character(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in "LMN" or category == "Sc"


def _spell_marks(text: str) -> str:
    return "".join(
        f"_x{ord(c):x}_" if c in _JOINERS or unicodedata.category(c)[0] == "M" else c for c in text
    )
