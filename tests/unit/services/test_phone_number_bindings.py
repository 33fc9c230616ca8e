"""Which agent answers which number, and how the media server learns of it."""

import pytest

from src.schemas.errors import (
    ConflictError,
    InvalidInputError,
    MediaServerError,
    NotFoundError,
)
from src.schemas.phone_numbers_api import PhoneNumberRequest
from src.services.call_ports import NumberDrift
from src.services.owned import Position, Resource
from src.services.phone_number_bindings import PhoneNumberBindings
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.media_server import FakeProvisioning
from tests.fakes.owned import InMemoryOwnedStore

NUMBER = "+15105550100"


class World:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.owned = InMemoryOwnedStore()
        self.server = FakeProvisioning()
        self.bindings = PhoneNumberBindings(
            owned=self.owned, provisioning=self.server, clock=self.clock
        )


@pytest.fixture
async def world() -> World:
    world = World()
    for owner, agent in [("acme", "reception"), ("acme", "sales"), ("other", "theirs")]:
        await world.owned.of(owner, Resource.AGENTS).insert({"agentId": agent})
    return world


def wanted(
    number: str = NUMBER, agent: str = "reception", label: str | None = None
) -> PhoneNumberRequest:
    return PhoneNumberRequest(number=number, agent_id=agent, label=label)


async def test_a_bound_number_is_stored_and_provisioned(world: World) -> None:
    view = await world.bindings.bind("acme", wanted("+1 (510) 555-0100", label="Desk"))
    assert view.model_dump(by_alias=True) == {
        "number": NUMBER,
        "agentId": "reception",
        "label": "Desk",
        "createdAt": NOON,
        "updatedAt": NOON,
    }
    assert world.server.reconciled == 1
    assert list(await world.bindings.page("acme")) == [view]
    assert world.owned.documents[Resource.PHONE_NUMBERS][0]["ownerId"] == "acme"


async def test_binding_again_gives_the_number_to_another_agent(world: World) -> None:
    await world.bindings.bind("acme", wanted(label="Desk"))
    world.clock.advance(60)
    view = await world.bindings.bind("acme", wanted(agent="sales"))
    assert (view.agent_id, view.label, view.created_at) == ("sales", None, NOON)
    assert view.updated_at == world.clock.now()
    assert world.server.reconciled == 2


async def test_a_number_of_another_owner_is_a_conflict_that_names_nobody(world: World) -> None:
    await world.bindings.bind("other", wanted(agent="theirs"))
    with pytest.raises(ConflictError) as refused:
        await world.bindings.bind("acme", wanted())
    assert "other" not in str(refused.value)
    assert world.owned.documents[Resource.PHONE_NUMBERS][0]["agentId"] == "theirs"
    assert world.server.reconciled == 1


async def test_everything_wrong_is_named_at_once(world: World) -> None:
    with pytest.raises(InvalidInputError) as refused:
        await world.bindings.bind("acme", wanted("12", agent="theirs"))
    assert [problem.field for problem in refused.value.problems] == ["number", "agentId"]
    with pytest.raises(InvalidInputError):
        await world.bindings.bind("acme", wanted(agent="theirs"))
    assert world.server.reconciled == 0


async def test_a_national_number_is_read_in_the_owners_region(world: World) -> None:
    owners = world.owned.of("acme", Resource.OWNERS)
    await owners.insert({"ownerId": "acme", "defaultRegion": "US"})
    assert (await world.bindings.bind("acme", wanted("510 555 0100"))).number == NUMBER


async def test_a_media_server_that_is_away_can_be_told_again(world: World) -> None:
    world.server.faults.error = MediaServerError("away")
    with pytest.raises(MediaServerError):
        await world.bindings.bind("acme", wanted())
    world.server.faults.error = None
    assert (await world.bindings.bind("acme", wanted())).created_at == NOON
    assert world.server.reconciled == 1


async def test_an_unbound_number_is_gone_for_its_owner_only(world: World) -> None:
    await world.bindings.bind("acme", wanted())
    with pytest.raises(NotFoundError):
        await world.bindings.unbind("other", NUMBER)
    await world.bindings.unbind("acme", NUMBER)
    assert world.server.reconciled == 2
    assert list(await world.bindings.page("acme")) == []
    with pytest.raises(NotFoundError):
        await world.bindings.unbind("acme", NUMBER)


async def test_numbers_are_listed_in_pages(world: World) -> None:
    for last in range(3):
        await world.bindings.bind("acme", wanted(f"+1510555010{last}"))
        world.clock.advance(1)
    first = await world.bindings.page("acme", limit=2)
    assert [one.number[-1] for one in first] == ["2", "1"]
    assert first[-1].created_at is not None
    rest = await world.bindings.page("acme", after=Position(first[-1].created_at, first[-1].number))
    assert [one.number[-1] for one in rest] == ["0"]


async def test_drift_tells_an_owner_of_their_own_numbers_only(world: World) -> None:
    await world.bindings.bind("acme", wanted())
    await world.bindings.bind("other", wanted("+15105550101", agent="theirs"))
    world.server.found = NumberDrift(
        missing=(NUMBER, "+15105550101"), unknown=("+15105550199",), rule="differs"
    )
    assert (await world.bindings.drift("acme")).model_dump(by_alias=True) == {
        "missing": (NUMBER,),
        "unknownCount": 1,
        "rule": "differs",
    }
