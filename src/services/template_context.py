"""One rendering of a template: what it knows, what it may spend, and what it found missing."""

from __future__ import annotations

from collections.abc import Sized

from liquid import BoundTemplate, RenderContext, Token, Undefined
from liquid.exceptions import LoopIterationLimitError, ResourceLimitError
from liquid.undefined import UNDEFINED
from liquid.utils import ReadOnlyChainMap
from typing_extensions import override

from src.services.template_names import Names

_MAX_LOOPED_CHARACTERS = 1_000_000
_MAX_WORK = 5_000_000


class CallContext(RenderContext):
    """A render context with folded names, without a clock, and with budgets over the whole template."""

    def __init__(
        self, template: BoundTemplate, *, names: Names, length: int, keep_foreign: bool
    ) -> None:
        super().__init__(template, globals=names)
        # Without python-liquid's own `now` and `today`, which read the machine's clock.
        self.scope = ReadOnlyChainMap(self.locals, names, self.counters)
        self.names = names
        self.keep_foreign = keep_foreign
        self.missing: dict[str, None] = {}
        self.kept = 0
        self._length = length
        self._iterations = 0
        self._work = 0

    @override
    def get(
        self, path: list[object], *, token: Token | None, default: object = UNDEFINED
    ) -> object:
        """The value at a path; `customer.name` may also be one flat name."""
        flat = ".".join(str(segment) for segment in path)
        if len(path) > 1 and flat in self.names and path[0] not in self.locals:
            return self.names[flat]
        found = super().get(path, token=token, default=default)
        return _Missing(flat, self.names.default(flat)) if isinstance(found, Undefined) else found

    @override
    def assign(self, key: str, val: object) -> None:
        self.spend(len(val) if isinstance(val, Sized) else 1)
        super().assign(key, val)

    @override
    def raise_for_loop_limit(self, length: int = 1) -> None:
        """Bound the text that all loops of a template go over, not each loop by itself."""
        self._iterations += length
        if self._iterations * self._length > _MAX_LOOPED_CHARACTERS:
            raise LoopIterationLimitError("loop budget spent", token=None)

    def spend(self, work: int) -> None:
        """Count work, in characters handled.

        Raises:
            ResourceLimitError: the template has asked for too much.
        """
        self._work += work
        if self._work > _MAX_WORK:
            raise ResourceLimitError("work budget spent", token=None)

    def known(self, name: str) -> str:
        """The value of a name; empty if it has none."""
        return self.names.get(name, "")


class _Missing(Undefined):
    """An unknown value: false in conditions, replaced by `default`, else the agent's default."""

    __slots__ = ("_text",)

    def __init__(self, name: str, text: str) -> None:
        super().__init__(name)
        self._text = text

    @override
    def __str__(self) -> str:
        return self._text
