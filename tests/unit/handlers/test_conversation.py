"""What is said in a call becomes memory once, in order, as it was heard."""

from collections.abc import AsyncIterator
from typing import cast

import pytest
from livekit.agents import UserInputTranscribedEvent, llm

from src.handlers.call import Call
from src.handlers.conversation import Conversation
from src.schemas.agent_meta_schema import AgentMeta
from src.schemas.memory import LANGUAGE_SWITCH, MODE_SWITCH
from src.services.unified_memory import UnifiedMemoryService
from tests.fakes.call import fake_call

META = AgentMeta(agent_id="guide", owner_id="acme", languages=("es",), voices={"es": "celeste"})


@pytest.fixture
async def memory() -> AsyncIterator[UnifiedMemoryService]:
    service = UnifiedMemoryService()
    yield service
    await service.aclose()


@pytest.fixture
async def call(memory: UnifiedMemoryService) -> AsyncIterator[Call]:
    call = fake_call(memory)
    opened = await memory.begin_session("s1", user_id="u", owner_id="acme", agent_id="guide")
    call.conversation = Conversation(call, META, opened, "voice")
    yield call
    await call.background.aclose()


def conversation(call: Call) -> Conversation:
    return cast(Conversation, call.conversation)


def user(text: str) -> llm.ChatMessage:
    return llm.ChatMessage(role="user", content=[text])


def assistant(text: str, *, interrupted: bool = False) -> llm.ChatMessage:
    return llm.ChatMessage(role="assistant", content=[text], interrupted=interrupted)


def final(text: str, language: str | None = None) -> UserInputTranscribedEvent:
    return UserInputTranscribedEvent(transcript=text, is_final=True, language=language)


async def contents(memory: UnifiedMemoryService) -> list[str]:
    return [entry.content for entry in await memory.get_history("s1", max_messages=50)]


async def test_a_spoken_turn_is_written_before_its_reply(
    call: Call, memory: UnifiedMemoryService
) -> None:
    conversation(call).heard(final("How long do"))
    conversation(call).heard(final("refunds take?"))
    await conversation(call).spoken(user("How long do refunds take?"))
    (entry,) = await memory.get_history("s1")
    assert (entry.role, entry.mode, entry.content) == (
        "user",
        "voice",
        "How long do refunds take?",
    )


async def test_a_turn_whose_reply_was_preempted_is_one_entry(
    call: Call, memory: UnifiedMemoryService
) -> None:
    await conversation(call).spoken(user("Yes."))
    conversation(call).added(user("Yes."))  # LiveKit keeps the preempted message, of another id
    await conversation(call).close()
    assert await contents(memory) == ["Yes."]


async def test_yes_five_times_is_five_entries(call: Call, memory: UnifiedMemoryService) -> None:
    for _ in range(5):
        message = user("Yes.")
        await conversation(call).spoken(message)
        conversation(call).added(message)
    await conversation(call).close()
    assert await contents(memory) == ["Yes."] * 5


async def test_a_repeated_event_is_one_entry(call: Call, memory: UnifiedMemoryService) -> None:
    message = assistant("Three to five days.")
    conversation(call).added(message)
    conversation(call).added(message)
    await conversation(call).close()
    assert await contents(memory) == ["Three to five days."]


async def test_what_was_cut_short_is_kept_as_far_as_it_was_heard(
    call: Call, memory: UnifiedMemoryService
) -> None:
    conversation(call).added(assistant("Refunds take three", interrupted=True))
    turns = await conversation(call).close()
    assert [(turn.text, turn.interrupted) for turn in turns] == [("Refunds take three", True)]
    assert (await memory.get_history("s1"))[0].interrupted


async def test_a_turn_that_livekit_alone_knows_of_is_written_too(
    call: Call, memory: UnifiedMemoryService
) -> None:
    conversation(call).added(user("Goodbye."))  # said while the session closed: no hook ran
    await conversation(call).close()
    assert await contents(memory) == ["Goodbye."]


async def test_blank_turns_are_nothing(call: Call, memory: UnifiedMemoryService) -> None:
    await conversation(call).spoken(user("  "))
    conversation(call).added(assistant(""))
    await conversation(call).close()
    assert await contents(memory) == []


async def test_two_turns_in_another_language_change_voice_and_language(
    call: Call, memory: UnifiedMemoryService
) -> None:
    for text in ("¿Cuánto cuesta una tarjeta?", "¿Y cuánto tarda todo?"):
        conversation(call).heard(final(text, "es"))
        await conversation(call).spoken(user(text))
    assert call.language == "es"
    assert call.services.speech.voices == ["celeste"]  # type: ignore[attr-defined]
    entries = await memory.get_history("s1")
    assert [entry.language_switched for entry in entries] == [False, True]
    assert [entry.detected_language for entry in entries] == ["es", "es"]
    (event,) = await memory.get_events("s1", LANGUAGE_SWITCH)
    assert (event["from_language"], event["to_language"]) == ("en", "es")
    assert event["trigger"] == "auto_detected"


async def test_typed_text_tells_its_language_too(call: Call) -> None:
    for text in ("¿Cuánto cuesta una tarjeta?", "¿Y cuánto tarda todo?"):
        await conversation(call).typed(user(text))
    assert call.language == "es"


@pytest.mark.parametrize(("language", "accepted"), [("es", True), ("es-MX", True), ("fr", False)])
async def test_a_language_is_set_by_hand_if_the_agent_speaks_it(
    call: Call, memory: UnifiedMemoryService, language: str, *, accepted: bool
) -> None:
    assert await conversation(call).choose_language(language) is accepted
    events = await memory.get_events("s1", LANGUAGE_SWITCH)
    assert [event["trigger"] for event in events] == ["explicit_setting"] * accepted


async def test_a_switch_of_mode_is_an_event_and_the_next_answer_is_of_that_mode(
    call: Call, memory: UnifiedMemoryService
) -> None:
    await conversation(call).mode_switched("text")
    conversation(call).added(assistant("Typed."))
    await conversation(call).close()
    (event,) = await memory.get_events("s1", MODE_SWITCH)
    assert (event["from_mode"], event["to_mode"]) == ("voice", "text")
    assert (await memory.get_history("s1"))[0].mode == "text"


async def test_only_another_tabs_messages_are_said_elsewhere(
    call: Call, memory: UnifiedMemoryService
) -> None:
    await conversation(call).spoken(user("Mine."))
    other = Conversation(call, META, await memory.resume("s1"), "text")
    await other.typed(user("Typed in the other tab."))
    assert [entry.content for entry in await conversation(call).said_elsewhere()] == [
        "Typed in the other tab."
    ]
    assert await other.said_elsewhere() == []
