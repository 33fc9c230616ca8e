"""An owner's agents: created, read, replaced, deleted."""

import asyncio
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from src.schemas.agent_document import Agent, AgentDocument, WarningCode
from src.schemas.agent_meta_schema import AgentMeta
from src.schemas.errors import ConflictError, InvalidInputError, NotFoundError, StaleError
from src.services.agent_config import AGENT_FIELDS, build_agent_config, read_agent
from src.services.agent_documents import AgentDocuments
from src.services.owned import OwnedDocuments, Resource
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.owned import InMemoryOwnedStore
from tests.unit.services.agents import LINKED, documents

OWNER = "acme"
INVALID_LINKS = "Invalid linked agents"


class World:
    """An owner with two agents to link to, and another owner with one."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.owned = InMemoryOwnedStore()
        self.agents = AgentDocuments(owned=self.owned, clock=self.clock)
        for owner_id, agent_id in [*((OWNER, one) for one in LINKED), ("globex", "theirs")]:
            self.put(agentId=agent_id, ownerId=owner_id, createdAt=NOON, version=1)

    def put(self, **document: Any) -> None:
        self.owned.documents[Resource.AGENTS].append(document)

    async def create(self, **fields: Any) -> Agent:
        return await self.agents.create(OWNER, AgentDocument.model_validate(fields))

    async def replace(self, agent_id: str, version: int | None = None, **fields: Any) -> Agent:
        document = AgentDocument.model_validate(fields)
        return await self.agents.replace(OWNER, agent_id, document, if_version=version)

    def stored(self, agent_id: str) -> dict[str, Any]:
        found = [o for o in self.owned.documents[Resource.AGENTS] if o["agentId"] == agent_id]
        assert len(found) == 1
        return found[0]


@pytest.fixture
def world() -> World:
    return World()


def codes(agent: Agent) -> list[WarningCode]:
    return [one.code for one in agent.warnings or ()]


@given(fields=documents(NOON))
async def test_every_document_that_is_accepted_loads_in_a_call_as_it_was_written(
    fields: dict[str, Any],
) -> None:
    world = World()
    created = await world.create(**fields)
    stored = world.stored(created.agent_id)
    config = build_agent_config(stored)
    meta = AgentMeta.model_validate(config)
    assert AgentMeta.for_call(config) == (meta, ())

    document = created.model_dump(by_alias=True)
    for name, field in AGENT_FIELDS.items():
        assert getattr(meta, field) == document[name], name
    history = document["historyContext"]
    window, memory = history["window"], history["variableMemory"]
    assert {
        k: v for k, v in meta.model_dump().items() if k.startswith(("history_", "variable_m"))
    } == {
        "history_context_enabled": history["enabled"],
        "history_context_max": history["maxConversations"],
        "history_context_window_type": window["type"],
        "history_context_window_value": window["value"],
        "history_context_window_start": window["startDate"],
        "history_context_linked_agent_ids": history["linkedAgentIds"],
        "variable_memory_enabled": memory["enabled"],
        "variable_memory_linked_agent_id": memory["linkedAgentId"],
    }
    for name, value in fields.items():
        if name not in ("historyContext", "handoffAgentIds"):
            assert document[name] == (tuple(value) if isinstance(value, list) else value), name
    assert (await world.agents.get(OWNER, created.agent_id)) == created


async def test_a_new_agent_has_an_id_like_its_name_and_a_version(world: World) -> None:
    created = await world.create(name="Réception, Köln")
    assert created.agent_id.startswith("reception-koln-")
    assert (created.version, created.created_at, created.updated_at) == (1, NOON, NOON)
    assert (await world.create(name="स्वागत")).agent_id.startswith("agent-")
    long = await world.create(name="x" * 200)
    assert len(long.agent_id) < 40


async def test_an_id_that_is_taken_is_never_overwritten(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("src.services.agent_documents.secrets.token_hex", lambda _: "0" * 12)
    await world.create(name="a")
    with pytest.raises(ConflictError):
        await world.create(name="a")


async def test_an_update_is_of_the_whole_document(world: World) -> None:
    created = await world.create(
        name="A", greeting="Hi.", historyContext={"enabled": True, "linkedAgentIds": ["billing"]}
    )
    world.clock.advance(60)
    updated = await world.replace(created.agent_id, name="B")
    assert updated.name == "B"
    assert updated.greeting == AgentDocument.model_validate({}).greeting
    assert not updated.history_context.enabled
    assert updated.history_context.linked_agent_ids == ()
    assert (updated.agent_id, updated.version) == (created.agent_id, 2)
    assert (updated.created_at, updated.updated_at) == (NOON, world.clock.now())
    assert await world.agents.get(OWNER, created.agent_id) == updated


async def test_fields_of_other_programs_stay(world: World) -> None:
    world.put(agentId="old", ownerId=OWNER, campaignIds=["c1"], greeting="Hi.")
    updated = await world.replace("old", name="New")
    assert world.stored("old")["campaignIds"] == ["c1"]
    assert updated.greeting != "Hi."
    assert updated.created_at == NOON


async def test_an_update_of_what_was_changed_since_is_refused(world: World) -> None:
    created = await world.create(name="A")
    await world.replace(created.agent_id, 1, name="B")
    with pytest.raises(StaleError):
        await world.replace(created.agent_id, 1, name="C")
    assert (await world.replace(created.agent_id, 2, name="C")).version == 3


async def test_of_updates_at_once_one_wins(world: World) -> None:
    created = await world.create(name="A")
    results = await asyncio.gather(
        *(world.replace(created.agent_id, 1, name=f"N{i}") for i in range(5)),
        return_exceptions=True,
    )
    assert len([one for one in results if isinstance(one, Agent)]) == 1
    assert all(isinstance(one, Agent | StaleError) for one in results)
    assert world.stored(created.agent_id)["version"] == 2


@pytest.mark.parametrize("version", [None, "three", 0.0, 4.0])
async def test_an_agent_of_another_program_can_be_updated(world: World, version: Any) -> None:
    world.put(agentId="old", ownerId=OWNER, version=version)
    before = await world.agents.get(OWNER, "old")
    assert before.version == (4 if version == 4.0 else 0)
    assert (await world.replace("old", before.version, name="New")).version == before.version + 1


async def test_two_first_updates_of_an_agent_without_version_do_not_both_win(world: World) -> None:
    world.put(agentId="old", ownerId=OWNER)
    documents = world.owned.of(OWNER, Resource.AGENTS)
    before = await documents.get("old")
    assert before is not None
    assert await world.agents._pin_version(OWNER, before)
    assert not await world.agents._pin_version(OWNER, before)


class _Overtaken(InMemoryOwnedStore):
    """Every document is changed between its being read and being written."""

    @override
    def of(self, owner_id: str, resource: Resource) -> OwnedDocuments:
        for one in self.documents[resource]:
            one["version"] = one.get("version", 0) + 1
        return super().of(owner_id, resource)


@pytest.mark.parametrize("version", [None, 1])
async def test_an_update_that_was_overtaken_is_refused(version: int | None) -> None:
    world = World()
    created = await world.create()
    read = await world.owned.of(OWNER, Resource.AGENTS).get(created.agent_id)
    overtaken = _Overtaken()
    overtaken.documents = world.owned.documents
    world.agents = AgentDocuments(owned=overtaken, clock=world.clock)
    assert read is not None
    error = ConflictError if version is None else StaleError
    asked = None if version is None else read["version"] + 1  # as of the service's own reading
    with pytest.raises(error):
        await world.replace(created.agent_id, asked)


async def test_other_owners_agents_are_not_there(world: World) -> None:
    document = AgentDocument.model_validate({})
    for attempt in (
        world.agents.get(OWNER, "theirs"),
        world.agents.replace(OWNER, "theirs", document),
        world.agents.delete(OWNER, "theirs"),
        world.agents.lint(OWNER, "theirs"),
    ):
        with pytest.raises(NotFoundError):
            await attempt
    assert [one.agent_id for one in await world.agents.page(OWNER)] == ["outreach", "billing"]


async def test_lists_go_newest_first_and_look_for_no_warnings(world: World) -> None:
    world.clock.advance(1)
    created = await world.create(greeting="Hello {{name}}")
    first = (await world.agents.page(OWNER, limit=1))[0]
    assert first.agent_id == created.agent_id
    assert first.warnings is None


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        (
            {"historyContext": {"linkedAgentIds": ["outreach", "LINK"]}},
            "historyContext.linkedAgentIds",
        ),
        (
            {"historyContext": {"variableMemory": {"linkedAgentId": "LINK"}}},
            "historyContext.variableMemory.linkedAgentId",
        ),
        ({"handoffAgentIds": ["LINK"]}, "handoffAgentIds"),
    ],
)
async def test_a_foreign_agent_is_refused_exactly_as_one_that_does_not_exist(
    world: World, fields: dict[str, Any], field: str
) -> None:
    created = await world.create()
    told = []
    for link in ("theirs", "nobody"):
        named = AgentDocument.model_validate_json(
            AgentDocument.model_validate(fields)
            .model_dump_json(by_alias=True)
            .replace("LINK", link)
        )
        for attempt in (
            world.agents.create(OWNER, named),
            world.agents.replace(OWNER, created.agent_id, named),
        ):
            with pytest.raises(InvalidInputError) as refused:
                await attempt
            told.append([(one.field, one.message) for one in refused.value.problems])
    assert told == [[(field, INVALID_LINKS)]] * 4


async def test_every_field_with_a_bad_link_is_named(world: World) -> None:
    history = {"linkedAgentIds": ["nobody"], "variableMemory": {"linkedAgentId": "theirs"}}
    with pytest.raises(InvalidInputError) as refused:
        await world.create(historyContext=history, handoffAgentIds=["outreach"])
    assert [one.field for one in refused.value.problems] == [
        "historyContext.linkedAgentIds",
        "historyContext.variableMemory.linkedAgentId",
    ]


async def test_duplicates_and_links_to_itself_are_folded(world: World) -> None:
    created = await world.create()
    me = created.agent_id
    updated = await world.replace(
        me,
        handoffAgentIds=[me, "billing", "billing"],
        historyContext={
            "linkedAgentIds": ["outreach", me, "outreach"],
            "variableMemory": {"linkedAgentId": me},
        },
    )
    assert updated.handoff_agent_ids == ("billing",)
    assert updated.history_context.linked_agent_ids == ("outreach",)
    assert updated.history_context.variable_memory.linked_agent_id is None


async def test_nothing_is_stored_of_what_is_refused(world: World) -> None:
    before = len(world.owned.documents[Resource.AGENTS])
    with pytest.raises(InvalidInputError):
        await world.create(handoffAgentIds=["nobody"])
    assert len(world.owned.documents[Resource.AGENTS]) == before


async def test_an_agent_is_deleted_and_links_to_it_are_named_as_gone(world: World) -> None:
    created = await world.create(historyContext={"linkedAgentIds": ["billing"]})
    await world.agents.delete(OWNER, "billing")
    with pytest.raises(NotFoundError):
        await world.agents.get(OWNER, "billing")
    linked = await world.agents.get(OWNER, created.agent_id)
    assert linked.history_context.linked_agent_ids == ("billing",)
    assert [(one.code, one.field) for one in linked.warnings or ()] == [
        (WarningCode.LINK_GONE, "historyContext.linkedAgentIds")
    ]


async def test_an_agent_that_answers_a_number_is_not_deleted(world: World) -> None:
    numbers = world.owned.of(OWNER, Resource.PHONE_NUMBERS)
    await numbers.insert({"number": "+15105550100", "agentId": "billing", "createdAt": NOON})
    with pytest.raises(ConflictError):
        await world.agents.delete(OWNER, "billing")
    await numbers.delete("+15105550100")
    await world.agents.delete(OWNER, "billing")


async def test_an_agent_that_somebody_else_deletes_at_the_same_moment_is_gone(world: World) -> None:
    results = await asyncio.gather(
        world.agents.delete(OWNER, "billing"),
        world.agents.delete(OWNER, "billing"),
        return_exceptions=True,
    )
    assert [type(one) for one in results if one is not None] in ([], [NotFoundError])


async def test_answers_warn_of_what_is_probably_not_meant(world: World) -> None:
    created = await world.create(greeting="Hello {{name}}")
    assert codes(created) == [WarningCode.ONLY_PER_CALL]
    assert codes(await world.replace(created.agent_id, greeting="Hello {{name")) != []
    assert (
        await world.agents.lint(OWNER, created.agent_id)
        == (await world.agents.get(OWNER, created.agent_id)).warnings
    )


async def test_a_linked_agent_that_uses_the_variable_is_named(world: World) -> None:
    outreach = await world.create(name="Outreach", prompt="You call {{ Name }}.")
    created = await world.create(
        greeting="Hello {{name}}",
        historyContext={"linkedAgentIds": ["billing", outreach.agent_id]},
    )
    (warning,) = created.warnings or ()
    assert warning.linked_agent_ids == (outreach.agent_id,)


@pytest.mark.parametrize(
    ("stored", "unusable"),
    [
        ({"name": 5, "greeting": "Hi."}, ["name"]),
        ({"timezone": "Mars/Olympus"}, ["timezone"]),
        ({"historyContext": True}, ["historyContext"]),
        ({"historyContext": {"enabled": True, "maxConversations": 99}}, ["historyContext"]),
        (
            {"historyContext": {"enabled": True, "variableMemory": {"linkedAgentId": 5}}},
            ["historyContext.variableMemory"],
        ),
        (
            {"historyContext": {"window": "x", "variableMemory": True}},
            ["historyContext", "historyContext.variableMemory"],
        ),
    ],
)
async def test_what_another_program_stored_wrongly_is_shown_as_its_default_and_named(
    world: World, stored: dict[str, Any], unusable: list[str]
) -> None:
    world.put(agentId="old", ownerId=OWNER, **stored)
    agent = await world.agents.get(OWNER, "old")
    assert agent.name == AgentDocument.model_validate({}).name
    assert [one.field for one in agent.warnings or ()] == unusable
    assert codes(agent) == [WarningCode.UNUSABLE_VALUE] * len(unusable)
    assert [one.agent_id for one in await world.agents.page(OWNER)] == ["outreach", "billing"]


def test_numbers_dates_and_own_fields_of_other_programs_are_read() -> None:
    naive = datetime(2026, 6, 1)  # noqa: DTZ001 - as a driver without zones gives it
    history = {
        "_id": "x",
        "enabled": True,
        "maxConversations": 7.0,
        "window": {"type": "custom", "value": 1.0, "startDate": naive, "_id": "y"},
        "variableMemory": {"enabled": True, "linkedAgentId": None},
    }
    document, unusable = read_agent({"agentId": "a", "createdAt": 5, "historyContext": history})
    assert unusable == ()
    assert document.history_context.max_conversations == 7
    start = document.history_context.window.start_date
    assert start is not None
    assert start.isoformat() == "2026-06-01T00:00:00+00:00"


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.datetimes(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
histories = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("enabled", "maxConversations", "window", "linkedAgentIds", "variableMemory"), anything
    ),
)


@given(
    st.dictionaries(st.sampled_from(sorted(AGENT_FIELDS)), anything),
    st.fixed_dictionaries({}, optional={"historyContext": histories | anything}),
)
def test_whatever_is_stored_can_be_read(fields: dict[str, Any], history: dict[str, Any]) -> None:
    document, _ = read_agent({**fields, **history})
    assert AgentDocument.model_validate(document.model_dump(by_alias=True)) == document
