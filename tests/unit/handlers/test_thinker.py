"""What the model reads for a reply."""

import asyncio
from collections.abc import AsyncIterator
from typing import cast

import pytest
from livekit.agents import llm

from src.handlers.call import Call
from src.handlers.conversation import Conversation
from src.handlers.prompt_items import applied, prompt_of
from src.handlers.thinker import Thinker
from src.schemas.agent_meta_schema import AgentMeta
from src.services.truncation import Truncation
from src.services.unified_memory import UnifiedMemoryService
from tests.fakes.call import FakeRetrieval, fake_call

META = AgentMeta(
    agent_id="guide", owner_id="acme", languages=("es",), knowledge_base_ids=("handbook",)
)


@pytest.fixture
def retrieval() -> FakeRetrieval:
    return FakeRetrieval()


@pytest.fixture
async def call(retrieval: FakeRetrieval) -> AsyncIterator[Call]:
    memory = UnifiedMemoryService()
    call = fake_call(memory, retrieval=retrieval)
    call.conversation = Conversation(call, META, await memory.begin_session("s1"), "voice")
    yield call
    await call.background.aclose()
    await memory.aclose()


@pytest.fixture
def thinker(call: Call) -> Thinker:
    return Thinker(call, META, call.services.thinking)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def context_of(*questions: str) -> llm.ChatContext:
    context = llm.ChatContext.empty()
    context.add_message(role="system", content="You are a guide.")
    for question in questions:
        context.add_message(role="user", content=question)
        context.add_message(role="assistant", content=f"Answer to {question}")
    context.items.pop()
    return context


def texts(context: llm.ChatContext) -> list[str]:
    return [message.text_content or "" for message in context.messages()]


async def test_notes_come_right_before_the_question_and_stay_out_of_the_history(
    thinker: Thinker,
) -> None:
    context = context_of("hours", "prices")
    before = texts(context)
    prepared = await thinker.prepared(context)
    assert "About prices" in texts(prepared)[-2]
    assert texts(prepared)[-1] == "prices"
    assert texts(context) == before


async def test_each_reply_gets_what_was_recalled_for_its_own_question(thinker: Thinker) -> None:
    for number in range(6):
        prepared = await thinker.prepared(context_of(*(f"topic {n}" for n in range(number + 1))))
        notes = "\n".join(texts(prepared)[-2:-1])
        assert f"About topic {number}" in notes
        assert f"About topic {number - 1}" not in notes


async def test_a_question_is_looked_up_once_however_often_it_is_answered(
    thinker: Thinker, retrieval: FakeRetrieval
) -> None:
    context = context_of("hours")
    for _ in range(3):
        await thinker.prepared(context)
    assert retrieval.asked == ["hours"]
    question = context.messages()[-1]
    assert thinker.recalled_for(question.id).passages[0].text == "About hours"


async def test_what_was_expected_is_looked_up_ahead_and_not_again(
    thinker: Thinker, retrieval: FakeRetrieval
) -> None:
    thinker.expect("hours")
    thinker.expect("hours")
    await settle()
    assert retrieval.asked == ["hours"]
    prepared = await thinker.prepared(context_of("hours"))
    thinker.expect("hours")  # its words become final while the reply is thought of
    await settle()
    assert "About hours" in texts(prepared)[-2]
    assert retrieval.asked == ["hours"]


async def test_what_was_expected_wrongly_is_not_used(
    thinker: Thinker, retrieval: FakeRetrieval
) -> None:
    thinker.expect("hours and")
    prepared = await thinker.prepared(context_of("hours and prices"))
    assert "About hours and prices" in texts(prepared)[-2]
    assert retrieval.asked == ["hours and prices"]  # the other was called off before it began
    thinker.expect("a")
    thinker.expect("b")
    await settle()
    assert retrieval.asked[1:] == ["b"]


async def test_a_reply_is_given_also_when_nothing_can_be_recalled(
    thinker: Thinker, retrieval: FakeRetrieval, call: Call
) -> None:
    retrieval.error = RuntimeError("down")
    context = context_of("hours")
    assert texts(await thinker.prepared(context)) == texts(context)
    assert call.degradations == ["notes_failed"]


async def test_a_new_language_is_asked_for_and_what_was_thought_ahead_is_dropped(
    thinker: Thinker, call: Call
) -> None:
    context = context_of("Can we speak Spanish, please?")
    ahead = context.copy()
    question = cast(llm.ChatMessage, context.items[-1])
    await thinker.spoken(context, question)
    assert not ahead.is_equivalent(context)
    assert call.language == "es"
    assert "Reply in Spanish." in texts(await thinker.prepared(context))


async def test_a_turn_in_the_same_language_leaves_what_was_thought_ahead(thinker: Thinker) -> None:
    context = context_of("hours")
    ahead = context.copy()
    await thinker.spoken(context, cast(llm.ChatMessage, context.items[-1]))
    assert ahead.is_equivalent(context)


def test_tool_calls_and_their_answers_share_a_group() -> None:
    context = context_of("Book it")
    call = llm.FunctionCall(call_id="c1", name="book", arguments="{}")
    answer = llm.FunctionCallOutput(call_id="c1", name="book", output="done", is_error=False)
    context.items.extend([call, answer])
    messages = prompt_of(context)
    assert [message.role for message in messages] == [
        *("system", "user"),
        *("tool_call", "tool_result"),
    ]
    assert messages[2].group == messages[3].group == "c1"


def test_what_was_cut_and_left_out_is_so_in_the_context() -> None:
    context = context_of("hours", "prices")
    system, _, answer, question = prompt_of(context)
    outcome = Truncation(
        kept=(system, answer.cut(9), question),
        note="[left out]",
        note_at=1,
        cut=frozenset({answer.id}),
    )
    assert texts(applied(context, outcome, ["note", ""])) == [
        "You are a guide.",
        "[left out]",
        answer.cut(9).content,
        "note",
        "prices",
    ]
