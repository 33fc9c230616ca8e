"""Greetings and prompts from templates and what is known of a call."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from zoneinfo import ZoneInfo

from src.services.gap_closing import close_up
from src.services.template_context import CallContext
from src.services.template_language import FAULTS, GAP, fill, read_placeholder
from src.services.template_names import Names
from src.services.template_spans import (
    Span,
    SpanKind,
    UnclosedBlockError,
    split,
    trimmed,
    without_blocks,
)

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Rendered:
    """A rendered template."""

    text: str
    missing: tuple[str, ...]
    """Names that were asked for and had neither a value nor a default, as the template writes them."""
    kept: int
    """Spans in braces that were no placeholder and stayed in the text."""
    broken: bool = False
    """The tags could not be read, or asked for too much: they were taken for text."""


def render(
    template: str,
    values: Mapping[str, str],
    *,
    defaults: Mapping[str, str] = _NOTHING,
    system: Mapping[str, str] = _NOTHING,
    keep_foreign: bool,
) -> Rendered:
    """A template with its placeholders filled; never raises, whatever the template.

    Names are found whatever their case and script, with blanks, hyphens and dots in them. A value is
    data: braces in it are not rendered. A value of nothing but blanks counts as missing. In the place
    of a missing one stands the `default` of its filter, else that of `defaults`, else nothing, with
    the blanks and commas around it closed up. Conditions ask what is known: defaults do not count.

    Args:
        template: Liquid with `if`, `unless`, `case`, `for`, `assign`, `capture`, `raw`, `comment`.
        values: What is known of the callee or caller.
        defaults: What the agent says in place of a missing value.
        system: Values of the call itself; their names are reserved and win over `values`.
        keep_foreign: Leave a span that is no placeholder (JSON in a prompt) as it is; False drops it.
    """
    if "{" not in template:
        return Rendered(template, (), 0)
    names = Names(_clean(values), defaults=_clean(defaults), system=_clean(system))
    spans = pieces(template.replace(GAP, ""))
    text, context, broken = _fill(spans, names, keep_foreign=keep_foreign)
    return Rendered(close_up(text.split(GAP)), tuple(context.missing), context.kept, broken)


def placeholders(template: str) -> tuple[str, ...]:
    """The names that a template puts into its text, each once, in order, as it writes them."""
    asked = (read_placeholder(s).label for s in pieces(template) if s.kind is SpanKind.OUTPUT)
    return tuple(dict.fromkeys(label for label in asked if label))


def system_values(
    *,
    now: datetime,
    zone: ZoneInfo,
    caller_number: str | None,
    called_number: str | None,
    call_direction: str,
    agent_name: str,
) -> dict[str, str]:
    """The system variables of a call; what is not known is blank, and its name stays reserved.

    `now` is like "2026-11-02 14:05" and `today` like "Monday, 2 November 2026", both in the agent's
    local time; the filter `date` gives them another form.
    """
    local = now.astimezone(zone)
    return {
        "now": f"{local:%Y-%m-%d %H:%M}",
        "today": f"{local:%A}, {local.day} {local:%B %Y}",
        "caller_number": caller_number or "",
        "called_number": called_number or "",
        "call_direction": call_direction,
        "agent_name": agent_name,
    }


def _fill(spans: list[Span], names: Names, *, keep_foreign: bool) -> tuple[str, CallContext, bool]:
    try:
        return *fill(spans, names, tags=True, keep_foreign=keep_foreign), False
    except FAULTS:
        # A conditional without its end, or too much to ask: span by span then, which cannot fail.
        return *fill(spans, names, tags=False, keep_foreign=keep_foreign), True


def pieces(template: str) -> list[Span]:
    """What a template is made of, in order: comments are left out, `raw` blocks are text."""
    spans = list(split(template))
    # A `raw` or `comment` that is never closed is a foreign span like any other.
    with suppress(UnclosedBlockError):
        spans = list(without_blocks(spans))
    return list(trimmed(spans))


def _clean(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value.replace(GAP, "") for name, value in values.items()}
