"""Summaries of a live conversation, written while nobody waits for them."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from src.schemas.errors import LanguageModelError
from src.services.background import Background
from src.services.compaction import CompactionPolicy, Compactor
from src.services.prompt_messages import PromptMessage
from src.services.truncation import CONTEXT_LEFT_OUT, LEFT_OUT, Truncation
from tests.fakes.clock import FakeClock
from tests.fakes.message_summariser import HeldSummariser
from tests.unit.services.prompts import SYSTEM, cost, said, talk, words

LIMIT = 200
"""The system prompt and thirteen messages of `talk`; seventy per cent are nine of them."""


class Call:
    """A compactor in a call whose clock and summariser a test owns."""

    def __init__(self) -> None:
        self.summariser, self.clock, self.background = HeldSummariser(), FakeClock(), Background()
        self.compactor = Compactor(
            summariser=self.summariser,
            count=words,
            clock=self.clock,
            background=self.background,
            max_tokens=LIMIT,
        )

    async def fit(self, messages: list[PromptMessage], reserved_tokens: int = 0) -> Truncation:
        """One reply's prompt, and the background's turn."""
        done = self.compactor.fit(messages, reserved_tokens=reserved_tokens)
        await self.settle()
        return done

    async def settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


@pytest.fixture
async def call() -> AsyncIterator[Call]:
    call = Call()
    yield call
    await call.background.aclose()


async def test_nothing_is_summarised_while_there_is_room(call: Call) -> None:
    for count in range(9):
        assert (await call.fit(talk(count))).kept == tuple(talk(count))
    assert call.summariser.asked == []


async def test_the_middle_is_summarised_ahead_of_the_limit_and_used_at_the_limit(
    call: Call,
) -> None:
    ahead = await call.fit(talk(10))
    assert (ahead.kept, ahead.note) == (tuple(talk(10)), "")
    (asked,) = call.summariser.asked
    assert asked.former == ""
    assert [text.split()[:2] for text in asked.texts] == [
        ["Agent:" if n % 2 else "Caller:", f"word{n}"] for n in range(1, 8)
    ]
    asked.answer("They talked.")
    await call.settle()
    assert (await call.fit(talk(13))).note == ""  # all of it still fits
    at_limit = await call.fit(talk(14))
    assert at_limit.note == "[Previous conversation summary: They talked.]"
    assert at_limit.kept == (SYSTEM, *talk(14)[8:])
    assert at_limit.degradations == ()


async def test_the_reply_never_waits_and_what_is_left_out_is_said(call: Call) -> None:
    await call.fit(talk(10))
    done = await call.fit(talk(14))
    assert done.note == LEFT_OUT
    assert done.degradations == (CONTEXT_LEFT_OUT,)
    assert cost(done.messages) <= LIMIT


async def test_one_summary_is_written_at_a_time(call: Call) -> None:
    for count in range(10, 30):
        await call.fit(talk(count))
        call.clock.advance(1000)
    assert len(call.summariser.asked) == 1


async def test_a_later_summary_folds_the_former_one(call: Call) -> None:
    await call.fit(talk(10))
    call.summariser.asked[0].answer("They talked.")
    await call.settle()
    await call.fit(talk(18))
    second = call.summariser.asked[1]
    assert second.former == "They talked."
    assert [text.split()[1] for text in second.texts] == [f"word{n}" for n in range(8, 16)]
    meanwhile = await call.fit(talk(19))  # the former one serves until the new one is there
    assert meanwhile.note.startswith("[Previous conversation summary: They talked.]")
    second.answer("They talked more.")
    await call.settle()
    done = await call.fit(talk(19))
    assert done.note == "[Previous conversation summary: They talked more.]"
    assert done.kept == (SYSTEM, *talk(19)[16:])


async def test_tokens_reserved_for_notes_count(call: Call) -> None:
    assert (await call.fit(talk(10), reserved_tokens=100)).degradations == (CONTEXT_LEFT_OUT,)
    assert len(call.summariser.asked) == 1


async def test_a_failed_summary_is_tried_again_later_and_less_and_less_often(call: Call) -> None:
    for pause_s in (15.0, 30.0, 60.0):
        await call.fit(talk(14))
        call.summariser.asked[-1].fail()
        await call.settle()
        tried = len(call.summariser.asked)
        call.clock.advance(pause_s - 1)
        assert (await call.fit(talk(14))).note == LEFT_OUT
        assert len(call.summariser.asked) == tried
        call.clock.advance(1)
    await call.fit(talk(14))
    call.summariser.asked[-1].answer("They talked.")
    await call.settle()
    assert (await call.fit(talk(14))).note == "[Previous conversation summary: They talked.]"


async def test_an_unexpected_failure_is_not_tried_again_at_every_turn(call: Call) -> None:
    await call.fit(talk(14))
    call.summariser.asked[0].fail(RuntimeError("a bug"))
    await call.settle()
    await call.fit(talk(15))
    assert len(call.summariser.asked) == 1


async def test_a_summary_that_takes_too_long_is_given_up() -> None:
    call = Call()
    call.compactor = Compactor(
        summariser=call.summariser,
        count=words,
        clock=call.clock,
        background=call.background,
        max_tokens=LIMIT,
        policy=CompactionPolicy(timeout_s=0.0),
    )
    await call.fit(talk(14))
    await call.background.aclose(grace_s=5)
    assert call.summariser.asked[0].reply.cancelled()
    assert (await call.fit(talk(14))).note == LEFT_OUT


async def test_a_summary_of_something_else_is_dropped(call: Call) -> None:
    await call.fit(talk(10))
    call.summariser.asked[0].answer("They talked.")
    await call.settle()
    changed = talk(14)
    changed[3] = said(30)
    assert (await call.fit(changed)).note == LEFT_OUT
    assert (await call.fit(talk(14))).note == LEFT_OUT  # for good
    assert call.summariser.asked[1].former == ""


async def test_a_summary_made_of_what_was_deleted_meanwhile_is_not_used(call: Call) -> None:
    await call.fit(talk(10))
    rest = [SYSTEM, *talk(20)[6:]]
    await call.fit(rest)
    call.summariser.asked[0].answer("They talked.")
    await call.settle()
    assert (await call.fit(rest)).note == LEFT_OUT


async def test_a_summary_that_builds_on_a_dropped_one_is_dropped_too(call: Call) -> None:
    await call.fit(talk(10))
    call.summariser.asked[0].answer("They talked.")
    await call.settle()
    await call.fit(talk(18))
    changed = talk(18)
    changed[1] = replace(changed[1], content="something else")
    await call.fit(changed)
    call.summariser.asked[1].answer("They talked more.")
    await call.settle()
    assert (await call.fit(talk(18))).note == LEFT_OUT


async def test_another_system_prompt_leaves_the_summary_in_force(call: Call) -> None:
    await call.fit(talk(10))
    call.summariser.asked[0].answer("They talked.")
    await call.settle()
    messages = [replace(SYSTEM, content="You are the night desk now."), *talk(14)[1:]]
    assert (await call.fit(messages)).note == "[Previous conversation summary: They talked.]"


async def test_a_long_system_prompt_pays_for_no_summary_of_a_word_or_two(call: Call) -> None:
    system = replace(SYSTEM, content="rule " * 190)
    for count in range(1, 5):
        messages = [system, *(said(n, length=1) for n in range(count))]
        await call.fit(messages)
    assert call.summariser.asked == []


async def test_a_blank_summary_stands_for_nothing(call: Call) -> None:
    await call.fit(talk(10))
    call.summariser.asked[0].answer("### \n")
    await call.settle()
    assert (await call.fit(talk(14))).note == LEFT_OUT
    call.clock.advance(15)
    await call.fit(talk(14))
    assert call.summariser.asked[1].former == ""


STEPS = st.lists(
    st.sampled_from(("say", "say", "say", "think", "answer", "fail", "wait", "edit")), max_size=60
)


@given(steps=STEPS)
async def test_whatever_the_order_of_events_a_summary_stands_for_what_it_was_made_of(
    steps: list[str],
) -> None:
    call, messages, made_of = Call(), [SYSTEM], dict[str, tuple[str, ...]]()
    for number, step in enumerate(steps):
        waiting = [asked for asked in call.summariser.asked if not asked.reply.done()]
        assert len(waiting) <= 1
        if step == "say":
            messages.append(said(number, length=20))
        elif step == "edit" and len(messages) > 5:
            messages[1] = replace(messages[1], content=f"edited{number} now")
        elif step == "wait":
            call.clock.advance(30)
        elif waiting and step == "fail":
            waiting[0].fail(LanguageModelError("down"))
        elif waiting and step == "answer":
            text = f"summary{number}"
            texts = tuple(text.split()[1] for text in waiting[0].texts)
            made_of[text] = (*made_of.get(waiting[0].former, ()), *texts)
            waiting[0].answer(text)
        done = await call.fit(list(messages))
        _is_whole(done, messages, made_of)
    await call.background.aclose()


def _is_whole(
    done: Truncation, messages: list[PromptMessage], made_of: dict[str, tuple[str, ...]]
) -> None:
    """Every message is kept, or summarised as it is now, or the note says that some are left out."""
    kept = {message.id for message in done.kept}
    gone = [message.content.split()[0] for message in messages if message.id not in kept]
    said_by_summary = next((made_of[text] for text in made_of if f": {text}]" in done.note), ())
    assert said_by_summary == tuple(gone[: len(said_by_summary)])
    assert (len(gone) > len(said_by_summary)) == (LEFT_OUT in done.note)
    assert (LEFT_OUT in done.note) == (CONTEXT_LEFT_OUT in done.degradations)
    assert [message.id for message in messages[-3:]] == [message.id for message in done.kept[-3:]]
    assert cost(done.messages) <= LIMIT
