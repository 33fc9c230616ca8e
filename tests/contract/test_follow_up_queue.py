"""Jobs that follow calls, in PostgreSQL."""

from pathlib import Path

import psycopg
import pytest

from src.adapters.postgres import Postgres
from src.adapters.postgres_follow_ups import PostgresFollowUpQueue
from src.schemas.errors import MemoryStoreError
from src.schemas.follow_up import FollowUp

pytestmark = pytest.mark.integration


@pytest.fixture
def queue(postgres: Postgres) -> PostgresFollowUpQueue:
    return PostgresFollowUpQueue(postgres)


async def jobs(postgres: Postgres) -> list[tuple[str, str]]:
    async with postgres.transaction() as connection:
        rows = await connection.fetch(
            "SELECT task_name, args->>'subject_id' AS subject FROM procrastinate_jobs ORDER BY id"
        )
    return [(row["task_name"], row["subject"]) for row in rows]


async def test_jobs_wait_in_their_order(queue: PostgresFollowUpQueue, postgres: Postgres) -> None:
    await queue.enqueue("a", FollowUp.RELAY, FollowUp.ANALYSE)
    assert await jobs(postgres) == [("relay_call_events", "a"), ("analyse_call", "a")]


async def test_only_what_is_missing_is_queued(
    queue: PostgresFollowUpQueue, postgres: Postgres
) -> None:
    await queue.enqueue("a", FollowUp.RELAY)
    await queue.enqueue("b", FollowUp.ANALYSE)
    assert await queue.enqueue_missing(FollowUp.RELAY, ["b", "a", "c"]) == 2
    assert await queue.enqueue_missing(FollowUp.RELAY, ["b", "a", "c"]) == 0
    assert (await jobs(postgres))[2:] == [("relay_call_events", "b"), ("relay_call_events", "c")]


async def test_a_job_that_was_given_up_counts_as_missing(
    queue: PostgresFollowUpQueue, postgres: Postgres, migrated_url: str
) -> None:
    await queue.enqueue("a", FollowUp.RELAY)
    async with await psycopg.AsyncConnection.connect(migrated_url, autocommit=True) as connection:
        await connection.execute("UPDATE procrastinate_jobs SET status = 'failed'")
    assert await queue.enqueue_missing(FollowUp.RELAY, ["a"]) == 1
    assert len(await jobs(postgres)) == 2


async def test_a_queue_that_is_away_says_so(tmp_path: Path) -> None:
    away = Postgres(url=f"postgresql://postgres:none@/x?host={tmp_path}&sslmode=disable")
    queue = PostgresFollowUpQueue(away)
    with pytest.raises(MemoryStoreError):
        await queue.enqueue("a", FollowUp.RELAY)
    with pytest.raises(MemoryStoreError):
        await queue.enqueue_missing(FollowUp.RELAY, ["a"])
    await away.aclose()
