"""The last gate before speech: nothing with a brace is ever spoken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from src.services.gap_closing import BLANKS, COMMAS, SENTENCE_ENDS, close_up

_BRACE = re.compile(r"[{}]")
_MAX_HELD = 200
"""Characters an open brace may hold back: longer than any placeholder, half a breath of speech."""


def gate(text: str) -> tuple[str, int]:
    """Text without braces and what stands in them, and how many were removed.

    The blanks and commas around a removed span are closed up. A brace without a partner counts as
    one, and only the brace goes: see `SpeechGate`.
    """
    braces = _Braces()
    pieces, removed = [""], 0
    for piece in (*braces.feed(text), *braces.flush()):
        if piece is None:
            removed += 1
            pieces.append("")
        else:
            pieces[-1] += piece
    return close_up(pieces), removed


class SpeechGate:
    """`gate` for text that arrives in chunks; what comes out does not depend on how it was cut.

    Text outside braces passes at once. From an opening brace on, text is held until the brace is
    closed, and then dropped. A brace that is not closed within 200 characters, or before the next
    sentence or the end, is dropped alone and the text after it goes on: a stray brace costs a short
    delay and never the rest of what the agent says. A blank before a brace has been passed on by
    the time the brace is seen, so the closing up takes away what follows: "Hello {{name}}, hi" is
    spoken as "Hello hi".
    """

    def __init__(self) -> None:
        self.removed = 0
        self._braces = _Braces()
        self._last = "\n"
        self._after_gap = False

    def feed(self, chunk: str) -> str:
        """What may be spoken now."""
        return "".join(map(self._closed_up, self._braces.feed(chunk)))

    def flush(self) -> str:
        """What was held back at the end of the text; the gate is then ready for another text."""
        rest = "".join(map(self._closed_up, self._braces.flush()))
        self._last, self._after_gap = "\n", False
        return rest

    def _closed_up(self, piece: str | None) -> str:
        if piece is None:
            self.removed += 1
            self._after_gap = True
            return ""
        if self._after_gap and self._last in BLANKS + "\n":
            piece = piece.lstrip(BLANKS + COMMAS)
        if piece:
            self._last = piece[-1]
            self._after_gap = False
        return piece


@dataclass
class _Open:
    """An open brace, and the pieces after it that stay if it is never closed."""

    position: int
    pieces: list[str | None] = field(default_factory=list)


class _Braces:
    """Takes braces out of a text, character by character where one is open.

    Each piece it gives is text that stays, or None where something was taken out.
    """

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._position = 0
        self._previous = " "

    def feed(self, chunk: str) -> Iterator[str | None]:
        """The pieces that are certain by now."""
        at = 0
        while at < len(chunk):
            if self._open:
                yield from self._take(chunk[at])
                at += 1
                continue
            brace = _BRACE.search(chunk, at)
            end = brace.start() if brace else len(chunk)
            if end > at:
                yield chunk[at:end]
            if brace:
                yield from self._take(brace[0])
            at = end + 1

    def flush(self) -> Iterator[str | None]:
        """The pieces still held: the open braces go, the text after them stays."""
        while self._open:
            yield from self._release()

    def _take(self, character: str) -> Iterator[str | None]:
        self._position += 1
        if character == "{":
            self._open.append(_Open(self._position))
        elif character == "}":
            # The innermost pair goes with all that is in it.
            if self._open:
                self._open.pop()
            yield from self._put(None)
        elif character.isspace() and self._previous in SENTENCE_ENDS:
            yield from self.flush()
            yield character
        else:
            yield from self._put(character)
        self._previous = character
        while self._open and self._position - self._open[0].position > _MAX_HELD:
            yield from self._release()

    def _put(self, piece: str | None) -> Iterator[str | None]:
        if self._open:
            self._open[-1].pieces.append(piece)
        else:
            yield piece

    def _release(self) -> Iterator[str | None]:
        """Give up on the outermost open brace."""
        yield None
        yield from self._open.pop(0).pieces
