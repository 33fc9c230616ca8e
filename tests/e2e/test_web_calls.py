"""Voice and text in one web session."""

import asyncio
import time
from uuid import uuid4

import pytest

from local.kit import CallKit, LogTail
from local.providers.control import Step
from src.schemas.contact import CallDirection
from src.schemas.job_metadata import JobMetadata
from tests.e2e.test_phone_calls import ended
from tests.e2e.web_client import WebClient

pytestmark = pytest.mark.stack


async def open_session(kit: CallKit, *, mode: str = "voice") -> tuple[str, str]:
    """A room with the web agent in it; its name and the contactUID."""
    uid = f"web-{uuid4().hex[:12]}"
    metadata = JobMetadata.model_validate(
        {"call_type": CallDirection.WEB, "agent_id": "web-guide", "contact_uid": uid, "mode": mode}
    )
    return await kit.dispatch(metadata), uid


async def test_voice_and_text_share_one_conversation(kit: CallKit) -> None:
    room, uid = await open_session(kit)
    async with WebClient.join(kit, room, voice=True) as visitor:
        await visitor.quiet()
        assert await visitor.line("hello")
        await visitor.say(await kit.speech("How long do refunds take?"))
        await visitor.line("five business days")
        await visitor.quiet()
        await visitor.type("What does a replacement card cost?")
        await visitor.line("twelve dollars")
        await visitor.quiet()
    record = await kit.contact({"contactUID": uid}, until=ended)
    said = " ".join(turn["text"] for turn in record["transcript"] if turn["role"] == "user").lower()
    assert record["callDirection"] == "web"
    assert "refund" in said
    assert "what does a replacement card cost?" in said
    assert record["memoryReceipt"]["history"]["outcome"] in ("no_phone", "off")
    assert record["memoryReceipt"]["variables"]["contact_uids"] == []


async def test_a_text_session_answers_without_any_audio(kit: CallKit) -> None:
    room, uid = await open_session(kit, mode="text")
    since = time.time()
    async with WebClient.join(kit, room, voice=False) as visitor:
        await visitor.line("hello")
        await visitor.type("How long do refunds take?")
        await visitor.line("five business days")
    await kit.contact({"contactUID": uid}, until=ended)
    assert await kit.spoken(since) == []


async def test_visitors_who_come_at_the_same_moment_are_all_greeted(kit: CallKit) -> None:
    sessions = await asyncio.gather(*(open_session(kit, mode="text") for _ in range(5)))

    async def greeted(room: str) -> str:
        async with WebClient.join(kit, room, voice=False) as visitor:
            return await visitor.line("hello", timeout_s=25)

    assert len(await asyncio.gather(*(greeted(room) for room, _ in sessions))) == 5


async def test_speaking_stops_the_agent(kit: CallKit) -> None:
    room, uid = await open_session(kit)
    await kit.providers.script("chat", *[Step(reply=LONG)] * 3)  # it may be thought ahead twice
    async with WebClient.join(kit, room, voice=True) as visitor:
        await visitor.quiet()
        asked = await visitor.say(await kit.speech("Please tell me everything about your company."))
        await visitor.sound(asked)
        await kit.providers.reset()
        await asyncio.sleep(1.0)
        await visitor.say(await kit.speech("Could you tell me what a replacement card costs?"))
        await visitor.line("twelve dollars")
        await visitor.quiet()
    record = await kit.contact({"contactUID": uid}, until=ended)
    cut = [turn for turn in record["transcript"] if turn["interrupted"]]
    assert cut
    assert len(cut[0]["text"]) < len(LONG) / 2


async def test_typing_stops_the_agent(kit: CallKit) -> None:
    room, uid = await open_session(kit)
    await kit.providers.script("chat", *[Step(reply=LONG)] * 3)  # it may be thought ahead twice
    async with WebClient.join(kit, room, voice=True) as visitor:
        await visitor.quiet()
        began = time.time()
        await visitor.type("Tell me everything about your company.")
        await visitor.sound(began)
        await kit.providers.reset()
        await asyncio.sleep(1.0)
        await visitor.type("What does a replacement card cost?")
        await visitor.line("twelve dollars")
        await visitor.quiet()
    record = await kit.contact({"contactUID": uid}, until=ended)
    assert [
        turn["interrupted"]
        for turn in record["transcript"]
        if turn["text"] and turn["role"] == "assistant"
    ].count(True) == 1


async def test_a_job_that_cannot_be_served_says_so_and_ends(
    kit: CallKit, worker_log: LogTail
) -> None:
    room = await kit.dispatch(
        {"v": 1, "call_type": "web", "agent_id": "web-guide", "agent_config": {"agent_id": "x"}}
    )
    async with WebClient.join(kit, room, voice=True) as visitor:
        await visitor.line("something went wrong")
        await visitor.gone()
    assert "call failed" in worker_log.messages()


LONG = (
    "Acme Health was founded many years ago by two sisters who wanted to help people. "
    "At first there was a single room above a bakery, with one desk and one telephone. "
    "Over the years the company moved to a larger house beside the river. "
    "Today it has offices in many towns and more than a thousand people work for it. "
    "Every spring the whole company meets in the mountains to plan the coming year."
)
