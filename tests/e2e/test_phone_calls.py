"""Calls over real SIP and real audio: what the phone hears, what the model is told, what is kept."""

import asyncio
import time
from uuid import uuid4

import pytest

from local.kit import CallKit, Document, LogTail, past_call
from local.phone.call import Call
from local.providers.control import Step
from src.schemas.contact import CallDirection
from src.schemas.job_metadata import JobMetadata

pytestmark = pytest.mark.stack

RECEPTION = "+15105550100"
PLAIN = "+15105550101"
HISTORY_ONLY = "+15105550102"
VARIABLES_ONLY = "+15105550103"
HEADING = "## Previous Conversation History with This Contact"
INJECTED = "Injecting 1 prior conversation summary(ies) into agent Context."
APPLIED = "Applied 1 remembered dynamic variable(s) from prior calls."


async def we_call(kit: CallKit, phone: str, name: str, *, ring_s: float = 0.5) -> tuple[str, Call]:
    """An outbound call that is answered; its contactUID and the phone's side of it."""
    uid = f"out-{uuid4().hex[:12]}"
    ringing = asyncio.create_task(kit.phone.accept(number=phone, ring_s=ring_s))
    await kit.dispatch(outbound(uid, phone, name))
    return uid, await ringing


def outbound(uid: str, phone: str, name: str) -> JobMetadata:
    return JobMetadata(
        call_type=CallDirection.OUTBOUND,
        agent_id="outreach",
        contact_uid=uid,
        phone=phone,
        dynamic_values={"name": name},
    )


async def greeting_of(kit: CallKit, call: Call) -> str:
    return (await call.listen(call.answered_at, kit.hear)).text


async def ask(kit: CallKit, call: Call, question: str) -> str:
    return (await call.ask(await kit.speech(question), kit.hear)).text.lower()


def ended(document: Document) -> bool:
    return document.get("callEndedAt") is not None


def summarised(document: Document) -> bool:
    return bool(document.get("conversation_summary"))


async def instructions_since(kit: CallKit, since: float) -> str:
    prompts = await kit.prompts(since)
    return "\n".join(
        str(m["content"]) for messages in prompts for m in messages if m["role"] == "system"
    )


async def test_we_call_somebody_and_they_are_remembered_when_they_call_back(
    kit: CallKit, caller: str, worker_log: LogTail
) -> None:
    uid, call = await we_call(kit, caller, "Maria")
    assert "maria" in (await greeting_of(kit, call)).lower()
    assert "five business days" in await ask(kit, call, "How long do refunds take?")
    await call.hang_up()
    record = await kit.contact({"contactUID": uid}, until=summarised)
    assert record["status"] == "completed"
    assert record["dynamicVariables"] == {"name": "Maria"}
    assert [turn["role"] for turn in record["transcript"]] == ["assistant", "user", "assistant"]
    assert "refund" in record["conversation_summary"].lower()

    since = time.time()
    back = await kit.phone.dial(RECEPTION, caller=caller)
    assert "maria" in (await greeting_of(kit, back)).lower()
    assert "refund" in await ask(kit, back, "What did we talk about last time?")
    await back.hang_up()

    record = await kit.contact({"phone": caller, "callDirection": "inbound"}, until=ended)
    history, variables = record["memoryReceipt"]["history"], record["memoryReceipt"]["variables"]
    assert (history["outcome"], history["contact_uids"]) == ("applied", [uid])
    assert (variables["outcome"], variables["variables"]) == ("applied", ["name"])
    assert record["degradations"] == []
    assert INJECTED in worker_log.messages()
    assert APPLIED in worker_log.messages()
    for private in (caller[-10:], "Maria", "refund"):
        assert private not in worker_log.text()
    instructions = await instructions_since(kit, since)
    assert HEADING in instructions
    assert "refunds take three to five business days" in instructions.lower()


async def test_a_rare_name_reaches_the_voice_as_it_is_written(kit: CallKit, caller: str) -> None:
    since = time.time()
    _, call = await we_call(kit, caller, "Daivik")
    await greeting_of(kit, call)
    await call.hang_up()
    assert any("Daivik" in text for text in await kit.spoken(since))


async def test_another_countrys_number_with_the_same_last_digits_is_a_stranger(
    kit: CallKit, caller: str
) -> None:
    await kit.contacts.insert_one(past_call(f"+91{caller[-10:]}"))
    since = time.time()
    call = await kit.phone.dial(RECEPTION, caller=caller)
    assert "maria" not in (await greeting_of(kit, call)).lower()
    await ask(kit, call, "What are your opening hours?")
    await call.hang_up()
    record = await kit.contact({"phone": caller}, until=ended)
    assert record["memoryReceipt"]["history"]["refused"] == {"different_number": 1}
    assert record["memoryReceipt"]["variables"]["refused"] == {"different_number": 1}
    assert "thermostat" not in await instructions_since(kit, since)


async def test_a_withheld_number_gets_a_neutral_greeting(kit: CallKit, worker_log: LogTail) -> None:
    call = await kit.phone.dial(RECEPTION, caller=None)
    greeting = (await greeting_of(kit, call)).lower()
    await call.hang_up()
    assert "hello" in greeting
    assert "maria" not in greeting
    await asyncio.sleep(0.2)
    assert "No usable phone number for history lookup" in worker_log.messages()


@pytest.mark.parametrize(
    ("number", "history", "variables"),
    [(PLAIN, False, False), (HISTORY_ONLY, True, False), (VARIABLES_ONLY, False, True)],
    ids=["both off", "history only", "variables only"],
)
async def test_each_feature_works_by_itself(
    kit: CallKit, caller: str, number: str, history: bool, variables: bool, worker_log: LogTail
) -> None:
    await kit.contacts.insert_one(past_call(caller))
    since = time.time()
    call = await kit.phone.dial(number, caller=caller)
    greeting = (await greeting_of(kit, call)).lower()
    await ask(kit, call, "What did we talk about last time?")
    await call.hang_up()
    await kit.contact({"phone": caller, "callDirection": "inbound"}, until=ended)
    assert ("maria" in greeting) is variables
    assert (HEADING in await instructions_since(kit, since)) is history
    assert (INJECTED in worker_log.messages()) is history
    assert (APPLIED in worker_log.messages()) is variables


async def test_outbound_memory_fills_what_the_campaign_left_out(kit: CallKit, caller: str) -> None:
    await kit.contacts.insert_one(past_call(caller, AgentID="outreach"))
    uid, call = await we_call(kit, caller, "")
    assert "maria" in (await greeting_of(kit, call)).lower()
    assert "thermostat" in await ask(kit, call, "What did we talk about last time?")
    await call.hang_up()
    record = await kit.contact({"contactUID": uid}, until=ended)
    assert record["memoryReceipt"]["variables"]["variables"] == ["name"]


async def test_the_live_value_wins_over_memory(kit: CallKit, caller: str) -> None:
    await kit.contacts.insert_one(past_call(caller, dynamicVariables={"name": "Robert"}))
    _, call = await we_call(kit, caller, "Maria")
    greeting = (await greeting_of(kit, call)).lower()
    await call.hang_up()
    assert "maria" in greeting
    assert "robert" not in greeting


async def test_two_calls_from_one_number_at_once_both_work(kit: CallKit, caller: str) -> None:
    await kit.contacts.insert_one(past_call(caller))
    one, two = await asyncio.gather(
        kit.phone.dial(RECEPTION, caller=caller), kit.phone.dial(RECEPTION, caller=caller)
    )
    greetings = await asyncio.gather(greeting_of(kit, one), greeting_of(kit, two))
    assert ["maria" in text.lower() for text in greetings] == [True, True], greetings
    answers = await asyncio.gather(
        ask(kit, one, "How long do refunds take?"),
        ask(kit, two, "What does a replacement card cost?"),
    )
    assert "five business days" in answers[0]
    assert "twelve dollars" in answers[1]
    await asyncio.gather(one.hang_up(), two.hang_up())
    inbound = {"phone": caller, "callDirection": "inbound"}
    first = await kit.contact(inbound, until=ended)
    second = await kit.contact(inbound | {"contactUID": {"$ne": first["contactUID"]}}, until=ended)
    for record in (first, second):
        assert record["memoryReceipt"]["history"]["outcome"] == "applied"


async def test_handing_over_gives_the_new_agent_its_own_memory(kit: CallKit, caller: str) -> None:
    await kit.contacts.insert_one(
        past_call(
            caller,
            AgentID="billing",
            conversation_summary="The caller disputed an invoice from March.",
        )
    )
    call = await kit.phone.dial(RECEPTION, caller=caller)
    await greeting_of(kit, call)
    since = time.time()
    # What the recogniser makes of "billing" is not what is tested here.
    await kit.providers.script("listen", Step(reply="Please transfer me to billing."))
    handed = await ask(kit, call, "Please transfer me to billing.")
    assert "billing" in handed
    answer = await ask(kit, call, "What did we talk about last time?")
    await call.hang_up()
    assert "invoice" in answer
    record = await kit.contact({"phone": caller, "callDirection": "inbound"}, until=ended)
    assert record["handoffReceipts"][0]["history"]["outcome"] == "applied"
    assert "invoice from March" in await instructions_since(kit, since)


async def test_a_number_without_an_agent_hears_a_sentence_and_an_end(
    kit: CallKit, caller: str
) -> None:
    numbers = kit.database["PhoneNumber"]
    binding = await numbers.find_one_and_delete({"number": PLAIN})
    assert binding is not None
    try:
        call = await kit.phone.dial(PLAIN, caller=caller)
        async with asyncio.timeout(15):
            await call.ended.wait()
    finally:
        await numbers.insert_one(binding)
    heard = (await kit.hear(call.heard_pcm(), 8000)).lower()
    assert "nobody is available" in heard
    assert "call again later" in heard
    assert call.ended_by == "there"


async def test_a_caller_who_talks_into_the_greeting_is_heard_and_answered(
    kit: CallKit, caller: str
) -> None:
    question = await kit.speech("What are your opening hours?")
    call = await kit.phone.dial(RECEPTION, caller=caller)
    await call.hear(call.answered_at)
    answer = (await call.ask(question, kit.hear)).text.lower()
    await call.hang_up()
    assert "nine" in answer
    record = await kit.contact({"phone": caller}, until=ended)
    assert record["transcript"][0]["interrupted"]


async def test_hanging_up_in_the_greeting_keeps_what_was_heard(kit: CallKit, caller: str) -> None:
    call = await kit.phone.dial(RECEPTION, caller=caller)
    await call.hear(call.answered_at)
    await asyncio.sleep(0.8)
    await call.hang_up()
    record = await kit.contact({"phone": caller}, until=ended)
    assert record["status"] == "completed"
    assert record["analysisStatus"] == "no_conversation"
    assert all(turn["interrupted"] for turn in record["transcript"])


async def test_a_call_that_is_dispatched_twice_is_greeted_once(
    kit: CallKit, caller: str, worker_log: LogTail
) -> None:
    call = await kit.phone.dial(RECEPTION, caller=caller)
    since = time.time()
    await kit.dispatch('{"v":1,"call_type":"inbound"}', room=await kit.room_of(caller))
    await greeting_of(kit, call)
    assert "nine" in await ask(kit, call, "What are your opening hours?")
    spoken = [text for text in await kit.spoken(since - 2) if "Acme" in text]
    await call.hang_up()
    assert len(spoken) == 1
    assert "another job serves this call, leaving" in worker_log.messages()
