"""What identifies a person, found in speech as recognisers print it and in typed text, and masked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set

from src.schemas.memory import Redaction
from src.services.identifier_codes import find_codes
from src.services.identifier_dates import find_ages, find_dates
from src.services.identifier_places import find_places
from src.services.identifier_web import find_web
from src.services.person_names import find_names
from src.services.spans import Span, merged
from src.services.spoken_forms import written_form

TURNS_BEFORE = 3
"""Turns of the same speaker that are read along: a number spread over more is masked as each part."""
_MAX_BEFORE_CHARS = 600
_MAX_ROUNDS = 4
_TAG = re.compile(r"\[[A-Z_]{2,30}\]")


def find(
    text: str,
    *,
    language: str = "en",
    before: Sequence[str] = (),
    allowed: Set[str] = frozenset(),
) -> list[Span]:
    """What identifies somebody in `text`, by rules; in order, without overlap.

    Linear in the length of the text.

    Args:
        text: One turn.
        language: BCP 47; number words of every supported language are always read, it only settles
            words that mean something else in another one.
        before: The speaker's last turns. What they announced or began is found in `text`.
        allowed: Terms in lower case that are never a name.
    """
    earlier = "\n".join(before[-TURNS_BEFORE:])[-_MAX_BEFORE_CHARS:]
    joined = f"{earlier}\n{text}" if earlier else text
    offset = len(joined) - len(text)
    words = written_form(joined, language=language)
    spans = [
        *find_codes(joined, words),
        *find_dates(joined, words),
        *find_ages(joined, words),
        *find_web(joined, words),
        *find_places(joined, words),
        *find_names(joined, words, allowed),
    ]
    moved = (Span(max(s.start - offset, 0), s.end - offset, s.label) for s in spans)
    return merged(text, (s for s in moved if s.end > 0))


def redact(
    text: str,
    *,
    language: str = "en",
    before: Sequence[str] = (),
    allowed: Set[str] = frozenset(),
    recognised: Iterable[Span] = (),
) -> Redaction:
    """Mask what `find` and a recogniser found in `text`.

    Masking is repeated until nothing more is found, since a mask can move a number beside a cue:
    redacting the result again changes nothing.

    Args:
        text: One turn.
        language: As for `find`.
        before: As for `find`.
        allowed: As for `find`.
        recognised: Spans of `text` from elsewhere.
    """
    found: Counter[str] = Counter()
    spans = merged(text, [*find(text, language=language, before=before, allowed=allowed), *recognised])
    for _ in range(_MAX_ROUNDS):
        spans = [s for s in spans if not _TAG.fullmatch(text[s.start : s.end])]
        if not spans:
            break
        found.update(s.label for s in spans)
        text = _masked(text, spans)
        spans = find(text, language=language, before=before, allowed=allowed)
    return Redaction(text=text, found=dict(found))


def _masked(text: str, spans: Sequence[Span]) -> str:
    pieces, at = [], 0
    for span in spans:
        pieces += [text[at : span.start], f"[{span.label}]"]
        at = span.end
    return "".join([*pieces, text[at:]])
