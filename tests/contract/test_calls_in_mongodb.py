"""What the control plane does with calls and numbers, on a real store."""

import pytest

from src.adapters.mongo import Mongo
from src.adapters.mongo_bound_numbers import MongoBoundNumbers
from src.adapters.mongo_call_records import MongoCallRecords
from src.adapters.mongo_catalogue import MongoCatalogue
from src.adapters.mongo_owned import MongoOwnedStore
from src.schemas.call_records import CallRecordFilter
from src.schemas.call_requests import CallRequest
from src.schemas.contact import ContactStatus
from src.services.call_records_view import CallRecordsView
from src.services.in_memory_archive import InMemoryArchive
from src.services.outbound_calls import OutboundCalls
from src.services.owned import Resource
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.media_server import FakeDispatcher

pytestmark = pytest.mark.integration


class World:
    def __init__(self, mongo: Mongo) -> None:
        self.owned = MongoOwnedStore(mongo)
        self.records = MongoCallRecords(mongo=mongo, clock=FakeClock())
        self.dispatcher = FakeDispatcher()
        self.calls = OutboundCalls(
            owned=self.owned,
            records=self.records,
            dispatcher=self.dispatcher,
            clock=FakeClock(),
        )
        self.view = CallRecordsView(owned=self.owned, archive=InMemoryArchive())

    async def place(self) -> str:
        await self.owned.of("acme", Resource.AGENTS).insert({"agentId": "a", "createdAt": NOON})
        request = CallRequest(agent_id="a", phone="+14155550123", dynamic_variables={"n.x": "$1"})
        return (await self.calls.place("acme", request)).contact_uid


@pytest.fixture
async def world(mongo: Mongo) -> World:
    assert await MongoCatalogue(mongo=mongo, clock=FakeClock()).prepare() == []
    return World(mongo)


async def test_a_call_nobody_took_ends_as_abandoned_and_is_listed_so(world: World) -> None:
    uid = await world.place()
    assert (await world.calls.status("acme", uid)).status == "dialing"
    ended = await world.calls.hang_up("acme", uid)
    assert (ended.status, ended.hangup_requested_at) == ("abandoned", NOON)
    assert await world.calls.hang_up("acme", uid) == ended
    wanted = CallRecordFilter(
        phone="+1 415 555 0123", status=ContactStatus.ABANDONED, since=NOON, agent_id="a"
    )
    (item,) = (await world.view.page("acme", wanted)).items
    assert item.contact_uid == uid
    assert (await world.view.page("other", wanted)).items == []
    assert (await world.view.detail("acme", uid)).dynamic_variables == {"n.x": "$1"}


async def test_the_worker_hears_of_a_hang_up_before_its_room_is_closed(world: World) -> None:
    uid = await world.place()
    (room,) = world.dispatcher.jobs
    world.dispatcher.taken.add(room)
    view = await world.calls.hang_up("acme", uid)
    assert (view.status, view.call_ended_at) == ("dialing", None)
    assert await world.records.withdrawn(uid)


async def test_pages_of_calls_follow_each_other(world: World) -> None:
    placed = {await world.place() for _ in range(5)}
    seen: list[str] = []
    page = await world.view.page("acme", CallRecordFilter(), limit=2)
    while True:
        seen += [item.contact_uid for item in page.items]
        if page.next is None:
            break
        page = await world.view.page("acme", CallRecordFilter(), after=page.next, limit=2)
    assert len(seen) == 5
    assert set(seen) == placed


async def test_the_media_server_is_told_of_every_owners_numbers(world: World, mongo: Mongo) -> None:
    numbers = MongoBoundNumbers(mongo)
    assert await numbers.bound() == []
    for owner, number in [("acme", "+15105550101"), ("other", "+15105550100")]:
        store = world.owned.of(owner, Resource.PHONE_NUMBERS)
        await store.insert({"number": number, "createdAt": NOON})
    assert await numbers.bound() == ["+15105550100", "+15105550101"]
