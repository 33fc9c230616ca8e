"""Stores that hang, callees that do not answer: the caller is answered, the record says why."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest

from local.kit import CallKit, LogTail, past_call
from local.ports import Stack
from local.sipp import Sipp
from local.supervise import Supervisor
from tests.e2e.test_phone_calls import RECEPTION, ask, ended, greeting_of, outbound

pytestmark = pytest.mark.stack


@contextmanager
def hung(stack: Stack, part: str) -> Iterator[None]:
    """The process is stopped in its tracks: its sockets stay open and nothing answers."""
    pid = next(state.pid for state in Supervisor(stack).states() if state.name == part)
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


async def test_a_hung_database_costs_the_memory_not_the_call(
    kit: CallKit, stack: Stack, caller: str
) -> None:
    await kit.contacts.insert_one(past_call(caller))
    warm = await kit.phone.dial(RECEPTION, caller=caller)  # the agent's copy is known from here on
    await warm.hang_up()
    with hung(stack, "mongodb"):
        began = time.time()
        call = await kit.phone.dial(RECEPTION, caller=caller)
        greeting = (await greeting_of(kit, call)).lower()
        answered_after = call.answered_at - began
        await asyncio.sleep(6)  # past the time in which late memory may still join
        await call.hang_up()
    assert "hello" in greeting
    assert "maria" not in greeting
    assert answered_after < 3
    record = await kit.contact(
        {"phone": caller, "degradations": "memory_late"}, until=ended, timeout_s=30
    )
    assert "agent_from_cache" in record["degradations"]
    assert record["memoryReceipt"]["history"]["outcome"] in ("late", "failed")
    again = await kit.phone.dial(RECEPTION, caller=caller)
    assert "maria" in (await greeting_of(kit, again)).lower()
    await again.hang_up()


async def test_memory_that_comes_late_joins_before_the_next_turn(
    kit: CallKit, stack: Stack, caller: str, worker_log: LogTail
) -> None:
    await kit.contacts.insert_one(past_call(caller))
    warm = await kit.phone.dial(RECEPTION, caller=caller)
    await warm.hang_up()
    with hung(stack, "mongodb"):
        call = await kit.phone.dial(RECEPTION, caller=caller)
        await call.hear(call.answered_at)
    assert "maria" not in (await greeting_of(kit, call)).lower()
    assert "thermostat" in await ask(kit, call, "What did we talk about last time?")
    await call.hang_up()
    assert "late memory joined the call" in worker_log.messages()


async def test_hanging_up_while_it_rings_leaves_an_abandoned_call(
    kit: CallKit, stack: Stack, caller: str, worker_log: LogTail
) -> None:
    warm = await kit.phone.dial(RECEPTION, caller=caller)
    await warm.hang_up()
    await kit.contact({"phone": caller}, until=ended)
    await kit.contacts.delete_many({"phone": caller})
    with hung(stack, "mongodb"):  # it rings for as long as the look-ups may take
        dialling = await kit.phone.start_dial(RECEPTION, caller=caller)
        await worker_log.wait_for("agent store is away, using the last known copy")
        await dialling.cancel()
    record = await kit.contact({"phone": caller}, until=ended)
    assert record["status"] == "abandoned"
    assert record["transcript"] == []


@pytest.mark.parametrize(
    ("sip_status", "status"),
    [(486, "busy"), (603, "rejected"), (404, "invalid_number")],
)
async def test_a_call_that_is_refused_gets_that_status_and_ends(
    stack: Stack, sip_status: int, status: str, caller: str
) -> None:
    uid = f"out-{uuid4().hex[:12]}"
    async with CallKit.open(stack, with_phone=False) as kit:
        async with Sipp.refusing(sip_status, sip_port=stack.phone_sip) as peer:
            room = await kit.dispatch(outbound(uid, caller, "Maria"))
            record = await kit.contact({"contactUID": uid}, until=ended)
            assert (await peer.finished()).exit_code == 0
        assert record["status"] == status
        assert record["transcript"] == []
        assert room not in await kit.open_rooms()


async def test_a_call_nobody_answers_is_given_up(stack: Stack, caller: str) -> None:
    uid = f"out-{uuid4().hex[:12]}"
    async with (
        CallKit.open(stack, with_phone=False) as kit,
        Sipp.ringing(sip_port=stack.phone_sip) as peer,
    ):
        await kit.dispatch(outbound(uid, caller, "Maria"))
        record = await kit.contact({"contactUID": uid}, until=ended, timeout_s=45)
        assert (await peer.finished()).exit_code == 0
    assert record["status"] == "no_answer"
