"""One outbound call: placed, looked at, ended."""

from typing import Any

import pytest
from pydantic import ValidationError
from typing_extensions import override

from src.schemas.call_requests import MAX_VARIABLES_BYTES, CallRequest
from src.schemas.contact import CallDirection, ContactStatus
from src.schemas.errors import (
    ConflictError,
    ContactStoreError,
    InvalidInputError,
    MediaServerError,
    NotFoundError,
)
from src.schemas.job_metadata import JobMetadata
from src.services.outbound_calls import OutboundCalls
from src.services.owned import OwnedDocuments, Resource
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.contacts import InMemoryContacts
from tests.fakes.media_server import FakeDispatcher
from tests.fakes.owned import InMemoryOwnedStore

REQUEST = CallRequest(
    agent_id="reception",
    phone="+91 98765 43210",
    dynamic_variables={"name": "Daivik"},
    campaign_id="spring",
)


class World:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.owned = InMemoryOwnedStore()
        self.records = InMemoryContacts(self.clock)
        self.records.documents = self.owned.documents[Resource.CONTACTS]
        self.dispatcher = FakeDispatcher()
        self.calls = OutboundCalls(
            owned=self.owned,
            records=self.records,
            dispatcher=self.dispatcher,
            clock=self.clock,
        )

    async def prepare(self) -> None:
        agents = {"acme": "reception", "other": "theirs"}
        for owner, agent in agents.items():
            await self.owned.of(owner, Resource.AGENTS).insert({"agentId": agent})

    def document(self) -> dict[str, Any]:
        (document,) = self.owned.documents[Resource.CONTACTS]
        return document


@pytest.fixture
async def world() -> World:
    world = World()
    await world.prepare()
    return world


async def test_a_call_has_its_record_before_its_job(world: World) -> None:
    placed = await world.calls.place("acme", REQUEST)
    document = world.document()
    room = document.pop("room")
    assert document == {
        "contactUID": placed.contact_uid,
        "ownerId": "acme",
        "AgentID": "reception",
        "phone": "+919876543210",
        "originalPhone": "+91 98765 43210",
        "phoneLast10": "9876543210",
        "callDirection": "outbound",
        "status": "dialing",
        "campaignId": "spring",
        "dynamicVariables": {"name": "Daivik"},
        "callStartedAt": NOON,
        "createdAt": NOON,
    }
    assert world.dispatcher.jobs == {
        room: JobMetadata(
            call_type=CallDirection.OUTBOUND,
            agent_id="reception",
            contact_uid=placed.contact_uid,
            phone="+919876543210",
            dynamic_values={"name": "Daivik"},
            campaign_id="spring",
        )
    }
    assert "9876543210" not in room
    assert await world.calls.status("acme", placed.contact_uid) == placed


async def test_the_workers_own_record_agrees_with_ours(world: World) -> None:
    await world.calls.place("acme", REQUEST)
    before = dict(world.document())
    (job,) = world.dispatcher.jobs.values()
    stored = OutboundCalls._contact(world.calls, "acme", REQUEST, str(job.phone))
    await world.records.open(stored.model_copy(update={"contact_uid": job.contact_uid}))
    document = dict(world.document())
    assert document.pop("toldEvents") == ["call.started"]
    assert [event["type"] for event in document.pop("outbox")] == ["call.started"]
    assert document == before


async def test_a_national_number_is_read_in_the_owners_region(world: World) -> None:
    national = REQUEST.model_copy(update={"phone": "098765 43210"})
    with pytest.raises(InvalidInputError) as refused:
        await world.calls.place("acme", national)
    assert [problem.field for problem in refused.value.problems] == ["phone"]

    owners = world.owned.of("acme", Resource.OWNERS)
    await owners.insert({"ownerId": "acme", "defaultRegion": "IN"})
    assert (await world.calls.place("acme", national)).phone == "+919876543210"


@pytest.mark.parametrize("agent", ["theirs", "nobody"])
async def test_another_owners_agent_is_answered_like_none(world: World, agent: str) -> None:
    request = REQUEST.model_copy(update={"agent_id": agent, "dynamic_variables": {"{{": "x"}})
    with pytest.raises(InvalidInputError) as refused:
        await world.calls.place("acme", request)
    fields = [(problem.field, problem.message) for problem in refused.value.problems]
    assert fields == [
        ("dynamicVariables.{{", "cannot be used as a name in a template"),
        ("agentId", "no such agent"),
    ]
    assert world.owned.documents[Resource.CONTACTS] == []
    assert world.dispatcher.jobs == {}


async def test_a_job_that_cannot_be_started_leaves_a_failed_call(world: World) -> None:
    world.dispatcher.faults.error = MediaServerError("away")
    with pytest.raises(MediaServerError) as failed:
        await world.calls.place("acme", REQUEST)
    assert failed.value.retryable
    document = world.document()
    assert document["status"] == "failed"
    # If the job was started all the same, its worker does not dial.
    assert await world.records.withdrawn(document["contactUID"])


async def test_a_job_that_may_have_been_started_loses_its_room(world: World) -> None:
    class Unsure(FakeDispatcher):
        @override
        async def dispatch(self, room: str, metadata: JobMetadata) -> None:
            await super().dispatch(room, metadata)
            raise MediaServerError("no answer in time")

    world.dispatcher = world.calls._dispatcher = Unsure()
    with pytest.raises(MediaServerError):
        await world.calls.place("acme", REQUEST)
    assert world.dispatcher.cancelled == [world.document()["room"]]


async def test_the_cause_is_told_when_the_store_fails_as_well(world: World) -> None:
    world.dispatcher.faults.error = MediaServerError("away")
    world.records.faults.error = ContactStoreError("away too")
    with pytest.raises(MediaServerError):
        await world.calls.place("acme", REQUEST)
    assert world.document()["status"] == "dialing"


async def test_a_call_nobody_took_ends_at_once(world: World) -> None:
    placed = await world.calls.place("acme", REQUEST)
    ended = await world.calls.hang_up("acme", placed.contact_uid)
    assert ended.status == "abandoned"
    assert ended.hangup_requested_at == ended.call_ended_at == NOON
    assert world.dispatcher.cancelled == [world.document()["room"]]
    assert await world.records.withdrawn(placed.contact_uid)
    assert world.document()["campaignId"] == "spring"

    world.clock.advance(5)
    assert await world.calls.hang_up("acme", placed.contact_uid) == ended
    assert len(world.dispatcher.cancelled) == 1


@pytest.mark.parametrize("status", [ContactStatus.DIALING, ContactStatus.IN_PROGRESS])
async def test_a_call_that_an_agent_took_is_closed_by_its_worker(
    world: World, status: ContactStatus
) -> None:
    placed = await world.calls.place("acme", REQUEST)
    await world.records.mark(placed.contact_uid, status)
    world.dispatcher.taken.add(world.document()["room"])
    view = await world.calls.hang_up("acme", placed.contact_uid)
    assert view.status == status
    assert view.hangup_requested_at == NOON
    assert view.call_ended_at is None

    world.clock.advance(5)
    again = await world.calls.hang_up("acme", placed.contact_uid)
    assert again.hangup_requested_at == NOON
    assert len(world.dispatcher.cancelled) == 2


async def test_a_hang_up_that_failed_can_be_asked_for_again(world: World) -> None:
    placed = await world.calls.place("acme", REQUEST)
    world.dispatcher.faults.error = MediaServerError("away")
    with pytest.raises(MediaServerError):
        await world.calls.hang_up("acme", placed.contact_uid)
    assert world.document()["hangupRequestedAt"] == NOON
    world.dispatcher.faults.error = None
    assert (await world.calls.hang_up("acme", placed.contact_uid)).status == "abandoned"


async def test_a_call_that_ended_by_itself_cannot_be_hung_up(world: World) -> None:
    placed = await world.calls.place("acme", REQUEST)
    await world.records.mark(placed.contact_uid, ContactStatus.BUSY)
    with pytest.raises(ConflictError):
        await world.calls.hang_up("acme", placed.contact_uid)
    assert world.dispatcher.cancelled == []


async def test_a_call_that_ends_meanwhile_is_told_as_it_ended(world: World) -> None:
    placed = await world.calls.place("acme", REQUEST)

    class EndsAtTheSecondLook(InMemoryOwnedStore):
        """Between the first look at the call and the mark."""

        looks = 0

        @override
        def of(self, owner_id: str, resource: Resource) -> OwnedDocuments:
            self.looks += 1
            if self.looks == 2:
                world.document()["status"] = "completed"
            return world.owned.of(owner_id, resource)

    world.calls._owned = EndsAtTheSecondLook()
    view = await world.calls.hang_up("acme", placed.contact_uid)
    assert view.status == "completed"
    assert world.dispatcher.cancelled == []


async def test_a_call_that_waits_for_its_turn_has_no_room_to_close(world: World) -> None:
    contacts = world.owned.of("acme", Resource.CONTACTS)
    await contacts.insert({"contactUID": "c", "callDirection": "outbound", "status": "queued"})
    view = await world.calls.hang_up("acme", "c")
    assert (view.status, view.created_at) == ("queued", None)
    assert await world.records.withdrawn("c")
    assert world.dispatcher.cancelled == []


async def test_other_owners_and_other_directions_are_not_found(world: World) -> None:
    placed = await world.calls.place("acme", REQUEST)
    contacts = world.owned.of("acme", Resource.CONTACTS)
    await contacts.insert({"contactUID": "in", "callDirection": "inbound", "status": "in_progress"})
    for owner, uid in [("other", placed.contact_uid), ("acme", "in"), ("acme", "none")]:
        with pytest.raises(NotFoundError):
            await world.calls.status(owner, uid)
        with pytest.raises(NotFoundError):
            await world.calls.hang_up(owner, uid)
    assert world.dispatcher.cancelled == []


def test_variables_are_bounded() -> None:
    many = {f"v{number}": "x" * 1000 for number in range(MAX_VARIABLES_BYTES // 1000 + 1)}
    for variables in [many, {"x": "y" * 2001}, {"": "x"}, {f"v{n}": "" for n in range(51)}]:
        with pytest.raises(ValidationError):
            CallRequest(agent_id="a", phone="1", dynamic_variables=variables)
    with pytest.raises(ValidationError):
        CallRequest.model_validate({"agentId": "a", "phone": "1", "agentConfig": {}})
