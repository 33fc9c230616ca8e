"""The Liquid that greetings and prompts are written in: python-liquid, made safe and forgiving.

Safe: no tag reaches another template, no filter reads the clock, and loops, filters and what is
kept or put out have budgets. Forgiving: a span that Liquid cannot read is looked up as a name or is
left alone, instead of failing the whole template; and names are found whatever their case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TextIO, cast

from liquid import BoundTemplate, Environment, Expression, RenderContext, Tag, Token, TokenStream
from liquid.ast import Node
from liquid.builtin.expressions import FilteredExpression, Path, tokenize
from liquid.builtin.expressions.filtered import Filter
from liquid.exceptions import LiquidError, LiquidSyntaxError
from liquid.parser import get_parser
from liquid.stringify import to_liquid_string
from liquid.token import (
    TOKEN_CONTENT,
    TOKEN_EXPRESSION,
    TOKEN_ILLEGAL,
    TOKEN_OUTPUT,
    TOKEN_PIPE,
    TOKEN_TAG,
)
from typing_extensions import override

from src.services.liquid_filters import bounded_filters
from src.services.template_context import CallContext
from src.services.template_names import Names, has_range, is_name, lexable
from src.services.template_spans import Span, SpanKind, split

GAP = "\ufdd0"
"""Stands in the output where a placeholder put nothing. A noncharacter: Unicode reserves it for
use inside a program, so that no text has it."""
FAULTS = (
    *(LiquidError, ArithmeticError, AssertionError, AttributeError, LookupError, OSError),
    *(RuntimeError, TypeError, ValueError),
)
"""What an unreadable or unreasonable template makes python-liquid raise."""

_BLOCK_TAGS = ("if", "unless", "case", "for", "break", "continue", "assign", "capture")
_INNER_TAGS = ("elsif", "else", "when", *(f"end{name}" for name in _BLOCK_TAGS))
TAGS = frozenset((*_BLOCK_TAGS, *_INNER_TAGS))
"""The tags that are read; every other is text."""
_MAX_EXPRESSION_LENGTH = 500


@dataclass(frozen=True, slots=True)
class Placeholder:
    """What a span asks for: a name, or an expression of Liquid, or (neither) nothing."""

    span: Span
    name: str = ""
    filters: Sequence[Filter] = ()
    expression: Expression | None = None

    @property
    def label(self) -> str:
        """The name for people to read; empty if the span asks for nothing by name."""
        if isinstance(self.expression, FilteredExpression):
            left = self.expression.left
            return str(left) if isinstance(left, Path) else ""
        return self.name


def read_placeholder(span: Span) -> Placeholder:
    """What a span asks for."""
    left, bar, rest = (part.strip() for part in span.body.partition("|"))
    if span.kind is SpanKind.HALF:
        return Placeholder(span, span.body if is_name(span.body) else "")
    if span.kind is not SpanKind.OUTPUT or len(span.body) > _MAX_EXPRESSION_LENGTH:
        return Placeholder(span)
    if is_name(left) and not (bar and left.isdigit()):
        # Filters that cannot be read are left out: the bare value is better than none.
        return Placeholder(span, left, _filters(rest) if bar else ())
    return Placeholder(span, expression=_expression(span.body))


def fill(
    spans: Sequence[Span], names: Names, *, tags: bool, keep_foreign: bool
) -> tuple[str, CallContext]:
    """The template's output, with `GAP` where nothing was put, and the context it was made in.

    Without `tags`, conditionals and the like are foreign text; nothing can fail then.

    Raises:
        FAULTS: with `tags`, the template is malformed or asks for too much.
    """
    nodes = get_parser(_environment()).parse(TokenStream(_tokens(spans, tags=tags)))
    template = BoundTemplate(_environment(), nodes)
    length = sum(len(span.raw) for span in spans)
    context = CallContext(template, names=names, length=length, keep_foreign=keep_foreign)
    buffer = context.get_buffer()
    template.render_with_context(context, buffer)
    return buffer.getvalue(), context


class _PlaceholderNode(Node):
    """Puts a value in a placeholder's place: else the span itself if it is none, else `GAP`."""

    __slots__ = ("_asked",)

    def __init__(self, token: Token, asked: Placeholder) -> None:
        super().__init__(token)
        self.blank = False
        self._asked = asked

    @override
    def render_to_output(self, context: RenderContext, buffer: TextIO) -> int:
        return buffer.write(self._text(cast("CallContext", context)))

    def _text(self, context: CallContext) -> str:
        value = self._value(context)
        if value is None:
            context.kept += context.keep_foreign
            return self._asked.span.raw if context.keep_foreign else GAP
        try:
            text = to_liquid_string(value, autoescape=False)
            context.spend(len(text))
        except FAULTS:
            text = ""
        if text.strip():
            return text
        if self._asked.label:
            context.missing[self._asked.label] = None
        return GAP

    def _value(self, context: CallContext) -> object:
        """The value asked for; None if the span is no placeholder."""
        asked = self._asked
        if asked.span.kind is SpanKind.HALF:
            # In a prompt only a known name makes sure that it was meant as a placeholder.
            unknown = None if context.keep_foreign or not asked.name else ""
            return context.names.get(asked.name, unknown)
        if asked.name:
            return self._named(context)
        if asked.span.kind is SpanKind.OUTPUT and asked.span.body in context.names:
            return context.names[asked.span.body]
        return self._evaluated(context)

    def _named(self, context: CallContext) -> object:
        path: list[object] = [*lexable(self._asked.name).split(".")]
        bare = value = context.get(path, token=None)
        try:
            for one in self._asked.filters:
                value = one.evaluate(value, context)
        except FAULTS:
            return bare
        return "" if value is None else value

    def _evaluated(self, context: CallContext) -> object:
        if self._asked.expression is None:
            return None
        try:
            value = self._asked.expression.evaluate(context)
        except FAULTS:
            return ""
        return "" if value is None else value


class _PlaceholderTag(Tag):
    """Reads any span, so that none fails the template."""

    name = TOKEN_OUTPUT
    block = False

    @override
    def parse(self, stream: TokenStream) -> Node:
        token = stream.expect(TOKEN_OUTPUT)
        return _PlaceholderNode(token, read_placeholder(next(split(token.value))))


class _Environment(Environment):
    """Conditionals, loops, assignments and bounded filters; unknown filters change nothing."""

    @override
    def setup_tags_and_filters(self, extra: bool = False) -> None:
        super().setup_tags_and_filters(extra=extra)
        self.tags = {name: self.tags[name] for name in (TOKEN_CONTENT, TOKEN_ILLEGAL, *_BLOCK_TAGS)}
        self.add_tag(_PlaceholderTag)
        self.filters = bounded_filters(self)


@cache
def _environment() -> Environment:
    return _Environment(strict_filters=False)


def _tokens(spans: Sequence[Span], *, tags: bool) -> Iterator[Token]:
    for span in spans:
        if span.kind is SpanKind.TEXT:
            if span.raw:
                yield Token(TOKEN_CONTENT, span.raw, 0, "")
        elif tags and span.tag in TAGS:
            yield Token(TOKEN_TAG, span.tag, 0, "")
            if span.body:
                yield Token(TOKEN_EXPRESSION, _code(span.body), 0, "")
        else:
            yield Token(TOKEN_OUTPUT, span.raw, 0, "")


def _code(expression: str) -> str:
    """An expression as Liquid may read it.

    A range is refused: `contains` would walk through it, however long.

    Raises:
        LiquidSyntaxError: the expression is too long or has a range.
    """
    if len(expression) > _MAX_EXPRESSION_LENGTH or has_range(expression):
        raise LiquidSyntaxError("expression refused", token=None)
    return lexable(expression)


def _filters(chain: str) -> Sequence[Filter]:
    try:
        return Filter.parse(_environment(), _inner(f"| {chain}"), delim=(TOKEN_PIPE,))
    except FAULTS:
        return ()


def _expression(body: str) -> Expression | None:
    try:
        return FilteredExpression.parse(_environment(), _inner(body))
    except FAULTS:
        return None


def _inner(code: str) -> TokenStream:
    return TokenStream(tokenize(_code(code), Token(TOKEN_EXPRESSION, code, 0, "")))
