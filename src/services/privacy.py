"""What identifies a person, found in speech as recognisers print it and in typed text, and masked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set

from src.schemas.memory import Redaction
from src.services.identifier_codes import find_codes
from src.services.identifier_dates import find_ages, find_dates
from src.services.identifier_places import find_places
from src.services.identifier_web import find_web
from src.services.person_names import allowed_places, find_names
from src.services.spans import Span, merged
from src.services.spoken_forms import written_form

TURNS_BEFORE = 3
"""Turns of the same speaker that are read along: a number spread over more is masked as each part."""
_MAX_BEFORE_CHARS = 600
_MAX_ROUNDS = 8
EVERYTHING = "[REDACTED]"
"""Stands for a text that could not be read."""


def find(
    text: str,
    *,
    language: str = "en",
    before: Sequence[str] = (),
    allowed: Set[str] = frozenset(),
    recognised: Iterable[Span] = (),
) -> list[Span]:
    """What identifies somebody in `text`, in order and without overlap. Linear in the text's length.

    Args:
        text: One turn.
        language: BCP 47; number words of every supported language are always read, it only settles
            words that mean something else in another one.
        before: The speaker's last turns. What they announced or began is found in `text`.
        allowed: Terms that are never a name, as `person_names.allow_list` gives them.
        recognised: Spans of `text` from elsewhere; names among them are left out where allowed.
    """
    earlier = "\n".join(before[-TURNS_BEFORE:])[-_MAX_BEFORE_CHARS:]
    joined = f"{earlier}\n{text}" if earlier else text
    offset = len(joined) - len(text)
    words = written_form(joined, language=language)
    places = allowed_places(words, allowed)
    spans = [
        *find_codes(joined, words),
        *find_dates(joined, words),
        *find_ages(joined, words),
        *find_web(joined, words),
        *find_places(joined, words),
        *find_names(joined, words, places),
    ]
    moved = [Span(max(s.start - offset, 0), s.end - offset, s.label) for s in spans]
    terms = {c - offset for i in places for c in range(words[i].start, words[i].end)}
    others = (s for s in recognised if s.label != "NAME" or terms.isdisjoint(range(s.start, s.end)))
    return merged(text, [*(s for s in moved if s.end > 0), *others])


def redact(
    text: str,
    *,
    language: str = "en",
    before: Sequence[str] = (),
    allowed: Set[str] = frozenset(),
    recognised: Iterable[Span] = (),
) -> Redaction:
    """Mask what `find` finds; the arguments are the same.

    Masking is repeated until nothing more is found, since a mask can move a number beside a cue:
    redacting the result again changes nothing. What is not done after some rounds is masked whole.
    """
    found: Counter[str] = Counter()
    spans = find(text, language=language, before=before, allowed=allowed, recognised=recognised)
    for _ in range(_MAX_ROUNDS):
        if not spans:
            return Redaction(text=text, found=dict(found))
        found.update(s.label for s in spans)
        text = _masked(text, spans)
        spans = find(text, language=language, before=before, allowed=allowed)
    return (
        Redaction(text=EVERYTHING, found={**found, "REDACTED": 1})
        if spans
        else Redaction(text=text, found=dict(found))
    )


def _masked(text: str, spans: Sequence[Span]) -> str:
    pieces, at = [], 0
    for span in spans:
        pieces += [text[at : span.start], f"[{span.label}]"]
        at = span.end
    return "".join([*pieces, text[at:]])
