"""A dry run of a call's first moments."""

import asyncio
import copy
from collections.abc import Mapping
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from typing_extensions import override

from src.handlers.call import Call
from src.handlers.call_handler import script
from src.schemas.agent_meta_schema import AgentMeta
from src.schemas.calls import CallPolicy
from src.schemas.contact import CallDirection
from src.schemas.errors import (
    ConflictError,
    ContactStoreError,
    InvalidInputError,
    MemoryStoreError,
    NotFoundError,
)
from src.schemas.preview import Preview, PreviewRequest
from src.schemas.receipt import MemoryOutcome, RefusalReason
from src.services.agent_config import build_agent_config
from src.services.background import Background
from src.services.caller_memory import CallerMemory
from src.services.conversation_history import Caller, MemorySources
from src.services.identity import memory_user_id
from src.services.owned import Resource
from src.services.phone_numbers import caller_number
from src.services.preview import CallPreview, Preferences
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.contacts import InMemoryContacts
from tests.fakes.owned import InMemoryOwnedStore

OWNER = "acme"
PHONE = "+15551234567"
AGENT: dict[str, Any] = {
    "agentId": "reception",
    "ownerId": OWNER,
    "name": "Ana",
    "greeting": 'Hello {{ name | default: "there" }}, {{agent_name}} here.',
    "Context": "We open at nine.",
    "historyContext": {
        "enabled": True,
        "maxConversations": 1,
        "variableMemory": {"enabled": True},
    },
    "createdAt": NOON,
}


class People(Preferences):
    """Who prefers which language."""

    def __init__(self) -> None:
        self.known: dict[str, dict[str, Any]] = {}
        self.error: Exception | None = None
        self.hangs = False

    @override
    async def preferences(self, user_id: str) -> Mapping[str, Any]:
        if self.hangs:
            await asyncio.Event().wait()
        if self.error is not None:
            raise self.error
        return self.known.get(user_id, {})


class World:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.owned = InMemoryOwnedStore()
        self.owned.documents[Resource.AGENTS].append(copy.deepcopy(AGENT))
        self.contacts = InMemoryContacts(self.clock)
        self.people = People()
        self.sources = MemorySources(
            contacts=self.contacts,
            clock=self.clock,
            count_tokens=lambda text: len(text.split()),
            max_block_tokens=400,
        )
        self.service = CallPreview(
            owned=self.owned,
            sources=self.sources,
            preferences=self.people,
            policy=CallPolicy(
                ringing_memory_deadline_s=0.05, late_memory_s=0.05, memory_deadline_s=0.05
            ),
        )

    def change(self, **fields: Any) -> None:
        self.owned.documents[Resource.AGENTS][0].update(fields)

    def called(self, uid: str, days_ago: float, **fields: Any) -> None:
        record = {
            "contactUID": uid,
            "ownerId": OWNER,
            "AgentID": "reception",
            "phone": PHONE,
            "phoneLast10": PHONE[-10:],
            "callDirection": "inbound",
            "conversation_summary": f"Summary of {uid}.",
            "callStartedAt": NOON - timedelta(days=days_ago),
        }
        self.contacts.add(record | fields)

    async def preview(self, **fields: Any) -> Preview:
        request = PreviewRequest.model_validate({"phone": PHONE, **fields})
        return await self.service.preview(OWNER, "reception", request)


@pytest.fixture
def world() -> World:
    world = World()
    variables = {
        "callDirection": "outbound",
        "dynamicVariables": {"name": "Daivik", "plan": "gold"},
    }
    world.called("new", 1, **variables)
    world.called("old", 9)
    world.called("stranger", 2, phone="+915551234567")
    return world


async def test_what_a_known_caller_would_hear(world: World) -> None:
    found = await world.preview()
    assert found.greeting == "Hello Daivik, Ana here."
    assert found.phone == PHONE
    assert found.history.block.startswith("## Previous Conversation History")
    assert "Summary of new." in found.history.block
    assert "We open at nine." not in found.history.block
    assert found.history.contact_uids == ("new",)
    assert {(one.contact_uid, one.reason) for one in found.history.refused} == {
        ("old", RefusalReason.BEYOND_MAXIMUM),
        ("stranger", RefusalReason.DIFFERENT_NUMBER),
    }
    assert found.history.window_start == NOON.replace(month=11)
    assert found.variables.filled == {"name": "Daivik", "plan": "gold"}
    assert found.variables.contact_uids == ("new",)
    assert found.history.agent_ids == ("reception",)
    assert found.degradations == ()
    assert found.missing_variables == ()


async def test_what_a_first_time_caller_would_hear(world: World) -> None:
    world.change(greeting="Hello {{name}}, welcome.")
    found = await world.preview(phone="+15557654321")
    assert found.greeting == "Hello, welcome."
    assert found.missing_variables == ("name",)
    assert found.history.outcome is MemoryOutcome.NOTHING_FOUND
    assert found.history.block == ""
    assert found.variables.filled == {}


async def test_nothing_is_written(world: World) -> None:
    before = copy.deepcopy((world.owned.documents, world.contacts.documents))
    await world.preview()
    await world.preview(direction="outbound", dynamic_variables={"name": "Ana"})
    assert (world.owned.documents, world.contacts.documents) == before


@pytest.mark.parametrize("direction", [CallDirection.INBOUND, CallDirection.OUTBOUND])
async def test_it_is_what_the_handlers_do_with_the_same_call(
    world: World, direction: CallDirection
) -> None:
    world.change(
        greeting="{{name}} {{call_direction}} {{caller_number}} {{called_number}} {{today}}",
        Context="",
    )
    numbers = world.owned.of(OWNER, Resource.PHONE_NUMBERS)
    await numbers.insert({"number": "+15105550100", "agentId": "reception", "createdAt": NOON})
    live = {"plan": "silver"}
    previewed = await world.preview(direction=direction, dynamic_variables=live)

    meta = AgentMeta.model_validate(build_agent_config(world.owned.documents[Resource.AGENTS][0]))
    caller = Caller(number=caller_number(PHONE, None, region=None), contact_uid="this-call")
    background = Background()
    memory = CallerMemory(
        meta=meta, caller=caller, live=live, sources=world.sources, background=background
    )
    recollection = await memory.within(1.0)
    await background.aclose()
    call = SimpleNamespace(
        services=SimpleNamespace(sources=world.sources),
        direction=direction,
        caller=caller,
        dialled="+15105550100" if direction is CallDirection.INBOUND else PHONE,
        language="en",
        opening_note="",
    )
    spoken = script(cast(Call, call), recollection.meta, recollection.values)
    assert previewed.greeting == spoken.greeting
    assert PHONE in previewed.greeting
    assert previewed.history.block == recollection.meta.Context
    assert previewed.history.contact_uids == recollection.receipt.history.contact_uids
    assert previewed.variables.filled == {"name": "Daivik"}


async def test_values_of_the_request_win(world: World) -> None:
    found = await world.preview(direction="outbound", dynamic_variables={"name": "Priya"})
    assert found.greeting.startswith("Hello Priya")
    assert found.variables.filled == {"plan": "gold"}


async def test_a_national_number_is_read_in_the_owners_region(world: World) -> None:
    assert (await world.preview(phone="(510) 555-0100")).phone is None
    world.owned.documents[Resource.OWNERS].append({"ownerId": OWNER, "defaultRegion": "US"})
    assert (await world.preview(phone="(510) 555-0100")).phone == "+15105550100"


async def test_a_withheld_number_has_no_memory(world: World) -> None:
    found = await world.preview(phone="anonymous")
    assert found.history.outcome is MemoryOutcome.NO_PHONE
    assert found.greeting == "Hello there, Ana here."
    assert found.phone is None


async def test_features_that_are_off_show_nothing(world: World) -> None:
    world.change(historyContext=None)
    found = await world.preview()
    assert (found.history.outcome, found.variables.outcome) == (MemoryOutcome.OFF,) * 2
    assert found.history.window_start is None


@pytest.mark.parametrize("direction", ["inbound", "outbound"])
async def test_a_store_that_is_late_or_fails_costs_what_it_would_have_given(
    world: World, direction: str
) -> None:
    world.contacts.faults.up.clear()
    late = await world.preview(direction=direction)
    assert late.degradations == ("memory_late",)
    assert late.greeting == "Hello there, Ana here."
    world.contacts.faults.up.set()
    world.contacts.faults.error = ContactStoreError("away")
    assert (await world.preview(direction=direction)).degradations == ("memory_failed",)


async def test_a_person_is_greeted_in_the_language_they_spoke_last(world: World) -> None:
    world.change(languages=["es"], greetings={"es": "Hola {{name}}."})
    assert (await world.preview()).language == "en"
    world.people.known[memory_user_id(OWNER, e164=PHONE)] = {"language": "es-MX"}
    found = await world.preview()
    assert (found.language, found.greeting) == ("es", "Hola Daivik.")
    world.people.error = MemoryStoreError("away")
    found = await world.preview()
    assert (found.language, found.degradations) == ("en", ("conversation_late",))
    world.people.hangs = True
    assert (await world.preview()).degradations == ("conversation_late",)


async def test_what_cannot_be_called_is_refused(world: World) -> None:
    with pytest.raises(InvalidInputError) as refused:
        await world.preview(phone="12", direction="outbound", dynamic_variables={"{{x": "y"})
    fields = [one.field for one in refused.value.problems]
    assert fields == ["dynamicVariables.{{x", "phone"]


async def test_only_the_owners_own_agents_can_be_tried(world: World) -> None:
    request = PreviewRequest(phone=PHONE)
    with pytest.raises(NotFoundError):
        await world.service.preview("globex", "reception", request)
    world.change(timezone="Mars/Olympus")
    with pytest.raises(ConflictError, match="timezone"):
        await world.preview()
