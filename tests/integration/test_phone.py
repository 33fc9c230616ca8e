"""The simulated phone against another of its kind, and against sipp, which was written by others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import numpy as np
import pytest

from local.phone import (
    Call,
    CallEndedError,
    CallRefusedError,
    InboundCall,
    OutboundCall,
    Pcm,
    Phone,
    Timers,
)
from local.phone.rtp import decode_ulaw, encode_ulaw
from local.sipp import Sipp

pytestmark = pytest.mark.integration

PORTS = range(29000, 29200)
NUMBER = "+15105550100"


def tone(hertz: float, seconds: float = 0.2) -> Pcm:
    return (8000 * np.sin(2 * np.pi * hertz * np.arange(8000 * seconds) / 8000)).astype(np.int16)


def has_heard(call: Call, pcm: Pcm) -> bool:
    """Whether every sample arrived, in order and unbroken."""
    return decode_ulaw(encode_ulaw(pcm)).tobytes() in call.heard_pcm().tobytes()


@pytest.fixture
async def callee() -> AsyncIterator[Phone]:
    async with Phone(rtp_ports=PORTS) as phone:
        yield phone


@pytest.fixture
async def caller(callee: Phone) -> AsyncIterator[Phone]:
    async with Phone(rtp_ports=PORTS, server=callee.address) as phone:
        yield phone


async def connect(
    caller: Phone, callee: Phone, number: str = NUMBER
) -> tuple[OutboundCall, InboundCall]:
    async with asyncio.TaskGroup() as group:
        dialled = group.create_task(caller.dial(number, timeout_s=5))
        accepted = group.create_task(callee.accept(ring_s=0.05, number=number, timeout_s=5))
    return dialled.result(), accepted.result()


async def test_both_sides_hear_each_other(caller: Phone, callee: Phone) -> None:
    ours, theirs = await connect(caller, callee)
    question, reply = tone(440), tone(700)

    began, ended = await ours.say(question)
    first = await theirs.hear(began)
    assert await theirs.quiet(0.1) >= ended
    answered, _ = await theirs.say(reply)
    await ours.hear(answered)
    await ours.quiet(0.1)
    await ours.hang_up()
    await theirs.ended.wait()

    assert first >= began
    assert has_heard(theirs, question)
    assert has_heard(ours, reply)
    assert (ours.lost_packets, theirs.lost_packets) == (0, 0)
    assert (theirs.number, theirs.caller) == (NUMBER, "+15551234567")


async def test_the_caller_hangs_up(caller: Phone, callee: Phone) -> None:
    ours, theirs = await connect(caller, callee)
    assert ours.invited_at < ours.ringing_at < ours.answered_at

    await ours.hang_up()
    await ours.hang_up()

    assert (ours.ended_by, ours.bye_status) == ("here", 200)
    assert theirs.ended.is_set()
    assert theirs.ended_by == "there"
    assert [entry.line for entry in callee.trace if "BYE" in entry.line] == [
        f"BYE sip:{NUMBER}@127.0.0.1:{callee.sip_port} SIP/2.0"
    ]


async def test_the_callee_hangs_up(caller: Phone, callee: Phone) -> None:
    ours, theirs = await connect(caller, callee)

    await theirs.hang_up()

    assert (theirs.bye_status, ours.ended_by) == (200, "there")
    with pytest.raises(CallEndedError):
        await ours.say(tone(440))
    with pytest.raises(CallEndedError):
        await ours.hear(ours.answered_at)


async def test_a_hang_up_cuts_the_sentence(caller: Phone, callee: Phone) -> None:
    ours, theirs = await connect(caller, callee)
    speech = asyncio.ensure_future(ours.say(tone(440, seconds=20)))
    await theirs.hear(0.0)
    await theirs.hang_up()
    with pytest.raises(CallEndedError, match=r"after \d+ of 1000 frames"):
        await speech


async def test_the_caller_gives_up_while_it_rings(caller: Phone, callee: Phone) -> None:
    ours = await caller.start_dial(NUMBER)
    theirs = await callee.ring_only(number=NUMBER)
    await ours.wait_ringing()

    await ours.cancel()

    await theirs.ended.wait()
    assert (ours.ended_by, theirs.ended_by) == ("here", "there")
    with pytest.raises(CallRefusedError, match="487"):
        await ours.wait_answered()
    with pytest.raises(CallEndedError):
        await theirs.answer()
    assert [e.line.split()[0] for e in caller.trace if e.sent] == ["INVITE", "CANCEL", "ACK"]


async def test_a_call_that_nobody_answers_is_cancelled(caller: Phone, callee: Phone) -> None:
    ringing = asyncio.ensure_future(callee.ring_only())
    with pytest.raises(TimeoutError):
        await caller.dial(NUMBER, timeout_s=0.1)
    theirs = await ringing
    assert theirs.ended_by == "there"


@pytest.mark.parametrize("status", [486, 603])
async def test_a_refusal_has_its_status_and_is_acknowledged(
    caller: Phone, callee: Phone, status: int
) -> None:
    refusing = asyncio.ensure_future(callee.refuse(status, number=NUMBER))
    with pytest.raises(CallRefusedError) as refused:
        await caller.dial(NUMBER)
    theirs = await refusing
    assert refused.value.status == status
    assert theirs.is_acknowledged


async def test_keys_arrive(caller: Phone, callee: Phone) -> None:
    ours, theirs = await connect(caller, callee)
    await ours.dtmf("55#")
    assert await theirs.digits(3) == "55#"
    assert theirs.lost_packets == 0


async def test_a_withheld_number_is_not_told(caller: Phone, callee: Phone) -> None:
    ringing = asyncio.ensure_future(callee.ring_only())
    ours = await caller.start_dial(NUMBER, caller=None)
    theirs = await ringing
    assert theirs.caller is None
    await ours.cancel()


async def test_three_calls_at_once_stay_apart(caller: Phone, callee: Phone) -> None:
    numbers = [f"{NUMBER}{index}" for index in range(3)]
    calls = await asyncio.gather(*(connect(caller, callee, number) for number in numbers))
    words = [tone(400 + 100 * index) for index in range(3)]

    await asyncio.gather(*(ours.say(word) for (ours, _), word in zip(calls, words, strict=True)))
    await asyncio.gather(*(ours.hang_up() for ours, _ in calls))

    for index, (_, theirs) in enumerate(calls):
        assert theirs.number == numbers[index]
        assert [has_heard(theirs, word) for word in words] == [i == index for i in range(3)]


async def test_an_answer_is_heard_to_its_end(caller: Phone, callee: Phone) -> None:
    ours, theirs = await connect(caller, callee)
    sentences = np.concatenate([tone(700), np.zeros(800, np.int16), tone(700)])
    told: list[Pcm] = []
    said: list[tuple[float, float]] = []

    async def transcribe(pcm: Pcm, rate_hz: int) -> str:
        told.append(pcm)
        return f"{rate_hz} Hz"

    async def reply() -> None:
        await theirs.hear(0.0)
        await theirs.quiet(0.2)
        said.append(await theirs.say(sentences))

    async with asyncio.TaskGroup() as group:
        group.create_task(reply())
        answer = await ours.ask(tone(440), transcribe, pause_s=0.3)

    assert answer.text == "8000 Hz"
    assert decode_ulaw(encode_ulaw(sentences)).tobytes() in told[0].tobytes()
    ((began, ended),) = said
    assert answer.started_at >= began
    assert answer.ended_at >= ended
    assert 0 < answer.gap_s < answer.started_at - ours.answered_at


async def test_leaving_ends_the_calls_that_still_run(callee: Phone) -> None:
    async with Phone(rtp_ports=PORTS, server=callee.address) as caller:
        _, answered = await connect(caller, callee)
        waiting = asyncio.ensure_future(callee.ring_only(number="2"))
        await caller.start_dial("2")
        ringing = await waiting
    assert (answered.ended_by, ringing.ended_by) == ("there", "there")


@pytest.mark.parametrize("status", [486, 603, 404])
async def test_sipp_refuses(status: int) -> None:
    async with (
        Sipp.refusing(status) as sipp,
        Phone(rtp_ports=PORTS, server=("127.0.0.1", sipp.sip_port)) as phone,
    ):
        with pytest.raises(CallRefusedError, match=str(status)):
            await phone.dial(NUMBER)
        result = await sipp.finished()
    assert result.exit_code == 0, result.errors


async def test_sipp_rings_until_the_caller_gives_up() -> None:
    async with (
        Sipp.ringing() as sipp,
        Phone(rtp_ports=PORTS, server=("127.0.0.1", sipp.sip_port)) as phone,
    ):
        call = await phone.start_dial(NUMBER)
        await call.wait_ringing()
        await call.cancel()
        result = await sipp.finished()
    assert result.exit_code == 0, result.errors


async def test_sipp_sends_back_what_it_hears() -> None:
    async with (
        Sipp.echoing() as sipp,
        Phone(rtp_ports=PORTS, server=("127.0.0.1", sipp.sip_port)) as phone,
    ):
        call = await phone.dial(NUMBER)
        await call.say(tone(440))
        await call.quiet(0.1)
        await call.hang_up()
        result = await sipp.finished()
    assert has_heard(call, tone(440))
    assert result.exit_code == 0, result.errors


async def test_sipp_calls() -> None:
    async with (
        Phone(rtp_ports=PORTS) as phone,
        Sipp.calling(phone.address, NUMBER, audio=tone(500), caller="+15557654321") as sipp,
    ):
        call = await phone.accept(ring_s=0.05, number=NUMBER)
        await call.ended.wait()
        result = await sipp.finished()
    assert result.exit_code == 0, result.errors
    assert (call.caller, call.ended_by) == ("+15557654321", "there")
    assert has_heard(call, tone(500))


async def test_sipp_tells_of_a_call_that_went_otherwise() -> None:
    async with (
        Sipp.echoing() as sipp,
        Phone(
            rtp_ports=PORTS, server=("127.0.0.1", sipp.sip_port), timers=Timers(t1_s=0.02)
        ) as phone,
    ):
        call = await phone.start_dial(NUMBER)
        await call.wait_ringing()
        await call.cancel()  # it expects an ACK, and confirms nothing
        result = await sipp.finished()
    assert result.exit_code == 1
    assert "CANCEL" in result.errors
    assert call.ended_by == "here"


async def test_an_unfinished_sipp_is_ended() -> None:
    async with Sipp.ringing() as sipp:
        process = sipp._running
    assert process.returncode is not None
