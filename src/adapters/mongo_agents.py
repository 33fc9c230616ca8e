"""Agents, and the numbers that lead to them."""

from __future__ import annotations

from pydantic import ValidationError
from typing_extensions import override

from src.adapters.contact_documents import Document
from src.adapters.mongo import Mongo, store_errors
from src.logs import get_logger
from src.schemas.agent_meta_schema import AgentMeta
from src.schemas.errors import AgentNotFoundError
from src.services.agent_config import build_agent_config
from src.services.ports import Agents

logger = get_logger(__name__)


class MongoAgents(Agents):
    """Reads `Agent` by `agentId` and `PhoneNumber` by `number`."""

    def __init__(self, mongo: Mongo) -> None:
        self._agents = mongo.agents
        self._phone_numbers = mongo.phone_numbers

    @override
    async def by_id(self, agent_id: str) -> AgentMeta:
        with store_errors():
            document = await self._agents.find_one({"agentId": agent_id})
        if document is None:
            raise AgentNotFoundError("no agent has this id")
        return _agent(document)

    @override
    async def by_number(self, number: str) -> AgentMeta:
        with store_errors():
            binding = await self._phone_numbers.find_one({"number": number})
        if binding is None:
            raise AgentNotFoundError("no agent is bound to this number")
        return await self.by_id(str(binding.get("agentId")))


def _agent(document: Document) -> AgentMeta:
    try:
        meta, refused = AgentMeta.for_call(build_agent_config(document))
    except ValidationError as error:
        fields = sorted({".".join(map(str, item["loc"])) for item in error.errors()})
        logger.error(  # noqa: TRY400 - the error quotes the document
            "stored agent is not usable",
            extra={"agent_id": str(document.get("agentId")), "fields": fields},
        )
        raise AgentNotFoundError(f"the stored agent is not usable: {', '.join(fields)}") from None
    if refused:
        logger.warning(
            "memory feature off: stored fields are not valid",
            extra={"agent_id": meta.agent_id, "fields": list(refused)},
        )
    return meta
