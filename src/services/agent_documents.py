"""The agents of an owner: created, read, replaced, deleted."""

from __future__ import annotations

import asyncio
import re
import secrets
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from src.schemas.agent_document import Agent, AgentDocument, AgentWarning, WarningCode
from src.schemas.errors import ConflictError, InvalidInputError, NotFoundError, StaleError
from src.services.agent_config import AGENT_FIELDS, read_agent
from src.services.agent_lint import lint
from src.services.agent_validation import document_problems, folded, link_problems, links_of
from src.services.contact_fields import moment
from src.services.owned import Document, OwnedDocuments, OwnedStore, Position, Resource
from src.services.ports import Clock

_OWN_FIELDS = frozenset({*AGENT_FIELDS, "historyContext", "createdAt", "updatedAt", "version"})
_CHANGED = "the agent was changed or removed at the same moment"
_MAX_SLUG = 24
_NOT_IN_SLUG = re.compile(r"[^a-z0-9]+")


class AgentDocuments:
    """What an owner does with agents.

    Every method raises `ContactStoreError` when the store fails, and those with an agent's id
    `NotFoundError` if the owner has no such agent.
    """

    def __init__(self, *, owned: OwnedStore, clock: Clock) -> None:
        self._owned = owned
        self._clock = clock

    async def create(self, owner_id: str, document: AgentDocument) -> Agent:
        """A new agent, with an id that begins like its name.

        Raises:
            InvalidInputError: a field is not as it must be, or names an agent that is not the owner's.
        """
        agent_id = f"{_slug(document.name)}-{secrets.token_hex(6)}"
        document = await self._checked(owner_id, document, agent_id)
        now = self._clock.now()
        stored = {
            **document.stored(),
            "agentId": agent_id,
            "ownerId": owner_id,
            "createdAt": now,
            "updatedAt": now,
            "version": 1,
        }
        if not await self._agents(owner_id).insert(stored):
            raise ConflictError("the agent's id was taken at this moment: try again")
        return _agent(stored, await self._warnings(owner_id, document))

    async def get(self, owner_id: str, agent_id: str) -> Agent:
        """The agent."""
        stored = await self._stored(owner_id, agent_id)
        return _agent(stored, await self._all_warnings(owner_id, stored))

    async def page(
        self, owner_id: str, *, after: Position | None = None, limit: int = 50
    ) -> list[Agent]:
        """At most `limit` agents after a position (created at, agent id), newest first."""
        found = await self._agents(owner_id).page(after=after, limit=limit)
        return [_agent(one, None) for one in found]

    async def replace(
        self,
        owner_id: str,
        agent_id: str,
        document: AgentDocument,
        *,
        if_version: int | None = None,
    ) -> Agent:
        """The agent as the document says: what that leaves out goes back to its default.

        Fields of other programs in the stored document stay.

        Raises:
            InvalidInputError: a field is not as it must be, or names an agent that is not the owner's.
            StaleError: the agent is not of `if_version` any more.
            ConflictError: no version was asked for, and the agent was changed at the same moment.
        """
        before = await self._stored(owner_id, agent_id)
        if if_version is not None and _version(before) != if_version:
            raise StaleError("the agent was changed since it was read")
        document = await self._checked(owner_id, document, agent_id)
        lost = StaleError if if_version is not None else ConflictError
        if not await self._pin_version(owner_id, before):
            raise lost(_CHANGED)
        version = _version(before)
        stored = {
            **{name: value for name, value in before.items() if name not in _OWN_FIELDS},
            **document.stored(),
            "agentId": agent_id,
            "ownerId": owner_id,
            "createdAt": before.get("createdAt") or self._clock.now(),
            "updatedAt": self._clock.now(),
            "version": version + 1,
        }
        if not await self._agents(owner_id).replace(agent_id, stored, version=version):
            raise lost(_CHANGED)
        return _agent(stored, await self._warnings(owner_id, document))

    async def delete(self, owner_id: str, agent_id: str) -> None:
        """Remove the agent.

        Its calls stay, and agents linked to it go on remembering them; their documents are not
        changed, and the next update of such a document must leave the link out. A caller who would
        be handed to it hears that this colleague is not available.

        Raises:
            ConflictError: a phone number still leads to it.
        """
        numbers = self._owned.of(owner_id, Resource.PHONE_NUMBERS)
        await self._stored(owner_id, agent_id)
        if await numbers.page(where={"agentId": agent_id}, limit=1, fields=("number",)):
            raise ConflictError("a phone number leads to this agent: unbind it first")
        if not await self._agents(owner_id).delete(agent_id):
            raise _not_found()

    async def lint(self, owner_id: str, agent_id: str) -> tuple[AgentWarning, ...]:
        """What is probably not meant in the agent as it is stored."""
        return await self._all_warnings(owner_id, await self._stored(owner_id, agent_id))

    async def _checked(
        self, owner_id: str, document: AgentDocument, agent_id: str
    ) -> AgentDocument:
        document = folded(document, agent_id)
        existing = await self._existing(owner_id, document)
        problems = [
            *document_problems(document, self._clock.now()),
            *link_problems(document, existing),
        ]
        if problems:
            raise InvalidInputError(*problems)
        return document

    async def _existing(self, owner_id: str, document: AgentDocument) -> frozenset[str]:
        """Those of the linked agents that are the owner's: one request, whatever they are."""
        ids = {one for linked in links_of(document).values() for one in linked}
        return await self._agents(owner_id).existing(ids) if ids else frozenset()

    async def _all_warnings(
        self, owner_id: str, stored: Mapping[str, Any]
    ) -> tuple[AgentWarning, ...]:
        """Also of what cannot come about by this API."""
        document, unusable = read_agent(stored)
        existing = await self._existing(owner_id, document)
        return (
            *(
                _warning(WarningCode.UNUSABLE_VALUE, name, "the stored value is not usable")
                for name in unusable
            ),
            *(
                _warning(WarningCode.LINK_GONE, problem.field, "names an agent that is gone")
                for problem in link_problems(document, existing)
            ),
            *await self._warnings(owner_id, document),
        )

    async def _warnings(self, owner_id: str, document: AgentDocument) -> tuple[AgentWarning, ...]:
        history = document.history_context
        ids = [*history.linked_agent_ids, history.variable_memory.linked_agent_id]
        linked = await self._templates(owner_id, [one for one in ids if one is not None])
        return await asyncio.to_thread(lint, document, linked)

    async def _templates(self, owner_id: str, ids: Sequence[str]) -> dict[str, Document]:
        if not ids:
            return {}
        found = await self._agents(owner_id).page(
            where={"agentId": {"$in": list(ids)}},
            limit=len(ids),
            fields=("greeting", "greetings", "prompt"),
        )
        return {str(one["agentId"]): one for one in found}

    async def _pin_version(self, owner_id: str, stored: Mapping[str, Any]) -> bool:
        """Give a version to what another program stored without; False if that was just changed."""
        version = _version(stored)
        return stored.get("version") == version or await self._agents(owner_id).update(
            str(stored["agentId"]), {"version": version}, where={"version": stored.get("version")}
        )

    async def _stored(self, owner_id: str, agent_id: str) -> Document:
        stored = await self._agents(owner_id).get(agent_id)
        if stored is None:
            raise _not_found()
        return stored

    def _agents(self, owner_id: str) -> OwnedDocuments:
        return self._owned.of(owner_id, Resource.AGENTS)


def _agent(stored: Mapping[str, Any], warnings: tuple[AgentWarning, ...] | None) -> Agent:
    document, _ = read_agent(stored)
    return Agent.model_validate(
        {
            **document.model_dump(by_alias=True),
            "agentId": stored["agentId"],
            "ownerId": stored["ownerId"],
            "createdAt": moment(stored.get("createdAt")),
            "updatedAt": moment(stored.get("updatedAt")),
            "version": _version(stored),
            "warnings": warnings,
        }
    )


def _version(stored: Mapping[str, Any]) -> int:
    match stored.get("version"):
        case int() as version:
            return int(version)
        case float() as version if version.is_integer():
            return int(version)
        case _:
            return 0


def _slug(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return _NOT_IN_SLUG.sub("-", plain).strip("-")[:_MAX_SLUG].strip("-") or "agent"


def _warning(code: WarningCode, field: str, message: str) -> AgentWarning:
    return AgentWarning(code=code, field=field, message=message)


def _not_found() -> NotFoundError:
    return NotFoundError("there is no such agent")
