"""The Liquid filters a template may use, each with a bound on its work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from datetime import datetime
from typing import Any, Protocol, cast

from liquid import Environment, RenderContext

_ALLOWED = (
    *("abs", "at_least", "at_most", "ceil", "divided_by", "floor", "minus", "modulo", "plus"),
    *("round", "times", "append", "capitalize", "downcase", "lstrip", "prepend", "remove"),
    *("remove_first", "remove_last", "replace", "replace_first", "replace_last", "rstrip", "slice"),
    *("split", "squish", "strip", "strip_newlines", "truncate", "truncatewords", "upcase"),
    *("compact", "concat", "first", "join", "last", "reverse", "size", "sort", "uniq", "default"),
)
_DATE_FORMATS = ("%A, %d %B %Y", "%d %B %Y")


class Budget(Protocol):
    """What a render context must offer to filters."""

    def spend(self, work: int) -> None:
        """Count work, in characters handled.

        Raises:
            liquid.exceptions.LiquidError: the template has asked for too much.
        """

    def known(self, name: str) -> str:
        """The value of a name; empty if it has none."""


def bounded_filters(environment: Environment) -> dict[str, Callable[..., Any]]:
    """The allowed filters of an environment, bounded; plus `date`, which reads no clock."""
    filters = {name: _Bounded(environment.filters[name]) for name in _ALLOWED}
    return {**filters, "date": _Bounded(_Date())}


class _Bounded:
    """A filter that counts its work as the size of its value times that of its largest argument.

    The product bounds what `replace`, `join`, `times` and the others can produce.
    """

    with_context = True

    def __init__(self, inner: Callable[..., Any]) -> None:
        self._inner = inner
        self._wants_context = getattr(inner, "with_context", False)
        self._wants_environment = getattr(inner, "with_environment", False)

    def __call__(
        self, value: object, *args: object, context: RenderContext, **named: object
    ) -> object:
        largest = max((_size(a) for a in (*args, *named.values())), default=0)
        # Before the work is done, so that nothing huge is ever made.
        cast("Budget", context).spend((_size(value) + 1) * (largest + 1))
        if self._wants_context:
            named["context"] = context
        if self._wants_environment:
            named["environment"] = context.env
        return self._inner(value, *args, **named)


class _Date:
    """Liquid's `date` for ISO dates and the system's `now` and `today`; other text stays as it is.

    The original guesses at any text and fills what is missing from the machine's clock.
    """

    with_context = True

    def __call__(self, value: object, layout: object = "", *, context: RenderContext) -> str:
        text = str(value)
        if text in ("now", "today"):
            text = cast("Budget", context).known(text)
        moment = _parse_date(text)
        return text if moment is None or not layout else moment.strftime(str(layout))


def _parse_date(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        pass
    for layout in _DATE_FORMATS:
        try:
            return datetime.strptime(text.strip(), layout)  # noqa: DTZ007 - printed as it was read
        except ValueError:
            continue
    return None


def _size(value: object) -> int:
    """Characters, digits or items, whichever the value has most of."""
    if isinstance(value, bool) or value is None:
        return 1
    if isinstance(value, int):
        return value.bit_length() // 3
    if isinstance(value, list | tuple):
        return sum(_size(item) + 1 for item in cast("Iterable[object]", value))
    return len(value) if isinstance(value, Sized) else len(str(value))
