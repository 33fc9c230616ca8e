"""Which messages of a prompt fit into its limit, and what stands for those that do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from src.services.history_block import neutralise
from src.services.prompt_messages import PromptMessage, PromptTokens

MAX_TOKENS = 4000
"""Of a whole prompt, unless told otherwise."""
LAST = 3
"""Messages at the end that are always kept."""
LEAST_CHARS = 400
"""No content is cut below: about 100 tokens, without which a question cannot be answered."""
LEFT_OUT = "[Earlier part of the conversation left out]"
CONTEXT_LEFT_OUT = "context_left_out"
"""Degradation: messages were left out that no summary covers."""
CONTEXT_CUT = "context_cut"
"""Degradation: a content was shortened."""

_SUMMARY = "[Previous conversation summary: {}]"


@dataclass(frozen=True)
class Summary:
    """What stands for the first messages after the system prompt."""

    text: str
    covered: tuple[PromptMessage, ...]
    """As they were when they were summarised."""

    @property
    def note(self) -> str:
        """As the model reads it; empty if the text says nothing."""
        text = neutralise(self.text)
        return _SUMMARY.format(text) if text else ""

    def is_of(self, messages: Sequence[PromptMessage]) -> bool:
        """Whether the messages still begin, after the system prompt, with what it covers."""
        head = leading(messages)
        return tuple(messages[head : head + len(self.covered)]) == self.covered


@dataclass(frozen=True)
class Truncation:
    """A prompt within its limit."""

    kept: tuple[PromptMessage, ...]
    """In their order; those in `cut` with a shorter content than they came with."""
    note: str = ""
    """Stands for what was left out, as a system message; empty if nothing was."""
    note_at: int = 0
    """Its place in `kept`: after the system prompt."""
    cut: frozenset[str] = frozenset()
    """Ids of messages whose content was shortened."""
    degradations: tuple[str, ...] = ()

    @property
    def messages(self) -> tuple[PromptMessage, ...]:
        """What is kept, with the note in its place."""
        if not self.note:
            return self.kept
        note = PromptMessage("system", self.note)
        return (*self.kept[: self.note_at], note, *self.kept[self.note_at :])


def leading(messages: Sequence[PromptMessage]) -> int:
    """How many messages at the start are the system prompt."""
    others = (index for index, message in enumerate(messages) if message.role != "system")
    return next(others, len(messages))


def coverable(messages: Sequence[PromptMessage]) -> int:
    """Where the messages end that may be summarised; they begin after the system prompt.

    They hold none that is always kept, and neither part of a tool call and its results without the
    other; a call that has no result yet is not among them.
    """
    head, shielded = leading(messages), _shielded(messages)
    last = {message.group: index for index, message in enumerate(messages) if message.group}
    waiting = _waiting(messages)
    end = reach = head
    for index in range(head, len(messages)):
        group = messages[index].group
        if index in shielded or group in waiting:
            break
        reach = max(reach, last.get(group, index) + 1)
        if reach == index + 1:
            end = reach
    return end


def truncate(
    messages: Sequence[PromptMessage],
    *,
    max_tokens: int,
    tokens: PromptTokens,
    summary: Summary | None = None,
) -> Truncation:
    """The messages within `max_tokens`; the same again if they already are.

    The system prompt, the last `LAST` messages and what the user said last stay, with all of their
    tool calls and results. What `summary` covers is replaced by it; of the rest the newest stay.
    Where even that does not suffice, the longest contents are cut, though not below `LEAST_CHARS`.
    What is then still too much exceeds the limit: a system prompt is never cut.

    Args:
        messages: Oldest first.
        max_tokens: Limit of the whole prompt.
        tokens: Counts them.
        summary: Of these very messages (`Summary.is_of`).
    """
    fitting = _Fitting([message.capped() for message in messages], max_tokens, tokens)
    if not fitting.fits():
        fitting.leave_out(summary)
    if not fitting.fits():
        fitting.cut_longest()
    return fitting.outcome(messages)


@dataclass
class _Fitting:
    """The steps from too many tokens to few enough."""

    messages: list[PromptMessage]
    max_tokens: int
    tokens: PromptTokens
    note: str = ""
    out: set[int] = field(default_factory=set)
    """Indices of messages left out."""
    degradations: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.costs = self.tokens.each(self.messages)

    def fits(self) -> bool:
        return self._total() <= self.max_tokens

    def leave_out(self, summary: Summary | None) -> None:
        """Replace what the summary covers; then leave out the oldest until the rest fits."""
        if summary and summary.note:
            self.out = _covered(self.messages, len(summary.covered))
        replaced = summary.note if summary and self.out else ""
        self.note = replaced
        for unit in _units(self.messages, self.out | _shielded(self.messages)):
            if self.fits():
                return
            self.out |= unit
            self.note = f"{replaced} {LEFT_OUT}".strip()
            self.degradations = (CONTEXT_LEFT_OUT,)
        if self.out and not self.fits():  # what was said last matters more than any summary
            self.note, self.degradations = LEFT_OUT, (CONTEXT_LEFT_OUT,)

    def cut_longest(self) -> None:
        """Cut the contents that are left down to one size."""
        cuttable = [
            index
            for index, message in enumerate(self.messages)
            if message.may_be_cut and index not in self.out
        ]
        least = {i: self.tokens.of(self.messages[i].cut(LEAST_CHARS).content) for i in cuttable}
        fixed = self._total() - sum(self.costs[i] for i in cuttable)

        def allowed(index: int, size: int) -> int:
            return min(self.costs[index], max(size, least[index]))

        low, high = 0, max((self.costs[i] for i in cuttable), default=0)
        while low < high:
            size = (low + high + 1) // 2
            if fixed + sum(allowed(i, size) for i in cuttable) <= self.max_tokens:
                low = size
            else:
                high = size - 1
        for index in cuttable:
            self._cut(index, allowed(index, low))

    def outcome(self, given: Sequence[PromptMessage]) -> Truncation:
        pairs = [
            pair
            for index, pair in enumerate(zip(given, self.messages, strict=True))
            if index not in self.out
        ]
        cut = frozenset(before.id for before, after in pairs if before.content != after.content)
        return Truncation(
            kept=tuple(after for _, after in pairs),
            note=self.note,
            note_at=leading(self.messages),
            cut=cut,
            degradations=(*self.degradations, CONTEXT_CUT) if cut else self.degradations,
        )

    def _total(self) -> int:
        kept = sum(cost for index, cost in enumerate(self.costs) if index not in self.out)
        return kept + (self.tokens.of(self.note) if self.note else 0)

    def _cut(self, index: int, most: int) -> None:
        message, cost = self.messages[index], self.costs[index]
        while cost > most and len(message.content) > LEAST_CHARS:
            # Nine tenths at most, else a content that gets denser would take for ever.
            length = int(len(message.content) * min(most / cost, 0.9))
            message = message.cut(max(length, LEAST_CHARS))
            cost = self.tokens.of(message.content)
        self.messages[index], self.costs[index] = message, cost


def _shielded(messages: Sequence[PromptMessage]) -> set[int]:
    """Indices of what is always kept."""
    head = leading(messages)
    tail = max(head, len(messages) - LAST)
    groups = {message.group for message in messages[tail:] if message.group}
    # Several tool calls at once, and the question they are for is not among the last any more.
    question = max((i for i, message in enumerate(messages) if message.role == "user"), default=-1)
    return {
        index
        for index, message in enumerate(messages)
        if index < head or index >= tail or index == question or message.group in groups
    }


def _covered(messages: Sequence[PromptMessage], count: int) -> set[int]:
    """Indices of the first `count` messages after the system prompt, without parts of later groups."""
    start = leading(messages)
    later = {message.group for message in messages[start + count :] if message.group}
    return {i for i in range(start, start + count) if messages[i].group not in later}


def _units(messages: Sequence[PromptMessage], passed: set[int]) -> list[set[int]]:
    """What can only be left out together, oldest first, without the messages at `passed`."""
    units: dict[str | int, set[int]] = {}
    for index, message in enumerate(messages):
        if index not in passed:
            units.setdefault(message.group or index, set()).add(index)
    return list(units.values())


def _waiting(messages: Sequence[PromptMessage]) -> set[str]:
    """Groups with a call that has no result yet."""
    open_calls: Counter[str] = Counter()
    for message in messages:
        if message.role == "tool_call":
            open_calls[message.group] += 1
        elif message.role == "tool_result":
            open_calls[message.group] -= 1
    return {group for group, calls in open_calls.items() if group and calls > 0}
