"""A finished call is analysed and told of, whatever happens on the way."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from src.schemas.agent_meta_schema import AgentMeta
from src.schemas.errors import ContactStoreError, LanguageModelError, MemoryStoreError
from src.schemas.follow_up import FollowUp
from src.services.analysis import CallAnalyser
from src.services.follow_up import GIVEN_UP, CallAnalyses, EventRelay
from src.services.owned import Resource
from src.services.transcript_privacy import OwnerPrivacy
from tests.contract.documents import AGENT, OWNER, call_end, new_contact, turn
from tests.fakes.agents import FakeAgents
from tests.fakes.analysis_model import ANSWER, FakeAnalysisModel
from tests.fakes.clock import FakeClock
from tests.fakes.contacts import InMemoryContacts
from tests.fakes.follow_ups import FakeFollowUpQueue, InMemoryFollowUps
from tests.fakes.owned import InMemoryOwnedStore
from tests.fakes.redactor import FakeRedactor
from tests.fakes.webhooks import FakeEventSink

PLAN = {"type": "object", "properties": {"plan": {"type": "string"}}, "required": ["plan"]}
FAILED = LanguageModelError("no answer")


@dataclass
class World:
    model: FakeAnalysisModel = field(default_factory=FakeAnalysisModel)

    def __post_init__(self) -> None:
        self.clock = FakeClock()
        self.contacts = InMemoryContacts(self.clock)
        self.store = InMemoryFollowUps(self.contacts)
        self.queue, self.sink = FakeFollowUpQueue(), FakeEventSink()
        self.owned, self.redactor = InMemoryOwnedStore(), FakeRedactor()
        self.agents = FakeAgents(
            AgentMeta(agent_id=AGENT, owner_id=OWNER, analysis_schema=PLAN),
            AgentMeta(agent_id="theirs", owner_id="globex", analysis_schema=PLAN),
        )
        self.analyses = CallAnalyses(
            store=self.store,
            queue=self.queue,
            analyser=CallAnalyser(model=self.model, redactor=self.redactor),
            agents=self.agents,
            privacy=OwnerPrivacy(owned=self.owned, redactor=self.redactor),
            clock=self.clock,
        )
        self.relay = EventRelay(store=self.store, sink=self.sink)

    async def call(self, uid: str = "a", agent_id: str = AGENT, **end: Any) -> dict[str, Any]:
        await self.contacts.close(new_contact(uid, agent_id=agent_id), call_end(**end))
        return self.contacts.document(uid)


async def test_a_call_gets_the_analysis_its_agent_wants() -> None:
    world = World(FakeAnalysisModel({"fields": {"plan": "gold"}}))
    document = await world.call(language="es")
    await world.analyses.analyse("a")
    assert document["analysisStatus"] == "done"
    assert document["conversation_summary"] == ANSWER["summary"]
    assert document["conversation_summary_en"] == ANSWER["summaryEn"]
    assert document["analysis"]["fields"] == {"plan": "gold"}
    assert document["analysis"]["attempts"] == 1
    assert world.queue.jobs == [(FollowUp.RELAY, "a")]


async def test_a_call_is_analysed_once() -> None:
    world = World(FakeAnalysisModel({"fields": {"plan": "gold"}}))
    await world.call()
    for _ in range(3):
        await world.analyses.analyse("a")
    await world.analyses.give_up("a")
    assert len(world.model.asked) == 1
    assert world.contacts.document("a")["analysisStatus"] == "done"


@pytest.mark.parametrize("agent_id", ["gone", "theirs"])
async def test_a_call_without_an_agent_of_its_owner_is_analysed_without_fields(
    agent_id: str,
) -> None:
    world = World()
    document = await world.call(agent_id=agent_id)
    await world.analyses.analyse("a")
    assert (document["analysisStatus"], document["analysis"]["fields"]) == ("done", None)


async def test_a_call_without_a_conversation_is_given_none() -> None:
    world = World()
    document = await world.call(transcript=(turn("assistant", "Hello?"),))
    await world.analyses.analyse("a")
    assert document["analysisStatus"] == "no_conversation"
    document["analysisStatus"] = "pending"  # as another program may have left it
    await world.analyses.analyse("a")
    assert document["analysisStatus"] == "no_conversation"
    assert "conversation_summary" not in document
    assert world.model.asked == []


async def test_a_failed_try_leaves_the_call_waiting_and_the_last_one_says_why() -> None:
    world = World(FakeAnalysisModel(FAILED, FAILED))
    document = await world.call()
    for _ in range(2):
        with pytest.raises(LanguageModelError):
            await world.analyses.analyse("a")
        assert document["analysisStatus"] == "pending"
    await world.analyses.give_up("a")
    assert document["analysisStatus"] == "failed"
    assert document["analysis"]["error"] == f"{GIVEN_UP}; the last: no answer"
    assert document["analysis"]["attempts"] == 2
    await world.relay.relay("a")
    event = world.sink.events["a:call.analyzed"]
    assert (event.data["analysisStatus"], event.data["outcome"]) == ("failed", None)


async def test_what_an_owner_wants_masked_reaches_neither_model_nor_record() -> None:
    world = World(FakeAnalysisModel({"summary": "Their number is 415 555 0123."}))
    owners = world.owned.of(OWNER, Resource.OWNERS)
    await owners.insert({"ownerId": OWNER, "anonymizePhi": True})
    said = (turn("assistant", "Your number?"), turn("user", "It is 415 555 0123."))
    document = await world.call(agent_id="gone", transcript=said)
    await world.analyses.analyse("a")
    assert "0123" not in world.model.asked[0].text
    assert document["conversation_summary"] == "Their number is [NUMBER]."


async def test_an_analysis_waits_for_the_owners_settings() -> None:
    world = World()
    document = await world.call()
    world.owned.faults.error = ContactStoreError("away")
    with pytest.raises(ContactStoreError):
        await world.analyses.analyse("a")
    assert document["analysisStatus"] == "pending"
    assert world.model.asked == []


async def test_an_analysis_is_stored_though_its_event_cannot_be_queued() -> None:
    world = World()
    world.queue.faults.error = MemoryStoreError("away")
    document = await world.call(agent_id="gone")
    await world.analyses.analyse("a")
    assert document["analysisStatus"] == "done"
    assert [one["type"] for one in document["outbox"]][-1] == "call.analyzed"


async def test_events_are_told_in_order_and_forgotten() -> None:
    world = World()
    document = await world.call()
    await world.relay.relay("a")
    assert list(world.sink.events) == ["a:call.started", "a:call.ended"]
    assert document["outbox"] == []
    await world.relay.relay("a")
    await world.relay.relay("nobody")
    assert len(world.sink.events) == 2


async def test_events_that_cannot_be_told_wait() -> None:
    world = World()
    document = await world.call()
    world.sink.faults.error = MemoryStoreError("away")
    with pytest.raises(MemoryStoreError):
        await world.relay.relay("a")
    await world.relay.give_up("a")
    assert len(document["outbox"]) == 2
    world.sink.faults.error = None
    await world.relay.relay("a")
    assert len(world.sink.events) == 2


async def test_events_of_a_call_without_an_owner_are_nobodys() -> None:
    world = World()
    document = await world.call()
    document["ownerId"] = None
    await world.relay.relay("a")
    assert (world.sink.events, document["outbox"]) == ({}, [])
