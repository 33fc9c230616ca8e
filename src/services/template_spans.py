"""Cut a template into text, placeholders and tags: one pass, linear in its length."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

# Quantifiers are possessive, so that no template can make the scan go back over what it read.
# An opener ends at the next opener: in "{{a {{b}}" only the second is closed.
_SPAN = re.compile(
    r"""
      \{\{\{ (?P<triple> [^{}\n]*+ ) \}\}\}
    | \{\{ (?!\{) (?P<half> [^\n{}|:,;"<>]{1,100}+ ) \} (?!\})
    | \{\{ (?!\{) (?P<output> [^{}]*+ (?: (?!\{\{|\}\}) [{}] [^{}]*+ )*+ ) \}\}
    | \{\{ (?!\{) (?P<open> [^\s{}|:,;.!?"'()\[\]<>=/\\%]*+ (?! [ \t]*+ [:=('"] ) | )
    | \{% (?P<tag> [^%{]*+ (?: (?: %(?!\}) | \{(?!%) ) [^%{]*+ )*+ ) %\}
    """,
    re.VERBOSE,
)
_TAG = re.compile(r"\s*(#|\w+)(.*)", re.DOTALL)


class SpanKind(Enum):
    """What a piece of a template is."""

    TEXT = auto()
    OUTPUT = auto()
    """`{{ … }}` or `{{{ … }}}`; whether it is a placeholder is decided by who reads it."""
    HALF = auto()
    """A `{{name` or `{{name}` that is never closed."""
    TAG = auto()
    """`{% … %}`."""


class UnclosedBlockError(ValueError):
    """A `raw` or `comment` block has no end."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a template; the `raw` texts of all pieces make up the template."""

    kind: SpanKind
    raw: str
    body: str = ""
    """What stands between the braces, without the dashes that trim."""
    trims_before: bool = False
    trims_after: bool = False
    tag: str = ""
    """The name of a tag; its `body` is then what follows the name."""


def split(template: str) -> Iterator[Span]:
    """The pieces of a template, in order."""
    end = 0
    for match in _SPAN.finditer(template):
        if match.start() > end:
            yield _text(template[end : match.start()])
        yield _span(match)
        end = match.end()
    if end < len(template):
        yield _text(template[end:])


def without_blocks(spans: Sequence[Span]) -> Iterator[Span]:
    """The pieces with `raw` blocks turned into text and comments left out.

    Raises:
        UnclosedBlockError: a block has no end.
    """
    rest = iter(spans)
    for span in rest:
        if span.tag == "raw":
            inner = "".join(s.raw for s in _until(rest, "endraw"))
            yield replace(span, kind=SpanKind.TEXT, raw=inner, tag="")
        elif span.tag == "comment":
            for _ in _until(rest, "endcomment"):
                pass
        elif span.tag != "#":
            yield span


def trimmed(spans: Sequence[Span]) -> Iterator[Span]:
    """The pieces with the blanks taken off that a dash in a neighbour (`{{-`, `-%}`) asks for."""
    for at, span in enumerate(spans):
        if span.kind is not SpanKind.TEXT:
            yield span
            continue
        raw = span.raw
        if at > 0 and spans[at - 1].trims_after:
            raw = raw.lstrip()
        if at + 1 < len(spans) and spans[at + 1].trims_before:
            raw = raw.rstrip()
        yield span if raw is span.raw else replace(span, raw=raw)


def _until(rest: Iterator[Span], end: str) -> Iterator[Span]:
    for span in rest:
        if span.tag == end:
            return
        yield span
    raise UnclosedBlockError(end)


def _text(raw: str) -> Span:
    return Span(SpanKind.TEXT, raw)


def _span(match: re.Match[str]) -> Span:
    raw, form = match.group(), match.lastgroup
    body = match.group(form) if form else ""
    if form in ("half", "open"):
        return Span(SpanKind.HALF, raw, body.strip())
    if form == "triple":
        return Span(SpanKind.OUTPUT, raw, body.strip())
    # A dash before a digit or a quote belongs to the content, as in {{-1}}.
    before = body.startswith("-") and not re.match(r"-\s*[\d\"']", body)
    after = body.endswith("-") and len(body) > 1
    body = body[before : len(body) - after]
    if form == "output":
        return Span(SpanKind.OUTPUT, raw, body.strip(), before, after)
    named = _TAG.fullmatch(body)
    if named is None:
        return Span(SpanKind.TAG, raw)
    return Span(SpanKind.TAG, raw, named[2].strip(), before, after, named[1])
