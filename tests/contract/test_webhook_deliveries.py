"""Deliveries of webhooks: each event once per webhook, and never without its job."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from src.adapters.postgres import Postgres
from src.adapters.postgres_webhooks import PostgresDeliveries
from src.schemas.errors import MemoryStoreError
from src.schemas.events import EventType
from src.schemas.webhooks import Delivery, DeliveryError, DeliveryStatus
from src.services.owned import Position
from tests.fakes.clock import NOON
from tests.fakes.webhooks import InMemoryDeliveries

pytestmark = pytest.mark.integration

DEAD = DeliveryStatus.DEAD
MINUTE = timedelta(minutes=1)
Jobs = list[tuple[str, datetime | None]]


@dataclass
class Kept:
    """Both ports over one store, and a look at the queue."""

    store: PostgresDeliveries | InMemoryDeliveries
    jobs: Callable[[], Awaitable[Jobs]]

    async def finish(self, delivery: Delivery, status: DeliveryStatus, at: datetime) -> Delivery:
        done = changed(delivery, status=status, attempts=delivery.attempts + 1, finished_at=at)
        assert await self.store.record(done)
        return done


@pytest.fixture
def in_memory() -> Kept:
    store = InMemoryDeliveries()

    async def jobs() -> Jobs:
        return store.jobs

    return Kept(store, jobs)


@pytest.fixture
def in_postgres(postgres: Postgres) -> Kept:
    async def jobs() -> Jobs:
        async with postgres.transaction() as connection:
            rows = await connection.fetch(
                "SELECT args->>'subject_id' AS subject, scheduled_at, task_name"
                " FROM procrastinate_jobs ORDER BY id"
            )
        assert {row["task_name"] for row in rows} <= {"deliver_webhook"}
        return [(row["subject"], row["scheduled_at"]) for row in rows]

    return Kept(PostgresDeliveries(postgres), jobs)


@pytest.fixture(params=["in_memory", "in_postgres"])
def kept(request: pytest.FixtureRequest) -> Kept:
    found: Kept = request.getfixturevalue(request.param)
    return found


def delivery(name: str, **fields: Any) -> Delivery:
    """Of an event of its own to one webhook, due at noon."""
    return Delivery.model_validate(
        {
            "delivery_id": name,
            "event_id": f"event-{name}",
            "webhook_id": "wh",
            "owner_id": "acme",
            "type": EventType.CALL_ENDED,
            "body": '{"id":"e",  "ü":1}',
            "next_attempt_at": NOON,
            "created_at": NOON,
            **fields,
        }
    )


def changed(one: Delivery, **fields: Any) -> Delivery:
    """After an attempt."""
    return one.model_copy(
        update={"next_attempt_at": None, "last_status": 200, "last_error": None, **fields}
    )


async def test_a_delivery_is_kept_as_it_is_and_enqueued(kept: Kept) -> None:
    assert await kept.store.add([delivery("a"), delivery("b", webhook_id="other")]) == 2
    assert await kept.store.get("a") == delivery("a")
    assert await kept.store.get("nobody") is None
    assert await kept.jobs() == [("a", None), ("b", None)]


async def test_an_event_goes_to_a_webhook_once(kept: Kept) -> None:
    await kept.store.add([delivery("a")])
    again = [delivery("b", event_id="event-a"), delivery("c", event_id="event-a", webhook_id="new")]
    assert await kept.store.add(again) == 1
    assert await kept.store.get("b") is None
    assert await kept.jobs() == [("a", None), ("c", None)]


async def test_a_failed_attempt_is_recorded_with_the_job_of_the_next(kept: Kept) -> None:
    await kept.store.add([delivery("a")])
    failed = changed(
        delivery("a"),
        attempts=1,
        next_attempt_at=NOON + MINUTE,
        last_status=503,
        last_error=DeliveryError.STATUS,
    )
    assert await kept.store.record(failed)
    assert await kept.store.get("a") == failed
    assert await kept.jobs() == [("a", None), ("a", NOON + MINUTE)]


async def test_an_attempt_is_recorded_once(kept: Kept) -> None:
    await kept.store.add([delivery("a")])
    failed = changed(delivery("a"), attempts=1, next_attempt_at=NOON + MINUTE)
    assert await kept.store.record(failed)
    assert not await kept.store.record(failed)
    assert not await kept.store.record(changed(delivery("nobody"), attempts=1))
    await kept.finish(failed, DEAD, NOON)
    assert not await kept.store.record(changed(failed, attempts=3, next_attempt_at=NOON))
    assert len(await kept.jobs()) == 2


async def test_a_finished_delivery_has_no_further_job(kept: Kept) -> None:
    await kept.store.add([delivery("a")])
    done = await kept.finish(delivery("a"), DeliveryStatus.DELIVERED, NOON)
    assert await kept.store.get("a") == done
    assert await kept.jobs() == [("a", None)]


async def test_lost_jobs_are_enqueued_again_the_longest_overdue_first(kept: Kept) -> None:
    for minutes in (3, 2, 1, 0):
        due = NOON - minutes * MINUTE
        await kept.store.add([delivery(f"due-{minutes}", next_attempt_at=due)])
    await kept.finish(delivery("due-3"), DEAD, NOON)
    later = NOON + MINUTE
    assert await kept.store.requeue(before=NOON, at=later, limit=1) == 1
    assert (await kept.jobs())[4:] == [("due-2", None)]
    assert await kept.store.requeue(before=NOON, at=later, limit=5) == 1
    assert await kept.store.requeue(before=NOON, at=later, limit=5) == 0
    assert (await kept.jobs())[4:] == [("due-2", None), ("due-1", None)]
    found = await kept.store.get("due-2")
    assert found is not None
    assert found.next_attempt_at == later


async def test_what_was_finished_long_ago_is_removed(kept: Kept) -> None:
    await kept.store.add([delivery("old"), delivery("dead"), delivery("new"), delivery("pending")])
    await kept.finish(delivery("old"), DeliveryStatus.DELIVERED, NOON - MINUTE)
    await kept.finish(delivery("dead"), DEAD, NOON - MINUTE)
    await kept.finish(delivery("new"), DeliveryStatus.DELIVERED, NOON)
    assert await kept.store.purge(before=NOON) == 2
    assert await kept.store.purge(before=NOON) == 0
    left = await kept.store.page("acme", "wh")
    assert [one.delivery_id for one in left] == ["pending", "new"]


async def test_pages_follow_one_another_newest_first(kept: Kept) -> None:
    for number in range(5):
        await kept.store.add([delivery(f"d{number}", created_at=NOON + number // 2 * MINUTE)])
    await kept.store.add([delivery("x", owner_id="other"), delivery("y", webhook_id="other")])
    seen: list[str] = []
    after: Position | None = None
    while page := await kept.store.page("acme", "wh", after=after, limit=2):
        seen += [one.delivery_id for one in page]
        after = Position(page[-1].created_at, page[-1].delivery_id)
    assert seen == ["d4", "d3", "d2", "d1", "d0"]


async def test_lists_are_filtered_by_status(kept: Kept) -> None:
    await kept.store.add([delivery("a"), delivery("b")])
    await kept.finish(delivery("b"), DEAD, NOON)
    dead = await kept.store.page("acme", "wh", status=DEAD)
    assert [one.delivery_id for one in dead] == ["b"]
    pending = await kept.store.page("acme", "wh", status=DeliveryStatus.PENDING)
    assert [one.delivery_id for one in pending] == ["a"]


async def test_dead_letters_are_replayed_oldest_first(kept: Kept) -> None:
    for name, minutes in (("new", 1), ("old", 0), ("pending", 0), ("done", 0)):
        await kept.store.add([delivery(name, created_at=NOON + minutes * MINUTE)])
    for name in ("new", "old"):
        await kept.finish(delivery(name), DEAD, NOON)
    await kept.finish(delivery("done"), DeliveryStatus.DELIVERED, NOON)
    before = len(await kept.jobs())
    assert await kept.store.replay("acme", "wh", at=NOON + MINUTE, limit=1) == 1
    assert await kept.store.replay("acme", "wh", at=NOON + MINUTE) == 1
    assert await kept.store.replay("acme", "wh", at=NOON + MINUTE) == 0
    assert (await kept.jobs())[before:] == [("old", None), ("new", None)]
    again = await kept.store.get("old")
    assert again is not None
    assert (again.status, again.attempts) == (DeliveryStatus.PENDING, 0)
    assert (again.next_attempt_at, again.finished_at) == (NOON + MINUTE, None)


async def test_one_dead_letter_is_replayed_for_its_owner_alone(kept: Kept) -> None:
    await kept.store.add([delivery("a"), delivery("b")])
    for name in "ab":
        await kept.finish(delivery(name), DEAD, NOON)
    assert await kept.store.replay("other", "wh", at=NOON, delivery_id="a") == 0
    assert await kept.store.replay("acme", "other", at=NOON, delivery_id="a") == 0
    assert await kept.store.replay("acme", "wh", at=NOON, delivery_id="a") == 1
    dead = await kept.store.page("acme", "wh", status=DEAD)
    assert [one.delivery_id for one in dead] == ["b"]


async def test_a_removed_webhooks_deliveries_go_with_it(kept: Kept) -> None:
    await kept.store.add([delivery("a"), delivery("b"), delivery("x", webhook_id="other")])
    assert await kept.store.drop("other", "wh") == 0
    assert await kept.store.drop("acme", "wh") == 2
    assert await kept.store.get("a") is None
    assert await kept.store.get("x") is not None


async def test_neither_delivery_nor_job_stays_of_what_fails(
    in_postgres: Kept, migrated_url: str
) -> None:
    with psycopg.connect(migrated_url, autocommit=True) as connection:
        connection.execute("ALTER TABLE procrastinate_jobs ADD CONSTRAINT away CHECK (false)")
    try:
        with pytest.raises(MemoryStoreError):
            await in_postgres.store.add([delivery("a")])
    finally:
        with psycopg.connect(migrated_url, autocommit=True) as connection:
            connection.execute("ALTER TABLE procrastinate_jobs DROP CONSTRAINT away")
    assert await in_postgres.store.get("a") is None
    assert await in_postgres.jobs() == []
