"""Agents in memory."""

from collections.abc import Mapping

from typing_extensions import override

from src.schemas.agent_meta_schema import AgentMeta
from src.schemas.errors import AgentNotFoundError
from src.services.ports import Agents
from tests.fakes.faults import Faults


class FakeAgents(Agents):
    """Agents by id, and the numbers that lead to them; `faults` makes it fail or hang."""

    def __init__(self, *agents: AgentMeta, numbers: Mapping[str, str] | None = None) -> None:
        self.agents = {agent.agent_id: agent for agent in agents}
        self.numbers = dict(numbers or {})
        self.faults = Faults()

    @override
    async def by_id(self, agent_id: str) -> AgentMeta:
        await self.faults.check()
        if agent_id not in self.agents:
            raise AgentNotFoundError(agent_id)
        return self.agents[agent_id]

    @override
    async def by_number(self, number: str) -> AgentMeta:
        await self.faults.check()
        if number not in self.numbers:
            raise AgentNotFoundError("no agent is bound to this number")
        return await self.by_id(self.numbers[number])
