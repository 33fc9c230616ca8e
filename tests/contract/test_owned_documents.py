"""Documents of one owner: what every implementation keeps apart, and how lists go on."""

from datetime import UTC, datetime, timedelta

import pytest

from src.adapters.mongo import Mongo
from src.adapters.mongo_catalogue import MongoCatalogue
from src.adapters.mongo_owned import MongoOwnedStore
from src.services.owned import OwnedStore, Position, Resource
from tests.fakes.clock import FakeClock
from tests.fakes.owned import InMemoryOwnedStore

pytestmark = pytest.mark.integration

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def in_memory() -> OwnedStore:
    return InMemoryOwnedStore()


@pytest.fixture
async def in_mongodb(mongo: Mongo) -> OwnedStore:
    assert await MongoCatalogue(mongo=mongo, clock=FakeClock()).prepare() == []
    return MongoOwnedStore(mongo)


@pytest.fixture(params=["in_memory", "in_mongodb"])
def owned(request: pytest.FixtureRequest) -> OwnedStore:
    found: OwnedStore = request.getfixturevalue(request.param)
    return found


async def test_another_owners_document_can_be_neither_seen_nor_changed(owned: OwnedStore) -> None:
    ours, theirs = owned.of("acme", Resource.AGENTS), owned.of("other", Resource.AGENTS)
    assert await theirs.insert({"agentId": "a", "name": "Theirs", "createdAt": NOON, "version": 1})
    assert await ours.get("a") is None
    assert await ours.page() == []
    assert await ours.existing(["a"]) == frozenset()
    assert not await ours.insert({"agentId": "a", "createdAt": NOON})
    assert not await ours.replace("a", {"name": "Ours"})
    assert not await ours.update("a", {"name": "Ours"})
    assert not await ours.delete("a")
    assert await theirs.get("a") == {
        "agentId": "a",
        "name": "Theirs",
        "createdAt": NOON,
        "version": 1,
        "ownerId": "other",
    }


async def test_a_condition_cannot_name_another_owner(owned: OwnedStore) -> None:
    ours, theirs = owned.of("acme", Resource.AGENTS), owned.of("other", Resource.AGENTS)
    await theirs.insert({"agentId": "a", "createdAt": NOON})
    assert await ours.page(where={"ownerId": "other"}) == []
    assert not await ours.update("a", {"name": "x"}, where={"ownerId": "other"})


async def test_a_document_cannot_change_hands(owned: OwnedStore) -> None:
    ours = owned.of("acme", Resource.AGENTS)
    await ours.insert({"agentId": "a", "createdAt": NOON, "ownerId": "other"})
    await ours.replace("a", {"agentId": "b", "createdAt": NOON, "ownerId": "other"})
    await ours.update("a", {"ownerId": "other"})
    assert await ours.get("a") == {"agentId": "a", "createdAt": NOON, "ownerId": "acme"}


async def test_an_owner_without_a_name_owns_nothing(owned: OwnedStore) -> None:
    with pytest.raises(ValueError, match="owner"):
        owned.of("", Resource.AGENTS)


async def test_a_replacement_takes_the_version_that_was_read(owned: OwnedStore) -> None:
    agents = owned.of("acme", Resource.AGENTS)
    await agents.insert({"agentId": "a", "createdAt": NOON, "version": 1})
    assert not await agents.replace("a", {"createdAt": NOON, "version": 3}, version=2)
    assert await agents.replace("a", {"createdAt": NOON, "version": 2}, version=1)
    assert not await agents.replace("a", {"createdAt": NOON, "version": 2}, version=1)
    assert not await agents.replace("b", {"createdAt": NOON})


async def test_an_update_holds_to_its_condition(owned: OwnedStore) -> None:
    agents = owned.of("acme", Resource.AGENTS)
    await agents.insert({"agentId": "a", "createdAt": NOON, "state": "new"})
    assert not await agents.update("a", {"state": "old"}, where={"state": "other"})
    assert await agents.update("a", {"state": "old"}, where={"state": {"$in": ["new", "other"]}})
    assert (await agents.get("a") or {})["state"] == "old"
    assert await agents.delete("a")
    assert not await agents.delete("a")


async def test_pages_follow_one_another_without_gap_or_repetition(owned: OwnedStore) -> None:
    contacts = owned.of("acme", Resource.CONTACTS)
    for number in range(7):
        at = NOON + timedelta(minutes=number // 2)  # several of one time
        await contacts.insert({"contactUID": f"c{number}", "callStartedAt": at, "status": "done"})
    await contacts.insert({"contactUID": "undated", "callStartedAt": None})
    seen: list[str] = []
    after: Position | None = None
    while page := await contacts.page(after=after, limit=2, fields=["contactUID"]):
        seen += [one["contactUID"] for one in page]
        after = Position(page[-1]["callStartedAt"], page[-1]["contactUID"])
        assert set(page[0]) == {"contactUID", "callStartedAt"}
    assert seen == ["c6", "c5", "c4", "c3", "c2", "c1", "c0"]


async def test_lists_are_filtered(owned: OwnedStore) -> None:
    contacts = owned.of("acme", Resource.CONTACTS)
    for number in range(4):
        at = NOON + timedelta(days=number)
        await contacts.insert(
            {"contactUID": f"c{number}", "callStartedAt": at, "AgentID": "ab"[number % 2]}
        )
    between = {"callStartedAt": {"$gte": NOON, "$lt": NOON + timedelta(days=3)}}
    found = await contacts.page(where={"AgentID": "a", **between})
    assert [one["contactUID"] for one in found] == ["c2", "c0"]
    assert await contacts.existing(["c0", "c0", "nobody"]) == {"c0"}
