"""Finds the agent of a call, also while the agent store is away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass

from src.logs import get_logger
from src.schemas.agent_meta_schema import AgentMeta
from src.schemas.errors import AgentNotFoundError, ContactStoreError
from src.services.ports import AgentCache, Agents

logger = get_logger(__name__)


@dataclass(frozen=True)
class FoundAgent:
    """An agent, and whether it is the last known copy rather than the stored one."""

    meta: AgentMeta
    from_cache: bool = False


class AgentDirectory:
    """Agents by id and by dialled number, each answered within `deadline_s` of the store."""

    def __init__(self, *, agents: Agents, cache: AgentCache, deadline_s: float) -> None:
        self._agents = agents
        self._cache = cache
        self._deadline_s = deadline_s

    async def by_id(self, agent_id: str) -> FoundAgent:
        """The agent.

        Raises:
            AgentNotFoundError: there is none, or the store is away and no copy is known.
        """
        return await self._find(f"id:{agent_id}", self._agents.by_id(agent_id))

    async def by_number(self, number: str) -> FoundAgent:
        """The agent bound to a dialled number.

        Raises:
            AgentNotFoundError: none is bound, or the store is away and no copy is known.
        """
        return await self._find(f"number:{number}", self._agents.by_number(number))

    async def _find(self, key: str, read: Awaitable[AgentMeta]) -> FoundAgent:
        try:
            async with asyncio.timeout(self._deadline_s):
                meta = await read
        except (TimeoutError, ContactStoreError):
            logger.warning("agent store is away, using the last known copy")
            copy = await self._cache.get(key)
            if copy is None:
                raise AgentNotFoundError(
                    "the agent store is away and no copy of the agent is known"
                ) from None
            return FoundAgent(copy, from_cache=True)
        await self._cache.put(key, meta)
        return FoundAgent(meta)
