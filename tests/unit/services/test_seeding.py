"""Seed files: checked as a whole, stored as a whole."""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from src.schemas.contact import CallDirection
from src.schemas.errors import SeedFileError
from src.schemas.knowledge import NewDocument
from src.schemas.seed import NumberBinding, PastContact
from src.services.ports import Catalogue
from src.services.seeding import Seed, load_seed, migrate, read_seed
from tests.fakes.clock import NOON

EXAMPLE = Path(__file__).parents[3] / "examples" / "clinic.json"
AGENT = {"agentId": "reception", "ownerId": "acme"}
CONTACT = {
    "contactUID": "c1",
    "AgentID": "reception",
    "phone": "+12125550147",
    "callDirection": "inbound",
    "startedDaysAgo": 2,
}


class RecordingCatalogue(Catalogue):
    """Keeps what it is given, in order."""

    def __init__(self, *, problems: Sequence[str] = ()) -> None:
        self.problems = problems
        self.steps: list[str] = []
        self.agents: list[Mapping[str, Any]] = []
        self.numbers: list[NumberBinding] = []
        self.contacts: list[PastContact] = []

    @override
    async def prepare(self) -> Sequence[str]:
        self.steps.append("prepare")
        return self.problems

    @override
    async def put_agents(self, agents: Sequence[Mapping[str, Any]]) -> None:
        self.agents += agents

    @override
    async def bind_numbers(self, bindings: Sequence[NumberBinding]) -> None:
        self.numbers += bindings

    @override
    async def put_contacts(self, contacts: Sequence[PastContact]) -> None:
        self.contacts += contacts

    @override
    async def backfill(self) -> int:
        self.steps.append("backfill")
        return 7


DOCUMENT = {
    "ownerId": "acme",
    "knowledgeBaseId": "faq",
    "name": "hours.txt",
    "text": "Open at nine.",
}


def read(**parts: Any) -> Seed:
    return read_seed(json.dumps({"agents": [AGENT], **parts}), now=NOON)


def problems_of(**parts: Any) -> tuple[str, ...]:
    with pytest.raises(SeedFileError) as refused:
        read(**parts)
    return refused.value.problems


async def test_everything_is_stored_and_counted() -> None:
    catalogue = RecordingCatalogue(problems=["index"])
    numbers = [{"number": "+15105550100", "agentId": "reception"}]
    seed = read(phoneNumbers=numbers, contacts=[CONTACT], documents=[DOCUMENT])
    added: list[NewDocument] = []

    async def add_document(document: NewDocument) -> None:
        added.append(document)

    counts = await load_seed(seed, catalogue, add_document)
    assert catalogue.steps == ["prepare", "backfill"]
    assert catalogue.agents == [AGENT]
    assert [(one.number, one.agent_id, one.owner_id) for one in catalogue.numbers] == [
        ("+15105550100", "reception", "acme")
    ]
    assert [one.contact.contact_uid for one in catalogue.contacts] == ["c1"]
    assert (counts.agents, counts.phone_numbers, counts.contacts) == (1, 1, 1)
    assert [(one.knowledge_base_id, one.content) for one in added] == [("faq", b"Open at nine.")]
    assert counts.documents == 1
    assert (counts.backfilled, counts.problems) == (7, ("index",))


async def test_migrating_stores_nothing_new() -> None:
    catalogue = RecordingCatalogue(problems=["index"])
    counts = await migrate(catalogue)
    assert catalogue.steps == ["prepare", "backfill"]
    assert (counts.backfilled, counts.problems) == (7, ("index",))


def test_a_contact_gets_its_owner_number_and_date() -> None:
    (past,) = read(contacts=[{**CONTACT, "phone": "+1 (212) 555-0147"}]).contacts
    assert past.contact.owner_id == "acme"
    assert past.contact.phone == "+12125550147"
    assert past.contact.original_phone == "+1 (212) 555-0147"
    assert past.contact.phone_last10 == "2125550147"
    assert past.contact.call_direction is CallDirection.INBOUND
    assert past.contact.call_started_at == NOON - timedelta(days=2)


def test_a_start_of_the_window_is_stored_as_a_date() -> None:
    window = {"type": "custom", "startDate": "2026-06-01T00:00:00Z"}
    history = {"enabled": True, "window": window}
    (agent,) = read(agents=[{**AGENT, "historyContext": history}]).agents
    start = agent["historyContext"]["window"]["startDate"]
    assert start.isoformat() == "2026-06-01T00:00:00+00:00"
    assert agent["historyContext"]["enabled"] is True


@pytest.mark.parametrize(
    ("agent", "named"),
    [
        ({"historyContext": {"maxConversations": 11}}, "history_context_max"),
        ({"historyContext": {"window": {"type": "custom"}}}, "history_context_window_start"),
        ({"historyContext": {"linkedAgentIds": "x"}}, "history_context_linked_agent_ids"),
        ({"historyContext": {"variableMemory": {"linkedAgentId": 1}}}, "variable_memory_linked"),
        ({"historyContext": {"linkedAgentIds": ["gone"]}}, "linkedAgentIds: gone"),
        ({"historyContext": {"variableMemory": {"linkedAgentId": "gone"}}}, "linkedAgentId: gone"),
        ({"handoffAgentIds": ["gone"]}, "handoffAgentIds: gone"),
        ({"timezone": "Mars"}, "timezone"),
        ({"ownerId": ""}, "owner_id"),
        ({"agentId": None}, "agent_id"),
        ({"gretting": "Hello."}, "gretting: unknown field"),
    ],
)
def test_a_bad_field_of_an_agent_is_named(agent: dict[str, Any], named: str) -> None:
    (problem,) = problems_of(agents=[{**AGENT, **agent}])
    assert named in problem


def test_an_agent_may_not_use_agents_of_another_owner() -> None:
    other = {"agentId": "spy", "ownerId": "globex"}
    (problem,) = problems_of(agents=[{**AGENT, "handoffAgentIds": ["spy"]}, other])
    assert problem == "reception: handoffAgentIds: spy is no agent of acme"


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ({"phoneNumbers": [{"number": "5105550100", "agentId": "reception"}]}, "0.number"),
        ({"phoneNumbers": [{"number": "+15105550100", "agentId": "x"}]}, "0.agentId: no agent x"),
        ({"contacts": [{**CONTACT, "AgentID": "x"}]}, "contacts.0.AgentID: no agent x"),
        ({"contacts": [{**CONTACT, "callDirection": "up"}]}, "contacts.0.callDirection"),
        ({"contacts": [{**CONTACT, "callStartedAt": "2026-11-01T00:00:00Z"}]}, "either"),
        ({"contacts": [{**CONTACT, "startedDaysAgo": None}]}, "either"),
        ({"contacts": [{**CONTACT, "name": "Laura"}]}, "contacts.0.name"),
        ({"agent": []}, "agent:"),
    ],
)
def test_a_bad_field_elsewhere_is_named(parts: dict[str, Any], named: str) -> None:
    (problem,) = problems_of(**parts)
    assert named in problem


def test_every_problem_is_told_at_once() -> None:
    problems = problems_of(
        agents=[{**AGENT, "timezone": "Mars"}, {**AGENT, "historyContext": {"enabled": 1}}]
    )
    assert len(problems) == 2


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(SeedFileError):
        read_seed("agents:", now=NOON)


def test_the_example_is_valid_and_links_reception_to_outreach() -> None:
    seed = read_seed(EXAMPLE.read_text(), now=NOON)
    agents = {agent["agentId"]: agent for agent in seed.agents}
    assert {"outreach", "reception", "billing", "web-guide"} <= set(agents)
    history = agents["reception"]["historyContext"]
    assert history["enabled"]
    assert history["linkedAgentIds"] == ["outreach"]
    assert history["variableMemory"] == {"enabled": True, "linkedAgentId": "outreach"}
    bound = {one.number: one.agent_id for one in seed.numbers}
    assert bound["+15105550100"] == "reception"
    for number, on in {"01": (False, False), "02": (True, False), "03": (False, True)}.items():
        features = agents[bound[f"+151055501{number}"]]["historyContext"]
        assert (features["enabled"], features["variableMemory"]["enabled"]) == on
    assert "+15551234567" not in {past.contact.phone for past in seed.contacts}
