"""The last known copy of each agent, in Redis."""

from __future__ import annotations

import asyncio

from pydantic import ValidationError
from redis.asyncio import Redis
from redis.exceptions import RedisError
from typing_extensions import override

from src.logs import get_logger
from src.schemas.agent_meta_schema import AgentMeta
from src.services.ports import AgentCache

logger = get_logger(__name__)

TTL_S = 7 * 24 * 3600
"""An agent that had no call for a week is not worth a copy."""


class RedisAgentCache(AgentCache):
    """Keys `agent:{id:…|number:…}`, JSON values."""

    def __init__(self, *, client: Redis, timeout_s: float = 0.1) -> None:
        self._client = client
        self._timeout_s = timeout_s

    @override
    async def put(self, key: str, agent: AgentMeta) -> None:
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._client.set(f"agent:{key}", agent.model_dump_json(), ex=TTL_S)
        except (RedisError, TimeoutError, OSError):
            logger.warning("agent copy not kept")

    @override
    async def get(self, key: str) -> AgentMeta | None:
        try:
            async with asyncio.timeout(self._timeout_s):
                text = await self._client.get(f"agent:{key}")
        except (RedisError, TimeoutError, OSError):
            logger.warning("agent copies are away")
            return None
        try:
            return AgentMeta.model_validate_json(text) if text else None
        except ValidationError:
            logger.warning("agent copy is of another version")
            return None
