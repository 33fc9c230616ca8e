"""Reads a seed file as a whole before any of it is stored."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import ValidationError

from src.schemas.agent_meta_schema import AgentMeta
from src.schemas.contact import NewContact
from src.schemas.errors import SeedFileError
from src.schemas.knowledge import NewDocument
from src.schemas.seed import NumberBinding, PastContact, SeedContact, SeedCounts, SeedFile
from src.services.agent_config import build_agent_config, unknown_fields
from src.services.phone_numbers import caller_number
from src.services.ports import Catalogue


@dataclass(frozen=True)
class Seed:
    """A checked seed file, in the form in which it is stored."""

    agents: tuple[Mapping[str, Any], ...]
    numbers: tuple[NumberBinding, ...]
    contacts: tuple[PastContact, ...]
    documents: tuple[NewDocument, ...] = ()


def read_seed(text: str, *, now: datetime) -> Seed:
    """The file's content.

    Raises:
        SeedFileError: something is missing, unknown or out of range; every such field is named.
    """
    try:
        file = SeedFile.model_validate_json(text)
    except ValidationError as error:
        raise SeedFileError(tuple(_sentences("", error))) from None
    agents: dict[str, AgentMeta] = {}
    problems: list[str] = []
    for place, document in enumerate(file.agents):
        name = f"agents.{place} ({document.get('agentId')})"
        problems += [f"{name}: {field}: unknown field" for field in unknown_fields(document)]
        try:
            meta = AgentMeta.model_validate(build_agent_config(document))
        except ValidationError as error:
            problems += _sentences(f"{name}: ", error)
        else:
            agents[meta.agent_id] = meta
    problems = problems or [*_broken_links(agents), *_strangers(file, agents)]
    if problems:
        raise SeedFileError(tuple(problems))
    return Seed(
        agents=tuple(_with_real_date(one, agents[one["agentId"]]) for one in file.agents),
        numbers=tuple(
            one.model_copy(update={"owner_id": agents[one.agent_id].owner_id})
            for one in file.phoneNumbers
        ),
        contacts=tuple(_past_contact(one, agents[one.AgentID], now) for one in file.contacts),
        documents=tuple(
            NewDocument(
                owner_id=one.ownerId,
                knowledge_base_id=one.knowledgeBaseId,
                name=one.name,
                content=one.text.encode(),
                language=one.language,
            )
            for one in file.documents
        ),
    )


async def load_seed(
    seed: Seed, catalogue: Catalogue, add_document: Callable[[NewDocument], Awaitable[object]]
) -> SeedCounts:
    """Store everything; a repeated run replaces what the file names and leaves the rest.

    Documents are found once the jobs process has indexed them.

    Raises:
        ContactStoreError, MemoryStoreError: a store failed; run it again.
        DocumentError: a document cannot be read.
    """
    problems = await catalogue.prepare()
    await catalogue.put_agents(seed.agents)
    await catalogue.bind_numbers(seed.numbers)
    await catalogue.put_contacts(seed.contacts)
    for document in seed.documents:
        await add_document(document)
    return SeedCounts(
        agents=len(seed.agents),
        phone_numbers=len(seed.numbers),
        contacts=len(seed.contacts),
        documents=len(seed.documents),
        backfilled=await catalogue.backfill(),
        problems=tuple(problems),
    )


async def migrate(catalogue: Catalogue) -> SeedCounts:
    """Create the indexes and bring older records up to date.

    Raises:
        ContactStoreError: the store failed; run it again.
    """
    problems = await catalogue.prepare()
    return SeedCounts(backfilled=await catalogue.backfill(), problems=tuple(problems))


def _sentences(before: str, error: ValidationError) -> Iterator[str]:
    for item in error.errors(include_url=False, include_input=False):
        place = ".".join(map(str, item["loc"]))
        yield f"{before}{place}: {item['msg']}" if place else f"{before}{item['msg']}"


def _broken_links(agents: Mapping[str, AgentMeta]) -> Iterator[str]:
    """Agents may only use agents of the same owner."""
    for meta in agents.values():
        links = {
            "historyContext.linkedAgentIds": meta.history_context_linked_agent_ids,
            "historyContext.variableMemory.linkedAgentId": [meta.variable_memory_linked_agent_id],
            "handoffAgentIds": meta.handoff_agent_ids,
        }
        for field, linked in links.items():
            for agent_id in filter(None, linked):
                other = agents.get(agent_id)
                if other is None or other.owner_id != meta.owner_id:
                    yield f"{meta.agent_id}: {field}: {agent_id} is no agent of {meta.owner_id}"


def _strangers(file: SeedFile, agents: Mapping[str, AgentMeta]) -> Iterator[str]:
    for place, binding in enumerate(file.phoneNumbers):
        if binding.agent_id not in agents:
            yield f"phoneNumbers.{place}.agentId: no agent {binding.agent_id} in this file"
    for place, contact in enumerate(file.contacts):
        if contact.AgentID not in agents:
            yield f"contacts.{place}.AgentID: no agent {contact.AgentID} in this file"


def _with_real_date(document: Mapping[str, Any], meta: AgentMeta) -> Mapping[str, Any]:
    """JSON has no dates; the store does."""
    start = meta.history_context_window_start
    if start is None:
        return document
    history = document["historyContext"]
    window = {**history["window"], "startDate": start}
    return {**document, "historyContext": {**history, "window": window}}


def _past_contact(seed: SeedContact, meta: AgentMeta, now: datetime) -> PastContact:
    number = caller_number(seed.phone, None, region=None)
    contact = NewContact(
        contact_uid=seed.contactUID,
        owner_id=meta.owner_id,
        agent_id=meta.agent_id,
        phone=number.e164 or seed.phone,
        original_phone=seed.phone,
        phone_last10=number.last10,
        call_direction=seed.callDirection,
        status=seed.status,
        dynamic_variables=seed.dynamicVariables,
        campaign_id=seed.campaignId,
        call_started_at=seed.callStartedAt or now - timedelta(days=seed.startedDaysAgo or 0),
    )
    return PastContact(contact=contact, summary=seed.conversation_summary)
