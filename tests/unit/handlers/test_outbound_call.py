"""An outbound call that is called off: before it is placed, and while it rings."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest
from typing_extensions import override

from src.handlers.call import Call
from src.handlers.call_end import finish_call
from src.handlers.outbound_call_handler import OutboundCallHandler
from src.schemas.agent_meta_schema import AgentMeta
from src.schemas.calls import CallPolicy, DialRequest
from src.schemas.contact import CallDirection, ContactStatus
from src.schemas.errors import CallNotAnsweredError, ContactStoreError
from src.schemas.job_metadata import JobMetadata
from src.services.agent_directory import AgentDirectory
from src.services.call_closing import CallCloser
from src.services.conversation_history import MemorySources
from src.services.unified_memory import UnifiedMemoryService
from tests.fakes.agent_cache import FakeAgentCache
from tests.fakes.agents import FakeAgents
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.contacts import InMemoryContacts
from tests.fakes.journal import FakeJournal
from tests.fakes.lease import FakeLease
from tests.fakes.telephony import FakeTelephony

METADATA = JobMetadata(
    call_type=CallDirection.OUTBOUND, agent_id="a", contact_uid="c", phone="+14155550123"
)


class RingingTelephony(FakeTelephony):
    """`rings` is set while a phone rings."""

    def __init__(self) -> None:
        super().__init__()
        self.rings = asyncio.Event()

    @override
    async def dial(self, request: DialRequest) -> None:
        self.rings.set()
        await super().dial(request)


@dataclass
class World:
    call: Call
    contacts: InMemoryContacts
    telephony: RingingTelephony

    def record(self, **fields: Any) -> None:
        self.contacts.add({"contactUID": "c", "ownerId": "acme", "status": "dialing", **fields})

    async def serve(self) -> dict[str, Any]:
        await OutboundCallHandler(self.call, METADATA).run()
        await finish_call(self.call)
        return self.contacts.document("c")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    clock, telephony, policy = FakeClock(), RingingTelephony(), CallPolicy()
    contacts, memory = InMemoryContacts(clock), UnifiedMemoryService(clock=clock)
    agents = FakeAgents(AgentMeta(agent_id="a", owner_id="acme"))
    services = SimpleNamespace(
        lease=FakeLease(clock),
        directory=AgentDirectory(agents=agents, cache=FakeAgentCache(), deadline_s=1.0),
        records=contacts,
        closer=CallCloser(records=contacts, journal=FakeJournal(), clock=clock, policy=policy),
        sources=MemorySources(
            contacts=contacts,
            clock=clock,
            count_tokens=lambda text: len(text.split()),
            max_block_tokens=100,
        ),
        telephony=lambda _: telephony,
        thinking=SimpleNamespace(memory=memory),
        policy=policy,
        metrics=SimpleNamespace(degraded=lambda _: None),
    )
    context = SimpleNamespace(
        api=None,
        job=SimpleNamespace(id="job", room=SimpleNamespace(name="room")),
        shutdown=lambda _: None,
    )
    call = Call(ctx=cast(Any, context), services=cast(Any, services), direction=METADATA.call_type)
    yield World(call, contacts, telephony)
    await call.background.aclose()
    await memory.aclose()


async def test_a_call_that_was_called_off_is_never_placed(world: World) -> None:
    world.record(hangupRequestedAt=NOON)
    record = await world.serve()
    assert world.telephony.dialed == []
    assert world.call.over.is_set()
    assert record["status"] == "abandoned"
    assert record["callEndedAt"] == NOON


async def test_a_call_that_is_over_is_not_placed_again(world: World) -> None:
    world.record(status="failed", callEndedAt=NOON)
    record = await world.serve()
    assert world.telephony.dialed == []
    assert record["status"] == "failed"


async def test_the_networks_answer_to_our_own_hanging_up_is_not_the_callees(world: World) -> None:
    world.record()
    world.telephony._outcomes.append(CallNotAnsweredError(ContactStatus.NO_ANSWER))
    world.telephony.answered.clear()
    serving = asyncio.create_task(world.serve())
    await world.telephony.rings.wait()
    world.contacts.document("c")["hangupRequestedAt"] = NOON
    world.telephony.answered.set()
    assert (await serving)["status"] == "abandoned"


async def test_a_callee_who_is_busy_is_told_as_such(world: World) -> None:
    world.record()
    world.telephony._outcomes.append(CallNotAnsweredError(ContactStatus.BUSY))
    assert (await world.serve())["status"] == "busy"


async def test_a_room_that_is_closed_while_it_rings_leaves_an_abandoned_call(world: World) -> None:
    world.record()
    world.telephony.answered.clear()
    serving = asyncio.create_task(OutboundCallHandler(world.call, METADATA).run())
    await world.telephony.rings.wait()
    serving.cancel()  # as the job does once its room is gone
    with pytest.raises(asyncio.CancelledError):
        await serving
    await finish_call(world.call)
    assert world.contacts.document("c")["status"] == "abandoned"


async def test_a_store_that_is_away_holds_up_no_call(world: World) -> None:
    world.contacts.faults.error = ContactStoreError("away")
    world.telephony._outcomes.append(CallNotAnsweredError(ContactStatus.BUSY))
    await OutboundCallHandler(world.call, METADATA).run()
    assert len(world.telephony.dialed) == 1
    assert world.call.status is ContactStatus.BUSY
