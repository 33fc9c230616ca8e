"""How agents are found, whatever stores them."""

import logging
from dataclasses import dataclass
from typing import Any

import pytest

from src.adapters.mongo import Mongo
from src.adapters.mongo_agents import MongoAgents
from src.schemas.agent_meta_schema import AgentMeta, WindowType
from src.schemas.errors import AgentNotFoundError
from src.services.agent_config import build_agent_config
from src.services.ports import Agents
from tests.fakes.agents import FakeAgents

pytestmark = pytest.mark.integration

RECEPTION: dict[str, Any] = {
    "agentId": "reception",
    "ownerId": "acme",
    "name": "Clara",
    "greeting": "Hello {{name}}.",
    "Context": "We open at nine.\n",
    "timezone": "America/New_York",
    "variableDefaults": {"name": "there"},
    "handoffAgentIds": ["billing"],
    "historyContext": {
        "enabled": True,
        "maxConversations": 3,
        "window": {"type": "weeks", "value": 2, "startDate": None},
        "linkedAgentIds": ["outreach"],
        "variableMemory": {"enabled": True, "linkedAgentId": "outreach"},
    },
}
META = AgentMeta(
    agent_id="reception",
    owner_id="acme",
    name="Clara",
    greeting="Hello {{name}}.",
    Context="We open at nine.\n",
    timezone="America/New_York",
    variable_defaults={"name": "there"},
    handoff_agent_ids=("billing",),
    history_context_enabled=True,
    history_context_max=3,
    history_context_window_type=WindowType.WEEKS,
    history_context_window_value=2,
    history_context_linked_agent_ids=("outreach",),
    variable_memory_enabled=True,
    variable_memory_linked_agent_id="outreach",
)
NUMBER = "+15105550100"


@dataclass
class AgentStore:
    agents: Agents
    mongo: Mongo | None = None

    async def put(self, *documents: dict[str, Any]) -> None:
        for document in documents:
            if isinstance(self.agents, FakeAgents):
                meta = AgentMeta.model_validate(build_agent_config(document))
                self.agents.agents[meta.agent_id] = meta
            elif self.mongo is not None:
                await self.mongo.agents.insert_one(dict(document))

    async def bind(self, number: str, agent_id: str) -> None:
        if isinstance(self.agents, FakeAgents):
            self.agents.numbers[number] = agent_id
        elif self.mongo is not None:
            await self.mongo.phone_numbers.insert_one({"number": number, "agentId": agent_id})


@pytest.fixture
def memory_agents() -> AgentStore:
    return AgentStore(FakeAgents())


@pytest.fixture
def mongodb_agents(mongo: Mongo) -> AgentStore:
    return AgentStore(MongoAgents(mongo), mongo)


@pytest.fixture(params=["memory_agents", "mongodb_agents"])
def agent_store(request: pytest.FixtureRequest) -> AgentStore:
    found: AgentStore = request.getfixturevalue(request.param)
    return found


async def test_by_id(agent_store: AgentStore) -> None:
    await agent_store.put(RECEPTION)
    assert await agent_store.agents.by_id("reception") == META


async def test_by_the_number_bound_to_it(agent_store: AgentStore) -> None:
    await agent_store.put(RECEPTION)
    await agent_store.bind(NUMBER, "reception")
    assert await agent_store.agents.by_number(NUMBER) == META


async def test_an_unknown_agent_or_number_is_not_found(agent_store: AgentStore) -> None:
    await agent_store.bind(NUMBER, "gone")
    with pytest.raises(AgentNotFoundError):
        await agent_store.agents.by_id("nobody")
    with pytest.raises(AgentNotFoundError):
        await agent_store.agents.by_number("+15105550199")
    with pytest.raises(AgentNotFoundError):
        await agent_store.agents.by_number(NUMBER)


async def test_a_bad_memory_field_switches_its_feature_off_alone(
    mongodb_agents: AgentStore, caplog: pytest.LogCaptureFixture
) -> None:
    history = {**RECEPTION["historyContext"], "maxConversations": 11}
    await mongodb_agents.put({**RECEPTION, "historyContext": history})
    meta = await mongodb_agents.agents.by_id("reception")
    assert not meta.history_context_enabled
    assert meta.variable_memory_enabled
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert vars(record)["fields"] == ["history_context_max"]


async def test_an_agent_that_cannot_speak_is_not_found(
    mongodb_agents: AgentStore, caplog: pytest.LogCaptureFixture
) -> None:
    await mongodb_agents.put({**RECEPTION, "timezone": "Mars/Olympus", "greeting": 5})
    with pytest.raises(AgentNotFoundError, match="greeting, timezone"):
        await mongodb_agents.agents.by_id("reception")
    assert vars(caplog.records[0])["fields"] == ["greeting", "timezone"]
