"""What the control plane asks of a real LiveKit server, and what the phone notices of it."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from livekit import api

from local.kit import CallKit
from src.adapters.livekit_dispatch import LiveKitDispatcher
from src.adapters.livekit_numbers import LiveKitNumbers
from src.adapters.livekit_server import LiveKitServer
from src.adapters.mongo_bound_numbers import MongoBoundNumbers
from src.adapters.mongo_call_records import MongoCallRecords
from src.adapters.mongo_owned import MongoOwnedStore
from src.bootstrap_memory import Foundation
from src.schemas.call_requests import CallRequest
from src.schemas.phone_numbers_api import PhoneNumberRequest
from src.services.call_ports import NumberDrift
from src.services.outbound_calls import OutboundCalls
from src.services.phone_number_bindings import PhoneNumberBindings
from tests.e2e.test_phone_calls import ended, greeting_of

pytestmark = pytest.mark.stack


@pytest.fixture
async def server(kit: CallKit) -> AsyncIterator[LiveKitServer]:
    env = kit.stack.read_env()
    server = LiveKitServer(
        url=kit.stack.livekit_url,
        api_key=env["LIVEKIT_API_KEY"],
        api_secret=env["LIVEKIT_API_SECRET"],
    )
    yield server
    await server.aclose()


def calls(
    base: Foundation, server: LiveKitServer, *, agent_name: str = "familiar"
) -> OutboundCalls:
    return OutboundCalls(
        owned=MongoOwnedStore(base.mongo),
        records=MongoCallRecords(mongo=base.mongo, clock=base.clock),
        dispatcher=LiveKitDispatcher(server, agent_name=agent_name),
        clock=base.clock,
    )


async def owner_of(kit: CallKit, agent_id: str) -> str:
    agent = await kit.database["Agent"].find_one({"agentId": agent_id})
    assert agent is not None
    return str(agent["ownerId"])


def request(phone: str) -> CallRequest:
    return CallRequest(agent_id="outreach", phone=phone, dynamic_variables={"name": "Maria"})


async def test_a_placed_call_rings_greets_and_is_hung_up(
    kit: CallKit, base: Foundation, server: LiveKitServer, caller: str
) -> None:
    owner, placing = await owner_of(kit, "outreach"), calls(base, server)
    ringing = asyncio.create_task(kit.phone.accept(number=caller, ring_s=0.5))
    placed = await placing.place(owner, request(caller))
    call = await ringing
    assert "maria" in (await greeting_of(kit, call)).lower()
    await placing.hang_up(owner, placed.contact_uid)
    record = await kit.contact({"contactUID": placed.contact_uid}, until=ended)
    assert record["status"] == "completed"
    assert record["room"] not in await kit.open_rooms()


async def test_a_call_is_hung_up_while_it_rings(
    kit: CallKit, base: Foundation, server: LiveKitServer, caller: str
) -> None:
    owner, placing = await owner_of(kit, "outreach"), calls(base, server)
    arriving = asyncio.create_task(kit.phone.ring_only(number=caller))
    placed = await placing.place(owner, request(caller))
    ringing = await arriving
    await placing.hang_up(owner, placed.contact_uid)
    async with asyncio.timeout(10):
        await ringing.ended.wait()
    record = await kit.contact({"contactUID": placed.contact_uid}, until=ended)
    assert record["status"] == "abandoned"
    assert record["room"] not in await kit.open_rooms()


async def test_a_call_that_no_worker_takes_is_really_cancelled(
    kit: CallKit, base: Foundation, server: LiveKitServer, caller: str
) -> None:
    owner = await owner_of(kit, "outreach")
    placing = calls(base, server, agent_name=f"nobody-{uuid4().hex[:8]}")
    placed = await placing.place(owner, request(caller))
    record = await kit.contact({"contactUID": placed.contact_uid})
    assert record["room"] in await kit.open_rooms()
    assert (await placing.hang_up(owner, placed.contact_uid)).status == "abandoned"
    assert record["room"] not in await kit.open_rooms()


async def test_a_bound_number_reaches_its_agent_until_it_is_unbound(
    kit: CallKit, base: Foundation, server: LiveKitServer, caller: str
) -> None:
    owner = await owner_of(kit, "outreach")
    numbers = LiveKitNumbers(server, MongoBoundNumbers(base.mongo))
    bindings = PhoneNumberBindings(
        owned=MongoOwnedStore(base.mongo), provisioning=numbers, clock=base.clock
    )
    number = f"+1510556{uuid4().int % 10**4:04d}"
    await bindings.bind(owner, PhoneNumberRequest(number=number, agent_id="outreach"))
    try:
        assert await numbers.drift() == NumberDrift()
        call = await kit.phone.dial(number, caller=caller)
        assert await greeting_of(kit, call)
        await call.hang_up()
        record = await kit.contact({"phone": caller}, until=ended)
        assert record["AgentID"] == "outreach"
    finally:
        await bindings.unbind(owner, number)
    assert await numbers.drift() == NumberDrift()
    trunks = await kit.livekit.sip.list_inbound_trunk(api.ListSIPInboundTrunkRequest())
    assert not any(number in trunk.numbers for trunk in trunks.items)
