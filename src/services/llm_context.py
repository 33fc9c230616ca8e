"""The messages array for a reply from what memory holds, and its truncation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from src.schemas.memory import LANGUAGE_SWITCH, MemoryEntry, Passage
from src.services.compaction import CompactionPolicy, MessageSummariser, condense
from src.services.ports import TokenCounter
from src.services.prompt_messages import PromptMessage, PromptTokens
from src.services.truncation import MAX_TOKENS, Summary, coverable, leading, truncate
from src.services.turn_notes import turn_notes

HISTORY_MESSAGES = 10
LANGUAGE_EVENTS = 5


class ConversationReader(Protocol):
    """What the context is built from; `UnifiedMemoryService` is one."""

    async def get_history(self, session_id: str, max_messages: int = ...) -> Sequence[MemoryEntry]:
        """The last messages, oldest first."""

    async def get_events(
        self, session_id: str, event_type: str | None = ..., limit: int = ...
    ) -> Sequence[Mapping[str, Any]]:
        """The data of the last events, oldest first."""


class ContextBuilder:
    """Builds the prompt of one agent where no live session holds one, as for a single typed message."""

    def __init__(
        self, *, memory: ConversationReader, count: TokenCounter, system_prompt: str
    ) -> None:
        self._memory = memory
        self._count = count
        self._system_prompt = system_prompt

    async def build_llm_context(
        self, session_id: str, current_query: str, rag_results: Sequence[Passage]
    ) -> list[dict[str, str]]:
        """System prompt with notes, history, and the query: `role` and `content` of each.

        The query is there once, whether memory has it already or not.

        Raises:
            MemoryStoreError: as the memory raises it.
        """
        history = list(
            await self._memory.get_history(session_id=session_id, max_messages=HISTORY_MESSAGES)
        )
        switches = await self._memory.get_events(
            session_id=session_id, event_type=LANGUAGE_SWITCH, limit=LANGUAGE_EVENTS
        )
        if history and (history[-1].role, history[-1].content) == ("user", current_query):
            history.pop()
        notes = turn_notes(count=self._count, language_history=switches, passages=rag_results)
        system = f"{self._system_prompt}\n\n{notes}" if notes else self._system_prompt
        return [
            {"role": "system", "content": system},
            *({"role": entry.role, "content": entry.content} for entry in history),
            {"role": "user", "content": current_query},
        ]


class ContextTruncation:
    """Truncates a messages array where the reply may wait for a summary."""

    def __init__(
        self,
        *,
        summariser: MessageSummariser,
        count: TokenCounter,
        timeout_s: float = CompactionPolicy.timeout_s,
    ) -> None:
        self._summariser = summariser
        self._count = count
        self._timeout_s = timeout_s

    async def truncate_context(
        self, messages: Sequence[Mapping[str, Any]], max_tokens: int = MAX_TOKENS
    ) -> list[dict[str, Any]]:
        """The messages within the limit, those in the middle as one summary; never raises.

        Messages are as the OpenAI chat API has them, with `tool_calls` and `tool_call_id`. If no
        summary is to be had, a marker stands for what does not fit (see `truncate`).
        """
        tokens = PromptTokens(self._count)
        prompt = [message.capped() for message in _parsed(messages)]
        summary: Summary | None = None
        if sum(tokens.each(prompt)) > max_tokens:
            middle = tuple(prompt[leading(prompt) : coverable(prompt)])
            summary = await self._summary(middle)
        outcome = truncate(prompt, max_tokens=max_tokens, tokens=tokens, summary=summary)
        kept = [dict(messages[int(m.id)]) | _content(m, messages) for m in outcome.kept]
        note = [{"role": "system", "content": outcome.note}] if outcome.note else []
        return [*kept[: outcome.note_at], *note, *kept[outcome.note_at :]]

    async def _summary(self, middle: tuple[PromptMessage, ...]) -> Summary | None:
        if not middle:
            return None
        text = await condense(middle, by=self._summariser, timeout_s=self._timeout_s)
        return Summary(text, middle) if text else None


def _parsed(messages: Sequence[Mapping[str, Any]]) -> list[PromptMessage]:
    """The messages with their index as id."""
    groups: dict[str, str] = {}
    parsed: list[PromptMessage] = []
    for index, message in enumerate(messages):
        role, content = message["role"], str(message.get("content") or "")
        group = ""
        if calls := message.get("tool_calls"):
            ids = [str(call["id"]) for call in calls]
            group, role = ids[0], "tool_call"
            groups |= dict.fromkeys(ids, group)
            content += json.dumps(calls, ensure_ascii=False)
        elif role == "tool":
            call_id = str(message["tool_call_id"])
            group, role = groups.get(call_id, call_id), "tool_result"
        parsed.append(PromptMessage(role, content, id=str(index), group=group))
    return parsed


def _content(message: PromptMessage, given: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The content if it was cut."""
    before = str(given[int(message.id)].get("content") or "")
    return {"content": message.content} if message.may_be_cut and message.content != before else {}
