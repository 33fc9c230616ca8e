"""Close the gap that a word leaves in a sentence when it is taken out."""

from __future__ import annotations

import re
from collections.abc import Sequence

BLANKS = " \t\u00a0\u3000"
COMMAS = ",\uff0c\u3001\u060c"
SENTENCE_ENDS = ".!?\u2026\u0964\u3002\uff01\uff1f\u061f"
_CLOSERS = SENTENCE_ENDS + COMMAS + "\n;:)]}\u00bb\u201d\u2019"
_OPENERS = "([{\u00ab\u201c\u2018\u00bf\u00a1"
_QUOTES = "\"'"
_POSSESSIVE = re.compile("['\u2019]s\\b")


def close_up(pieces: Sequence[str]) -> str:
    """Join pieces, between each two of which something was taken out.

    Blanks and commas that only served the missing words go with them; everything else stays:
    "Hello " + ", how are you" gives "Hello, how are you", "Hi " + "!" gives "Hi!", and
    "" + ", good morning" gives "Good morning".
    """
    out, *rest = _merged(pieces)
    done: list[str] = []
    for piece in rest:
        before, out = _close(out, piece)
        done.append(before)
        if not out and done:
            out = done.pop()
    return "".join([*done, out])


def _merged(pieces: Sequence[str]) -> list[str]:
    """The pieces with one gap in place of several that only blanks and commas part."""
    merged = [pieces[0]]
    blank = ""
    for piece in pieces[1:-1]:
        if piece.strip(BLANKS + COMMAS):
            merged.append(blank + piece)
            blank = ""
        elif piece.strip(COMMAS):
            blank = " "
    return merged + [blank + piece for piece in pieces[1:][-1:]]


def _close(left: str, right: str) -> tuple[str, str]:
    """Both sides of a gap, closed up."""
    before, after = left.rstrip(BLANKS), right.lstrip(BLANKS)
    if possessive := _POSSESSIVE.match(right):
        after = right[possessive.end() :].lstrip(BLANKS)
    if not before or before[-1] == "\n":
        return left, _without_comma(after)
    apart = before != left or after != right
    if before[-1] in COMMAS and (not after or after[0] in _CLOSERS):
        return before.rstrip(COMMAS + BLANKS), after
    if before[-1] in SENTENCE_ENDS and apart:
        after = _without_comma(after).lstrip(SENTENCE_ENDS).lstrip(BLANKS)
    touches = not apart or not after or _opens(before) or _closes(after, right)
    return before, after if touches else f" {after}"


def _without_comma(text: str) -> str:
    """The text as the start of a sentence, if a comma kept it from being one."""
    rest = text.lstrip(COMMAS + BLANKS)
    if not rest or text[0] not in COMMAS:
        return rest
    return rest[0].upper() + rest[1:]


def _opens(before: str) -> bool:
    if before[-1] in _QUOTES:
        return len(before) == 1 or before[-2] in BLANKS + _OPENERS + "\n"
    return before[-1] in _OPENERS


def _closes(after: str, right: str) -> bool:
    # A straight quote that touches the missing word ends a quotation; after a blank it begins one.
    return after[0] in _CLOSERS or (after[0] in _QUOTES and after[0] == right[0])
