"""Indexes, older documents, and the queries that must find their index."""

from collections.abc import Iterator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import pytest
from pymongo.monitoring import (
    CommandFailedEvent,
    CommandListener,
    CommandStartedEvent,
    CommandSucceededEvent,
)
from typing_extensions import override

from src.adapters.mongo import Mongo
from src.adapters.mongo_call_records import MongoCallRecords
from src.adapters.mongo_catalogue import MongoCatalogue
from src.adapters.mongo_contact_history import MongoContactHistory
from src.adapters.mongo_follow_ups import MongoFollowUps
from src.adapters.mongo_open_calls import MongoOpenCalls
from src.adapters.mongo_owned import MongoOwnedStore
from src.schemas.contact import ContactStatus
from src.schemas.follow_up import FollowUp
from src.schemas.seed import NumberBinding, PastContact
from src.services.owned import Resource
from tests.contract.documents import (
    NOON,
    PHONE,
    ago,
    analysed,
    call_end,
    new_contact,
    past_call,
    query,
)
from tests.fakes.clock import FakeClock

pytestmark = pytest.mark.integration


class Commands(CommandListener):
    """Keeps what is sent to the server."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    @override
    def started(self, event: CommandStartedEvent) -> None:
        self.sent.append(dict(event.command))

    @override
    def succeeded(self, event: CommandSucceededEvent) -> None:
        pass

    @override
    def failed(self, event: CommandFailedEvent) -> None:
        pass


@pytest.fixture
def catalogue(mongo: Mongo) -> MongoCatalogue:
    return MongoCatalogue(mongo=mongo, clock=FakeClock())


@pytest.fixture
def commands() -> Commands:
    return Commands()


@pytest.fixture
def watched(mongodb_uri: str, mongo: Mongo, commands: Commands) -> Iterator[Mongo]:
    """The same database, with a look at the wire."""
    name = mongo.contacts.database.name
    watched = Mongo(uri=mongodb_uri, database=name, options={"event_listeners": [commands]})
    yield watched
    watched.close()


async def stored(mongo: Mongo, uid: str) -> dict[str, Any]:
    document: dict[str, Any] | None = await mongo.contacts.find_one({"contactUID": uid}, {"_id": 0})
    assert document is not None
    return document


async def test_preparing_again_changes_nothing(mongo: Mongo, catalogue: MongoCatalogue) -> None:
    assert await catalogue.prepare() == []
    before = await mongo.contacts.index_information()
    assert await catalogue.prepare() == []
    assert await mongo.contacts.index_information() == before
    assert before["history"]["key"] == [
        ("ownerId", 1),
        ("phoneLast10", 1),
        ("callStartedAt", -1),
        ("AgentID", 1),
    ]


async def test_duplicates_of_older_programs_are_reported_and_served(
    mongo: Mongo, catalogue: MongoCatalogue
) -> None:
    await mongo.contacts.insert_many([past_call("twice"), past_call("twice"), past_call("once")])
    (problem,) = await catalogue.prepare()
    assert "contact_uid" in problem
    names = set(await mongo.contacts.index_information())
    assert {"contact_uid_with_duplicates", "history", "pending_analyses"} <= names
    await mongo.contacts.delete_one({"contactUID": "twice"})
    assert await catalogue.prepare() == []


async def test_backfill_gives_older_records_what_lookups_need(
    mongo: Mongo, catalogue: MongoCatalogue
) -> None:
    await catalogue.put_agents([{"agentId": "reception", "ownerId": "acme"}])
    lacking = {"ownerId": ..., "phoneLast10": ...}
    await mongo.contacts.insert_many(
        [
            past_call("a", **lacking, callStartedAt="2026-11-30T10:00:00+05:30"),
            past_call("b", **lacking, phone=None, originalPhone="(415) 555-0123"),
            past_call("c", **lacking, phone=None, originalPhone=None, callStartedAt="soon"),
            past_call("d", ownerId=..., AgentID="unknown", callEndedAt="2026-11-30"),
        ]
    )
    assert await catalogue.backfill() == 4
    found = [await stored(mongo, uid) for uid in "abcd"]
    assert [one.get("ownerId") for one in found] == ["acme", "acme", "acme", None]
    assert [one["phoneLast10"] for one in found] == ["4155550123", "4155550123", None, "4155550123"]
    assert found[0]["callStartedAt"] == datetime(2026, 11, 30, 4, 30, tzinfo=UTC)
    assert (found[2]["callStartedAt"], found[2]["callStartedAtAsReceived"]) == (None, "soon")
    assert found[3]["callEndedAt"] == datetime(2026, 11, 30, tzinfo=UTC)
    assert await catalogue.backfill() == 0


async def test_a_call_that_waits_for_its_summary_waits_for_its_analysis(
    mongo: Mongo, catalogue: MongoCatalogue
) -> None:
    await mongo.contacts.insert_one(past_call("a", summaryStatus="pending"))
    assert await catalogue.backfill() == 1
    assert (await stored(mongo, "a"))["analysisStatus"] == "pending"
    assert await catalogue.backfill() == 0


async def test_backfill_leaves_complete_records_alone(
    mongo: Mongo, catalogue: MongoCatalogue
) -> None:
    document = past_call("a", phoneLast10=None, callStartedAt=None)
    await mongo.contacts.insert_one(dict(document))
    assert await catalogue.backfill() == 0
    assert await stored(mongo, "a") == document


async def test_seeded_documents_are_replaced_and_not_doubled(
    mongo: Mongo, catalogue: MongoCatalogue
) -> None:
    contact = new_contact("past", status=ContactStatus.COMPLETED, call_started_at=ago(days=3))
    for name in ("Clara", "Nora"):
        await catalogue.put_agents([{"agentId": "reception", "ownerId": "acme", "name": name}])
        await catalogue.bind_numbers(
            [NumberBinding(number=PHONE, agentId="reception", owner_id="acme")]
        )
        await catalogue.put_contacts([PastContact(contact=contact, summary=f"{name} spoke.")])
    assert [one["name"] async for one in mongo.agents.find()] == ["Nora"]
    (binding,) = [one async for one in mongo.phone_numbers.find({}, {"_id": 0})]
    assert (binding["number"], binding["agentId"], binding["ownerId"]) == (
        PHONE,
        "reception",
        "acme",
    )
    document = await stored(mongo, "past")
    assert document["conversation_summary"] == "Nora spoke."
    assert (document["callStartedAt"], document["createdAt"]) == (ago(days=3), NOON)
    assert await mongo.contacts.count_documents({}) == 1


async def test_every_query_of_a_call_finds_its_index(
    mongo: Mongo, watched: Mongo, commands: Commands
) -> None:
    """Without it, a lookup reads the whole collection: right answers, seconds late."""
    clock = FakeClock()
    await MongoCatalogue(mongo=watched, clock=clock).prepare()
    commands.sent.clear()
    history, records = MongoContactHistory(watched), MongoCallRecords(mongo=watched, clock=clock)
    follow_ups, open_calls = MongoFollowUps(watched), MongoOpenCalls(watched)
    await records.open(new_contact())
    await records.mark("call-1", ContactStatus.IN_PROGRESS)
    await records.close(new_contact(), call_end())
    for asked in (query(), query(since=ago(days=9)), query("a", "b", exclude_contact_uid="x")):
        async with aclosing(history.conversations(asked)) as found:
            assert [one async for one in found] == []
        async with aclosing(history.variables(asked)) as variables:
            assert [one async for one in variables] == []
    for wanted in FollowUp:
        assert await follow_ups.overdue(wanted, before=NOON, limit=9) == ["call-1"]
    assert await follow_ups.begin_analysis("call-1") is not None
    assert await follow_ups.finish_analysis("call-1", analysed())
    events = await follow_ups.waiting_events("call-1")
    await follow_ups.told("call-1", [event.id for event in events])
    assert await open_calls.started(before=NOON, limit=9) == []
    await open_calls.note_unserved("call-1", NOON)
    await open_calls.note_served("call-1")
    assert await open_calls.next_start("s", NOON) is None

    used = [await index_used(mongo, command) for command in commands.sent]
    # Open, mark, close; lookups with an open and with a short window; what follows the call.
    assert len(used) == 3 + 2 * (3 + 2 + 3) + 2 + 2 + 2 + 2 + 3 + 2 + 1
    by_call = {"contact_uid", "history", "outbound_variables", "session"}
    assert set(used) <= by_call | {"pending_analyses", "outbox", "status"}


async def test_a_reader_that_stops_early_lets_the_server_forget_its_cursor(
    watched: Mongo, commands: Commands
) -> None:
    calls = [past_call(f"c{n}", callStartedAt=ago(minutes=n)) for n in range(120)]
    await watched.contacts.insert_many(calls)
    async with aclosing(MongoContactHistory(watched).conversations(query())) as found:
        assert (await anext(found)).contact_uid == "c0"
    assert "killCursors" in {next(iter(command)) for command in commands.sent}


async def index_used(mongo: Mongo, command: dict[str, Any]) -> str:
    """The index for the filter, or the first stage, of a command; COLLSCAN if there is none."""
    match next(iter(command)):
        case "aggregate":
            condition = command["pipeline"][0]["$match"]
        case "update":
            condition = {"contactUID": command["updates"][0]["q"]["contactUID"]}
        case _:
            condition = command["filter"]
    plan = await mongo.contacts.database.command(
        "explain", {"find": "Contact", "filter": condition}, verbosity="queryPlanner"
    )
    stage: dict[str, Any] = plan["queryPlanner"]["winningPlan"]
    while "inputStage" in stage:
        stage = stage["inputStage"]
    return str(stage.get("indexName", stage["stage"]))


async def test_agents_and_numbers_have_the_dates_that_lists_need(
    catalogue: MongoCatalogue, mongo: Mongo
) -> None:
    await mongo.agents.insert_one({"agentId": "old", "ownerId": "acme"})
    await catalogue.put_agents([{"agentId": "reception", "ownerId": "acme"}])
    binding = NumberBinding(number="+15105550100", agentId="reception", owner_id="acme")
    await catalogue.bind_numbers([binding])
    assert await catalogue.backfill() == 1
    assert await catalogue.backfill() == 0
    owned = MongoOwnedStore(mongo)
    listed = await owned.of("acme", Resource.AGENTS).page()
    assert {(one["agentId"], one["version"]) for one in listed} == {("old", 1), ("reception", 1)}
    assert len(await owned.of("acme", Resource.PHONE_NUMBERS).page()) == 1
