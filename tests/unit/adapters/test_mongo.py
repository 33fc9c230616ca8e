"""What the driver raises, as the rest of the product sees it."""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing

import pytest
from bson.errors import InvalidDocument
from pymongo.errors import PyMongoError, ServerSelectionTimeoutError

from src.adapters.mongo import Mongo, MongoTimeouts, store_errors
from src.adapters.mongo_agents import MongoAgents
from src.adapters.mongo_call_records import MongoCallRecords
from src.adapters.mongo_catalogue import MongoCatalogue
from src.adapters.mongo_contact_history import MongoContactHistory
from src.adapters.mongo_follow_ups import MongoFollowUps
from src.adapters.mongo_open_calls import MongoOpenCalls
from src.schemas.contact import ContactStatus
from src.schemas.errors import ContactStoreError
from tests.contract.documents import call_end, new_contact, query
from tests.fakes.clock import NOON, FakeClock


@pytest.fixture
def nobody_there() -> Iterator[Mongo]:
    """Building it connects to nothing, or this would fail."""
    mongo = Mongo(
        uri="mongodb://127.0.0.1:1",
        database="familiar",
        timeouts=MongoTimeouts(server_selection_ms=20),
    )
    yield mongo
    mongo.close()


async def test_every_operation_says_that_the_store_failed(nobody_there: Mongo) -> None:
    mongo, clock = nobody_there, FakeClock()
    records = MongoCallRecords(mongo=mongo, clock=clock)
    history, agents = MongoContactHistory(mongo), MongoAgents(mongo)
    catalogue = MongoCatalogue(mongo=mongo, clock=clock)

    async def conversations() -> None:
        async with aclosing(history.conversations(query("a", "b"))) as found:
            await anext(found)

    async def variables() -> None:
        async with aclosing(history.variables(query())) as found:
            await anext(found)

    outcomes = await asyncio.gather(
        mongo.ping(),
        records.open(new_contact()),
        records.mark("a", ContactStatus.RINGING),
        records.close(new_contact(), call_end()),
        conversations(),
        variables(),
        agents.by_id("a"),
        agents.by_number("+15105550100"),
        MongoFollowUps(mongo).begin_analysis("a"),
        MongoOpenCalls(mongo).started(before=NOON, limit=1),
        catalogue.prepare(),
        catalogue.put_agents([{"agentId": "a"}]),
        catalogue.backfill(),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes] == [ContactStoreError] * 13
    assert {str(outcome) for outcome in outcomes} == {"contact store: ServerSelectionTimeoutError"}


@pytest.mark.parametrize(
    "raised",
    [ServerSelectionTimeoutError("secret"), PyMongoError("secret"), InvalidDocument("secret")],
)
def test_the_cause_is_kept_and_its_words_are_not_repeated(raised: Exception) -> None:
    with pytest.raises(ContactStoreError) as seen, store_errors():
        raise raised
    assert seen.value.__cause__ is raised
    assert seen.value.retryable
    assert "secret" not in str(seen.value)


def test_other_errors_pass() -> None:
    with pytest.raises(ZeroDivisionError), store_errors():
        raise ZeroDivisionError
