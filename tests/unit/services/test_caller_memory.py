"""Two lookups, one deadline."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace

import pytest
from typing_extensions import override

from src.schemas.contact import ContactQuery, RememberedVariables
from src.schemas.errors import ContactStoreError
from src.schemas.receipt import MemoryOutcome
from src.services.background import Background
from src.services.caller_memory import CallerMemory
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.contacts import InMemoryContacts
from tests.unit.services.test_conversation_history import HEADING, agent, caller, record, sources

DOCUMENT = record("a", callDirection="outbound", dynamicVariables={"name": "Ana"})


@pytest.fixture
async def background() -> AsyncIterator[Background]:
    owner = Background()
    yield owner
    await owner.aclose()


def recall(background: Background) -> tuple[CallerMemory, InMemoryContacts]:
    found = sources(DOCUMENT)
    contacts = found.contacts
    assert isinstance(contacts, InMemoryContacts)
    memory = CallerMemory(
        meta=agent(), caller=caller(), live={"plan": "gold"}, sources=found, background=background
    )
    return memory, contacts


async def test_both_features_arrive_together(background: Background) -> None:
    memory, _ = recall(background)
    found = await memory.within(1.0)
    assert HEADING in found.meta.Context
    assert found.values == {"plan": "gold", "name": "Ana"}
    assert found.degradations == ()


async def test_past_the_deadline_the_call_goes_on_without_and_says_so(
    background: Background,
) -> None:
    memory, contacts = recall(background)
    contacts.faults.up.clear()
    found = await memory.within(0.02)
    assert found.meta == agent()
    assert found.values == {"plan": "gold"}
    assert found.receipt.history.outcome is MemoryOutcome.LATE
    assert found.degradations == ("memory_late",)
    assert not memory.complete


async def test_what_is_late_still_arrives(background: Background) -> None:
    memory, contacts = recall(background)
    contacts.faults.up.clear()
    await memory.within(0.01)
    contacts.faults.up.set()
    found = await memory.within(1.0)
    assert HEADING in found.meta.Context
    assert found.receipt.variables.outcome is MemoryOutcome.APPLIED


async def test_a_failing_store_fails_open(background: Background) -> None:
    memory, contacts = recall(background)
    contacts.faults.error = ContactStoreError("away")
    found = await memory.within(1.0)
    assert found.meta == agent()
    assert found.degradations == ("memory_failed",)


async def test_what_is_given_up_on_ends(background: Background) -> None:
    memory, contacts = recall(background)
    contacts.faults.up.clear()
    memory.stop()
    found = await memory.within(1.0)
    assert memory.complete
    assert found.degradations == ("memory_late",)


class VariablesHang(InMemoryContacts):
    """Answers for history, never for variables."""

    @override
    async def variables(self, query: ContactQuery) -> AsyncGenerator[RememberedVariables, None]:
        await asyncio.Event().wait()
        yield RememberedVariables(
            contact_uid="", phone="", original_phone="", variables={}, at=NOON
        )


async def test_one_late_feature_leaves_the_other_alone(background: Background) -> None:
    found = replace(sources(), contacts=VariablesHang(FakeClock(), DOCUMENT))
    memory = CallerMemory(
        meta=agent(), caller=caller(), live={}, sources=found, background=background
    )
    recollection = await memory.within(0.05)
    assert recollection.receipt.history.outcome is MemoryOutcome.APPLIED
    assert recollection.receipt.variables.outcome is MemoryOutcome.LATE
