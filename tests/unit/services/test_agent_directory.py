"""An agent is found while its store is away."""

import pytest

from src.schemas.agent_meta_schema import AgentMeta
from src.schemas.errors import AgentNotFoundError, ContactStoreError
from src.services.agent_directory import AgentDirectory
from tests.fakes.agent_cache import FakeAgentCache
from tests.fakes.agents import FakeAgents

RECEPTION = AgentMeta(agent_id="reception", owner_id="acme")
NUMBER = "+15105550100"


def directory() -> tuple[AgentDirectory, FakeAgents, FakeAgentCache]:
    agents = FakeAgents(RECEPTION, numbers={NUMBER: "reception"})
    cache = FakeAgentCache()
    return AgentDirectory(agents=agents, cache=cache, deadline_s=0.02), agents, cache


async def test_the_store_answers_first() -> None:
    found, _, cache = directory()
    cache.copies[f"number:{NUMBER}"] = RECEPTION.model_copy(update={"name": "Old"})
    answer = await found.by_number(NUMBER)
    assert answer.meta == RECEPTION
    assert not answer.from_cache


@pytest.mark.parametrize("hung", [True, False], ids=["hung", "failing"])
async def test_the_last_known_copy_answers_while_the_store_is_away(hung: bool) -> None:
    found, agents, _ = directory()
    await found.by_number(NUMBER)
    if hung:
        agents.faults.up.clear()
    else:
        agents.faults.error = ContactStoreError("away")
    answer = await found.by_number(NUMBER)
    assert answer.meta == RECEPTION
    assert answer.from_cache


async def test_without_store_and_copy_there_is_no_agent() -> None:
    found, agents, _ = directory()
    agents.faults.up.clear()
    with pytest.raises(AgentNotFoundError):
        await found.by_id("reception")


async def test_an_agent_that_was_deleted_is_not_served_from_its_copy() -> None:
    found, agents, _ = directory()
    await found.by_id("reception")
    agents.agents.clear()
    with pytest.raises(AgentNotFoundError):
        await found.by_id("reception")
