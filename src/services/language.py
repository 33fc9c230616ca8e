"""Which language a conversation is in, and when it changes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from src.schemas.memory import LanguageTrigger
from src.services.language_requests import requested_language

MIN_CONFIDENCE = 0.7
"""Below it, what was detected says nothing."""
CONSISTENT_TURNS = 2
"""Turns in a row in another language that make it the language of the conversation."""

_MIN_WORDS = 2
"""One word is no evidence: "hola", "ok" and names are said in every language."""
_MIN_UNSPACED = 4
"""Likewise characters of scripts that put no blanks between words."""
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_WORD = re.compile(r"[^\W\d_]\S*")


class LanguageIdentifier(Protocol):
    """Tells the language of a written text."""

    def identify(self, text: str, languages: Sequence[str]) -> tuple[str, float] | None:
        """One of `languages` (BCP 47) and its probability; None if the text is too short to tell.

        Pure and thread-safe; a message takes less than a millisecond.
        """


@dataclass(frozen=True)
class LanguageSwitch:
    """The conversation changes its language; both are from the agent's list."""

    from_language: str
    to_language: str
    trigger: LanguageTrigger


class LanguagePolicy:
    """The language of one conversation; it never leaves the agent's list."""

    def __init__(self, supported: Sequence[str], *, current: str | None = None) -> None:
        """Start in `current`, such as what the person spoke last, else in the first language.

        Args:
            supported: BCP 47 languages of the agent, the default first.
            current: Any BCP 47 language; ignored if the agent does not have it.

        Raises:
            ValueError: `supported` is empty.
        """
        if not supported:
            raise ValueError("an agent needs at least one language")
        self._supported = tuple(supported)
        self._current = (self.resolve(current) if current else None) or self._supported[0]
        self._candidate: str | None = None
        self._turns = 0

    @property
    def current(self) -> str:
        """The language to reply in."""
        return self._current

    def resolve(self, language: str) -> str | None:
        """The agent's own entry for a language: the same tag, else its first region, else None."""
        wanted = language.strip().casefold().replace("_", "-")
        for entry in self._supported:
            if entry.casefold() == wanted:
                return entry
        return next((e for e in self._supported if base(e) == base(wanted)), None)

    def observe(
        self, text: str, *, detected: str | None = None, confidence: float = 1.0
    ) -> LanguageSwitch | None:
        """Take in one finished turn of the user; call it once per turn.

        Args:
            text: What was said or typed.
            detected: BCP 47 language of it, as recogniser or identifier say; None if they do not.
            confidence: Of `detected`, from 0 to 1.
        """
        bases = {base(entry) for entry in self._supported}
        if asked := requested_language(text, bases - {base(self._current)}):
            return self._switch(asked, "user_request")
        if not detected or confidence < MIN_CONFIDENCE or is_short(text):
            return None
        self._count(self.resolve(detected))
        if self._candidate and self._turns >= CONSISTENT_TURNS:
            return self._switch(self._candidate, "auto_detected")
        return None

    def request(self, language: str) -> LanguageSwitch | None:
        """The user asked for a language, as the language model understood it."""
        return self._switch(language, "user_request")

    def set(self, language: str) -> LanguageSwitch | None:
        """The user chose a language by hand, as in a browser."""
        return self._switch(language, "explicit_setting")

    def _count(self, heard: str | None) -> None:
        """A turn in the current or in no language of the list starts the count anew."""
        if heard is None or base(heard) == base(self._current):
            self._candidate, self._turns = None, 0
        elif self._candidate and base(heard) == base(self._candidate):
            self._turns += 1
        else:
            self._candidate, self._turns = heard, 1

    def _switch(self, language: str, trigger: LanguageTrigger) -> LanguageSwitch | None:
        to_language = self.resolve(language)
        if to_language is None:
            return None
        self._candidate, self._turns = None, 0
        if base(to_language) == base(self._current):
            return None  # another region is the same language
        switch = LanguageSwitch(self._current, to_language, trigger)
        self._current = to_language
        return switch


def base(language: str) -> str:
    """The language of a BCP 47 tag without script and region: `en` of `en-US`."""
    return language.strip().casefold().replace("_", "-").partition("-")[0]


def is_short(text: str) -> bool:
    """Whether a text has too few words to tell its language."""
    return len(_WORD.findall(text)) < _MIN_WORDS and len(_UNSPACED.findall(text)) < _MIN_UNSPACED
