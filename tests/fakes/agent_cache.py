"""Copies of agents in memory."""

from typing_extensions import override

from src.schemas.agent_meta_schema import AgentMeta
from src.services.ports import AgentCache


class FakeAgentCache(AgentCache):
    """Keeps copies; while `away` it neither keeps nor knows any."""

    def __init__(self) -> None:
        self.copies: dict[str, AgentMeta] = {}
        self.away = False

    @override
    async def put(self, key: str, agent: AgentMeta) -> None:
        if not self.away:
            self.copies[key] = agent

    @override
    async def get(self, key: str) -> AgentMeta | None:
        return None if self.away else self.copies.get(key)
