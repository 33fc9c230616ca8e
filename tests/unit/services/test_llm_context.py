"""The messages array of a reply: built from memory, and truncated as a list of dicts."""

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from src.schemas.errors import LanguageModelError
from src.schemas.memory import MemoryEntry, Passage
from src.services.llm_context import ContextBuilder, ContextTruncation, ConversationReader
from src.services.truncation import LEFT_OUT
from src.services.turn_notes import HEADING
from tests.fakes.message_summariser import InstantSummariser
from tests.unit.services.prompts import words


class Memory(ConversationReader):
    """What was said, and nothing else."""

    def __init__(self, *said: tuple[str, str], switches: Sequence[Mapping[str, Any]] = ()) -> None:
        self.asked: list[tuple[object, ...]] = []
        self._said, self._switches = said, switches

    @override
    async def get_history(self, session_id: str, max_messages: int = 10) -> list[MemoryEntry]:
        self.asked.append((session_id, max_messages))
        return [
            MemoryEntry.from_dict({"role": role, "content": content, "mode": "voice"})
            for role, content in self._said
        ]

    @override
    async def get_events(
        self, session_id: str, event_type: str | None = None, limit: int = 50
    ) -> Sequence[Mapping[str, Any]]:
        self.asked.append((session_id, event_type, limit))
        return self._switches


def built(memory: Memory) -> ContextBuilder:
    return ContextBuilder(memory=memory, count=words, system_prompt="You are the desk.")


async def test_the_context_is_prompt_history_and_query() -> None:
    memory = Memory(("user", "Hi."), ("assistant", "Hello."))
    messages = await built(memory).build_llm_context(
        session_id="s1", current_query="Open?", rag_results=[]
    )
    assert messages == [
        {"role": "system", "content": "You are the desk."},
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "Open?"},
    ]
    assert memory.asked == [("s1", 10), ("s1", "language_switch", 5)]


async def test_languages_and_passages_are_notes_of_the_system_prompt() -> None:
    switch = {"from_language": "en", "to_language": "es", "trigger": "user_request"}
    passage = Passage(text="Open daily.", document="faq.md", page=None, score=1.0)
    system, query = await built(Memory(switches=[switch])).build_llm_context(
        session_id="s1", current_query="Open?", rag_results=[passage]
    )
    assert system["content"].startswith(f"You are the desk.\n\n{HEADING}\n")
    assert "- from en to es (the user asked for it)" in system["content"]
    assert "- faq.md: Open daily." in system["content"]
    assert query == {"role": "user", "content": "Open?"}


async def test_a_query_that_memory_has_already_is_there_once() -> None:
    memory = Memory(("user", "Yes."), ("assistant", "Sure?"), ("user", "Yes."))
    messages = await built(memory).build_llm_context("s1", "Yes.", [])
    assert [message["content"] for message in messages[1:]] == ["Yes.", "Sure?", "Yes."]


SYSTEM = {"role": "system", "content": "You are the desk."}
TURNS: list[dict[str, Any]] = [
    {"role": "assistant" if n % 2 else "user", "content": f"word{n} " + "x " * 9, "name": f"n{n}"}
    for n in range(1, 11)
]


def truncation(
    reply: str | Exception = "They talked.",
) -> tuple[ContextTruncation, InstantSummariser]:
    summariser = InstantSummariser(reply)
    return ContextTruncation(summariser=summariser, count=words), summariser


async def test_a_context_within_its_limit_stays() -> None:
    truncate, summariser = truncation()
    assert await truncate.truncate_context([SYSTEM, *TURNS]) == [SYSTEM, *TURNS]
    assert summariser.asked == []


async def test_the_middle_becomes_one_summary() -> None:
    truncate, summariser = truncation()
    assert await truncate.truncate_context([SYSTEM, *TURNS], max_tokens=100) == [
        SYSTEM,
        {"role": "system", "content": "[Previous conversation summary: They talked.]"},
        *TURNS[-3:],
    ]
    ((texts, former),) = summariser.asked
    assert (len(texts), former) == (7, "")


async def test_without_a_summary_a_marker_stands_for_the_middle() -> None:
    truncate, _ = truncation(LanguageModelError("down"))
    messages = await truncate.truncate_context([SYSTEM, *TURNS], max_tokens=62)
    assert messages == [SYSTEM, {"role": "system", "content": LEFT_OUT}, *TURNS[-3:]]


async def test_tool_calls_keep_their_results() -> None:
    calls = [{"id": call_id, "function": {"name": "book"}} for call_id in ("c1", "c2")]
    pair: list[dict[str, Any]] = [
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": "booked"},
        {"role": "tool", "tool_call_id": "c2", "content": "x " * 3000},
    ]
    truncate, _ = truncation()
    messages = await truncate.truncate_context([SYSTEM, *TURNS, *pair, *TURNS[:2]], max_tokens=600)
    assert messages[2:4] == pair[:2]
    assert len(messages[4].pop("content")) < 2000
    assert messages[4:] == [{"role": "tool", "tool_call_id": "c2"}, *TURNS[:2]]


@given(count=st.integers(0, 10), max_tokens=st.integers(0, 200), works=st.booleans())
async def test_truncating_twice_changes_nothing(count: int, max_tokens: int, works: bool) -> None:
    truncate, _ = truncation("They talked." if works else LanguageModelError("down"))
    once = await truncate.truncate_context([SYSTEM, *TURNS[:count]], max_tokens=max_tokens)
    assert await truncate.truncate_context(once, max_tokens=max_tokens) == once
