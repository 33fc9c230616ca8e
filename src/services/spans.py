"""Places in a text, and how several finders' places become one list."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Characters `start` to `end` of a text identify somebody; `label` says how."""

    start: int
    end: int
    label: str


def merged(text: str, spans: Iterable[Span]) -> list[Span]:
    """In order and without overlap, widened to whole words.

    Where spans meet, the longest gives the label, but for `NUMBER`, which says least. Neighbours of one label with nothing but blanks or
    punctuation between become one: a tag for each would tell how many pieces there were.
    """
    result: list[Span] = []
    best = (False, 0)
    for span in sorted(_widened(text, s) for s in spans if s.start < s.end):
        last = result[-1] if result else None
        if last is None or not _joins(text, last, span):
            result.append(span)
            best = _weight(span)
            continue
        label = span.label if _weight(span) > best else last.label
        best = max(best, _weight(span))
        result[-1] = Span(last.start, max(last.end, span.end), label)
    return result


def _weight(span: Span) -> tuple[bool, int]:
    return span.label != "NUMBER", span.end - span.start


def _joins(text: str, last: Span, span: Span) -> bool:
    if span.start < last.end:
        return True
    between = text[last.end : span.start]
    return span.label == last.label and len(between) <= 3 and not any(c.isalnum() for c in between)


def _widened(text: str, span: Span) -> Span:
    """A half masked word would leave half a number."""
    start, end = max(0, span.start), min(len(text), span.end)
    while start > 0 and text[start].isalnum() and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum() and text[end - 1].isalnum():
        end += 1
    return Span(start, end, span.label)
