"""Summarises the middle of a live conversation ahead of its limit, so that no reply waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from src.logs import get_logger
from src.schemas.errors import LanguageModelError
from src.services.background import Background
from src.services.ports import Clock, TokenCounter
from src.services.prompt_messages import PromptMessage, PromptRole, PromptTokens
from src.services.truncation import (
    MAX_TOKENS,
    Summary,
    Truncation,
    coverable,
    leading,
    truncate,
)

logger = get_logger(__name__)

_SPEAKERS: dict[PromptRole, str] = {
    "system": "Note",
    "user": "Caller",
    "assistant": "Agent",
    "tool_call": "Tool call",
    "tool_result": "Tool result",
}


class MessageSummariser(Protocol):
    """Condenses a stretch of a conversation."""

    async def summarise_messages(self, texts: Sequence[str], former: str) -> str:
        """A few sentences on `texts`, one message each, and on what `former` says of those before.

        Raises:
            LanguageModelError: no usable answer.
        """


@dataclass(frozen=True)
class CompactionPolicy:
    """When the middle is summarised; shares are of the limit, durations in seconds."""

    start_share: float = 0.7
    """Begin here: what is left is some minutes of talk, a summary takes seconds."""
    least_share: float = 0.05
    """Of new messages; for fewer no summary is paid for."""
    timeout_s: float = 20.0
    first_retry_s: float = 15.0
    """After a failure; doubled after each further one."""
    longest_retry_s: float = 240.0

    def retry_s(self, failures: int) -> float:
        """The pause after this many failures in a row."""
        return min(self.first_retry_s * 2.0 ** min(failures - 1, 30), self.longest_retry_s)


class Compactor:
    """Keeps the prompts of one conversation within their limit; of one, and not thread-safe.

    At most one summary is written at a time. It stands for exactly the messages it was made of: once
    one of them has changed or is gone, it is dropped.
    """

    def __init__(
        self,
        *,
        summariser: MessageSummariser,
        count: TokenCounter,
        clock: Clock,
        background: Background,
        max_tokens: int = MAX_TOKENS,
        policy: CompactionPolicy | None = None,
    ) -> None:
        """`max_tokens` is the limit of a whole prompt; `background` outlives the conversation's turns."""
        self._summariser = summariser
        self._tokens = PromptTokens(count)
        self._clock = clock
        self._background = background
        self._max_tokens = max_tokens
        self._policy = policy or CompactionPolicy()
        self._summary: Summary | None = None
        self._task: asyncio.Task[None] | None = None
        self._failures = 0
        self._not_before_s = 0.0

    def fit(self, messages: Sequence[PromptMessage], *, reserved_tokens: int = 0) -> Truncation:
        """The prompt for the reply at hand, at once; may start a summary for later ones.

        Args:
            messages: The whole conversation, oldest first, with the ids of its items.
            reserved_tokens: Of what the caller adds to the prompt afterwards, such as notes.
        """
        limit = max(self._max_tokens - reserved_tokens, 0)
        capped = tuple(message.capped() for message in messages)
        if self._summary and not self._summary.is_of(capped):
            self._summary = None
        self._look_ahead(capped, limit)
        return truncate(messages, max_tokens=limit, tokens=self._tokens, summary=self._summary)

    def _look_ahead(self, messages: tuple[PromptMessage, ...], limit: int) -> None:
        if self._task and not self._task.done():
            return
        if self._clock.monotonic() < self._not_before_s:
            return
        costs, former = self._tokens.each(messages), self._summary
        head, end = leading(messages), coverable(messages)
        start = head + (len(former.covered) if former else 0)
        needed = sum(costs[:head]) + sum(costs[start:])
        needed += self._tokens.of(former.note) if former else 0
        enough = sum(costs[start:end]) >= self._policy.least_share * limit
        if start < end and enough and needed >= self._policy.start_share * limit:
            # Before it runs: whatever way it fails, it is not tried again at the next turn.
            self._failures += 1
            self._not_before_s = self._clock.monotonic() + self._policy.retry_s(self._failures)
            self._task = self._background.spawn(
                self._summarise(messages[head:end], former), name="context summary"
            )

    async def _summarise(self, covered: tuple[PromptMessage, ...], former: Summary | None) -> None:
        text = await condense(
            covered, former=former, by=self._summariser, timeout_s=self._policy.timeout_s
        )
        summary = Summary(text or "", covered)
        if not summary.note:
            return
        self._failures, self._not_before_s = 0, 0.0
        if self._summary is former:  # else it was dropped, and with it what this one builds on
            self._summary = summary


async def condense(
    covered: Sequence[PromptMessage],
    *,
    former: Summary | None = None,
    by: MessageSummariser,
    timeout_s: float,
) -> str | None:
    """A summary of these messages, None if there is no usable one in time.

    The first of them, which `former` covers, are taken from there.
    """
    fresh = covered[len(former.covered) if former else 0 :]
    texts = [_line(message) for message in fresh if message.content.strip()]
    try:
        async with asyncio.timeout(timeout_s):
            return await by.summarise_messages(texts, former.text if former else "")
    except (LanguageModelError, TimeoutError) as error:
        logger.warning(
            "summary of the conversation so far failed", extra={"error": type(error).__name__}
        )
        return None


def _line(message: PromptMessage) -> str:
    # On one line, so that a message cannot pretend to hold another speaker's.
    return f"{_SPEAKERS[message.role]}: {' '.join(message.content.split())}"
