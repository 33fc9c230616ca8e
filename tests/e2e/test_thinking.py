"""What a reply is given to know, and what takes over when a model fails."""

import asyncio
import time
from datetime import timedelta
from uuid import uuid4

import pytest

from local.kit import CallKit
from local.providers.control import Step
from src.adapters.openai_summaries import OpenAISummariser
from src.adapters.tokens import O200kTokenCounter
from src.bootstrap_memory import Foundation, build_stores
from src.schemas.contact import CallDirection
from src.schemas.job_metadata import JobMetadata
from src.services.cross_session import CrossSessionPolicy, SessionSummaries
from src.services.memory_privacy import NoRedactor
from tests.e2e.test_phone_calls import ask, ended, greeting_of
from tests.e2e.web_client import WebClient

pytestmark = pytest.mark.stack

QUESTIONS = {
    "Where can I borrow a wheelchair?": "Wheelchairs can be borrowed",
    "When do visiting hours on the ward end?": "Visiting hours on the ward",
    "How long must I eat nothing before a fasting blood test?": "For a fasting blood test",
    "When does the cafeteria serve soup?": "The cafeteria on the second floor",
    "Which elevator goes to every floor?": "The elevator beside the pharmacy",
}


async def test_each_reply_gets_the_passages_of_its_own_question(kit: CallKit) -> None:
    room = await kit.dispatch(web_job(mode="text"))
    async with WebClient.join(kit, room, voice=False) as visitor:
        await visitor.line("hello")
        for question, passage in QUESTIONS.items():
            since = time.time()
            answer = f"Answer {uuid4().hex[:8]}."
            await kit.providers.script("chat", Step(match=question, reply=answer))
            await visitor.type(question)
            await visitor.line(answer.lower())
            prompt = await kit.asked(question, since)
            notes = str(prompt[-2]["content"])
            assert passage in notes, notes
            assert prompt[-1]["content"] == question


async def test_a_model_that_fails_is_replaced_by_the_next_of_its_chain(kit: CallKit) -> None:
    metadata = web_job(
        agent_config=AGENT | {"llm_model": "first-model", "llm_fallbacks": ["second-model"]},
        mode="text",
    )
    failing = Step(match='"model": "first-model"', status=500)
    await kit.providers.script("chat", *[failing] * 4)
    async with WebClient.join(kit, await kit.dispatch(metadata), voice=False) as visitor:
        await visitor.line("hello")
        await visitor.type("How long do refunds take?")
        await visitor.line("five business days", timeout_s=20)
    models = [entry["model"] for entry in await kit.providers.log("chat") if "reply" in entry]
    assert "second-model" in models


async def test_an_apology_is_heard_also_when_the_voice_fails(kit: CallKit, caller: str) -> None:
    call = await kit.phone.dial("+15105550100", caller=caller)
    await greeting_of(kit, call)
    await spare_speech_is_ready(kit)
    await kit.providers.script("speak", *[Step(close_code=1011)] * 30)
    await kit.providers.script("speak_connect", *[Step(status=500)] * 30)
    assert "sorry" in await ask(kit, call, "How long do refunds take?")
    await kit.providers.reset()
    assert "twelve dollars" in await ask(kit, call, "What does a replacement card cost?")
    await call.hang_up()
    record = await kit.contact({"phone": caller}, until=ended)
    assert "tts_error" in record["degradations"]


async def spare_speech_is_ready(kit: CallKit) -> None:
    """The first call after a start has the sentences made."""
    folder = kit.stack.data_dir / "spare_speech"
    for _ in range(200):
        if len(await asyncio.to_thread(lambda: list(folder.glob("*.wav")))) >= 2:
            return
        await asyncio.sleep(0.1)
    raise TimeoutError("no spare speech was made")


async def test_a_callers_language_is_spoken_from_the_greeting_of_the_next_call_on(
    kit: CallKit, caller: str
) -> None:
    config = AGENT | {
        "languages": ["es"],
        "voices": {"es": "aura-2-celeste-es"},
        "greetings": {"es": "Hola de nuevo."},
    }
    first, second = (
        JobMetadata.model_validate(
            {
                "call_type": CallDirection.OUTBOUND,
                "contact_uid": f"out-{uuid4().hex[:12]}",
                "phone": caller,
                "agent_config": config,
            }
        )
        for _ in range(2)
    )
    ringing = asyncio.create_task(kit.phone.accept(number=caller))
    await kit.dispatch(first)
    call = await ringing
    await greeting_of(kit, call)
    await kit.providers.script("listen", Step(reply="Can we speak Spanish, please?"))
    await ask(kit, call, "This is what the telephone hears.")
    await call.hang_up()
    await kit.contact({"contactUID": first.contact_uid}, until=ended)

    since = time.time()
    ringing = asyncio.create_task(kit.phone.accept(number=caller))
    await kit.dispatch(second)
    call = await ringing
    await greeting_of(kit, call)
    await call.hang_up()
    assert (await kit.spoken(since))[0].startswith("Hola")
    connections = await kit.providers.log("speak_connect")
    assert connections[-1]["query"]["model"] == "aura-2-celeste-es"


async def test_a_known_person_is_remembered_in_their_next_session(
    kit: CallKit, base: Foundation
) -> None:
    person = uuid4().hex
    first, second = (web_job(mode="text", user_id=person) for _ in range(2))
    question = "How long do refunds take in the branch at the harbour?"
    told = "The visitor asked how long refunds take at the harbour."
    async with WebClient.join(kit, await kit.dispatch(first), voice=False) as visitor:
        await visitor.line("hello")
        await visitor.type(question)
        await visitor.line("five business days")
    # Twice: the summary of the call is written as well.
    await kit.providers.script("chat", *[Step(match=question, reply=told)] * 2)
    await kit.contact({"contactUID": first.contact_uid}, until=ended)
    while await summaries(base).run_once():
        pass
    await kit.providers.reset()

    since = time.time()
    async with WebClient.join(kit, await kit.dispatch(second), voice=False) as visitor:
        await visitor.line("hello")
        await visitor.type("What does a replacement card cost?")
        await visitor.line("twelve dollars")
    prompt = await kit.asked("What does a replacement card cost?", since)
    assert "## Earlier Sessions with This Person" in str(prompt[0]["content"])
    assert told in str(prompt[0]["content"])


def summaries(base: Foundation) -> SessionSummaries:
    """What the jobs process runs every minute, for sessions that are over this very moment."""
    return SessionSummaries(
        archive=build_stores(base).archive,
        summariser=OpenAISummariser(client=base.openai, model="gpt-4.1-mini"),
        redactor=NoRedactor(),
        clock=base.clock,
        policy=CrossSessionPolicy(idle=timedelta(0)),
    )


async def test_a_long_conversation_stays_within_its_limit_and_keeps_its_thread(
    kit: CallKit,
) -> None:
    config = AGENT | {"max_context_tokens": 600}
    since = time.time()
    async with WebClient.join(
        kit, await kit.dispatch(web_job(mode="text", agent_config=config)), voice=False
    ) as visitor:
        await visitor.line("hello")
        for number in range(14):
            question = f"Question {number} about the garden?"
            answer = f"Answer {number}. " + "The roses want water in the morning. " * 8
            await kit.providers.script("chat", Step(match=question, reply=answer.strip()))
            await visitor.type(question)
            await visitor.line(f"answer {number}.")
    prompts = [
        prompt
        for prompt in await kit.prompts(since)
        if str(prompt[-1]["content"]).startswith("Question")
    ]
    count = O200kTokenCounter()
    await asyncio.to_thread(count.load)
    assert max(sum(count(str(m["content"])) for m in prompt) for prompt in prompts) <= 600
    assert prompts[-1][0]["content"] == prompts[0][0]["content"]
    assert any("[Previous conversation summary:" in str(prompt) for prompt in prompts)
    assert [message["content"] for message in prompts[-1]][-1] == "Question 13 about the garden?"


AGENT = {
    "agent_id": "guide",
    "owner_id": "acme",
    "greeting": "Hello, this is the guide.",
    "prompt": "You are a guide.",
    "Context": "Refunds take three to five business days.",
}


def web_job(**fields: object) -> JobMetadata:
    return JobMetadata.model_validate(
        {
            "call_type": CallDirection.WEB,
            "agent_id": "web-guide",
            "contact_uid": f"web-{uuid4().hex[:12]}",
            "session_id": uuid4().hex,
        }
        | fields
    )
