"""The messages of a prompt as frozen values of our own, and what they cost in tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from src.schemas.memory import CUT_MARKER, MAX_CONTENT_CHARS
from src.services.ports import TokenCounter

PromptRole = Literal["system", "user", "assistant", "tool_call", "tool_result"]

MESSAGE_TOKENS = 4
"""What a message costs besides its content: its role and two delimiters, as OpenAI counts chats."""

_WHOLE: frozenset[PromptRole] = frozenset(("system", "tool_call"))
"""Never cut: the agent's own words, and arguments that would no longer be JSON."""
_RUN = re.compile(r"\w{64}|[^\w\s]{64}|\s{64}")
"""Byte pair encoding takes time in the square of a run: 16 000 times the same letter, 8 s."""


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a prompt."""

    role: PromptRole
    content: str
    id: str = ""
    """Unique in its prompt; the caller finds its own item by it."""
    group: str = ""
    """The same on a tool call and its results; empty on messages that stand alone."""

    @property
    def may_be_cut(self) -> bool:
        """Whether a shorter content still makes sense."""
        return self.role not in _WHOLE

    def cut(self, length: int) -> PromptMessage:
        """With at most `length` characters, the marker included, unless it must stay whole."""
        if len(self.content) <= length or not self.may_be_cut:
            return self
        kept = self.content[: max(length - len(CUT_MARKER), 0)]
        return replace(self, content=kept + CUT_MARKER)

    def capped(self) -> PromptMessage:
        """With a content that no prompt can choke on, as memory keeps it."""
        return self.cut(MAX_CONTENT_CHARS)


class PromptTokens:
    """Tokens of the messages of one conversation; a content is counted when it is first seen."""

    def __init__(self, count: TokenCounter) -> None:
        self._count = count
        self._known: dict[str, int] = {}

    def each(self, messages: Sequence[PromptMessage]) -> list[int]:
        """Tokens of each message; contents that are not among them are forgotten."""
        contents = {message.content for message in messages}
        self._known = {
            content: self._known[content] if content in self._known else self.of(content)
            for content in contents
        }
        return [self._known[message.content] for message in messages]

    def of(self, content: str) -> int:
        """Tokens of a message with this content.

        A few per cent too many where a run of one kind of character is no word of any language.
        """
        return MESSAGE_TOKENS + self._count(_RUN.sub(r"\g<0> - ", content))
