"""The queue of jobs: done once, done again after failures and deaths, never lost."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from src.adapters.clock import SystemClock
from src.adapters.postgres import Postgres
from src.adapters.postgres_jobs import INGEST_DOCUMENT, enqueue
from src.adapters.task_queue import QueuePolicy, TaskQueue
from src.schemas.errors import EmbeddingError
from src.schemas.knowledge import DocumentStatus
from src.services.ingestion import GIVEN_UP
from tests.contract.knowledge import Library

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
FAST = QueuePolicy(
    attempts=3,
    first_retry_s=0,
    heartbeat_s=0.2,
    stalled_s=1,
    recover_every_s=0.2,
    poll_s=0.2,
    grace_s=5,
    outage_pause_s=0.1,
)
HANGS = """
import asyncio, sys
from src.adapters.clock import SystemClock
from src.adapters.task_queue import QueuePolicy, TaskQueue

async def work(subject_id):
    print("began", subject_id, flush=True)
    await asyncio.Event().wait()

async def main():
    queue = TaskQueue(dsn=sys.argv[1], clock=SystemClock(), policy=QueuePolicy(heartbeat_s=0.2))
    queue.task("ingest_document", work, give_up=work)
    await queue.run(asyncio.Event())

asyncio.run(main())
"""


class Work:
    """Notes what it is asked to do; fails or waits when told to."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.given_up: list[str] = []
        self.failures = 0
        self.began = asyncio.Event()
        self.goes_on = asyncio.Event()
        self.goes_on.set()

    async def do(self, subject_id: str) -> None:
        self.began.set()
        await self.goes_on.wait()
        if self.failures:
            self.failures -= 1
            raise ValueError(f"with something private about {subject_id}")
        self.done.append(subject_id)

    async def give_up(self, subject_id: str) -> None:
        self.given_up.append(subject_id)


@pytest.fixture
def queue(migrated_url: str, postgres: Postgres) -> TaskQueue:  # noqa: ARG001 - emptied
    return TaskQueue(dsn=migrated_url, clock=SystemClock(), policy=FAST)


@asynccontextmanager
async def running(queue: TaskQueue) -> AsyncIterator[None]:
    """Run the queue until the block is left."""
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(queue.run(stop))
        try:
            yield
        finally:
            stop.set()


async def until(condition: Callable[[], bool | Awaitable[bool]]) -> None:
    """Wait, for the time a test may take."""
    async with asyncio.timeout(30):
        while True:
            found = condition()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.02)


def jobs(url: str) -> list[tuple[str, str, dict[str, str]]]:
    """What is in the queue: name, status, payload."""
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT task_name, status::text, args FROM procrastinate_jobs ORDER BY id"
        ).fetchall()


async def in_queue(url: str) -> list[tuple[str, str, dict[str, str]]]:
    return await asyncio.to_thread(jobs, url)


async def put(postgres: Postgres, *subject_ids: str) -> None:
    async with postgres.transaction() as connection:
        for subject_id in subject_ids:
            await enqueue(connection, "work", subject_id)


async def test_a_job_is_done_and_leaves_nothing(
    queue: TaskQueue, postgres: Postgres, migrated_url: str
) -> None:
    work = Work()
    queue.task("work", work.do, give_up=work.give_up)
    await put(postgres, "one", "two")
    async with running(queue):
        await put(postgres, "three")
        await until(lambda: len(work.done) == 3)
    assert sorted(work.done) == ["one", "three", "two"]
    assert await in_queue(migrated_url) == []


async def test_what_is_rolled_back_is_not_done(postgres: Postgres, migrated_url: str) -> None:
    with suppress(ValueError):
        async with postgres.transaction() as connection:
            await enqueue(connection, "work", "one")
            raise ValueError
    assert await in_queue(migrated_url) == []


async def test_a_job_that_fails_is_tried_again_and_then_given_up(
    queue: TaskQueue, postgres: Postgres, caplog: pytest.LogCaptureFixture
) -> None:
    work = Work()
    queue.task("work", work.do, give_up=work.give_up)
    caplog.set_level("DEBUG")
    async with running(queue):
        work.failures = 2
        await put(postgres, "first")
        await until(lambda: work.done == ["first"])
        work.failures = 3
        await put(postgres, "second")
        await until(lambda: work.given_up == ["second"])
    assert work.done == ["first"]
    assert "something private" not in caplog.text


async def test_jobs_of_one_subject_are_done_one_after_the_other(
    queue: TaskQueue, postgres: Postgres
) -> None:
    at_once: list[int] = [0]
    most: list[int] = []

    async def work(_subject_id: str) -> None:
        at_once[0] += 1
        most.append(at_once[0])
        await asyncio.sleep(0.05)
        at_once[0] -= 1

    queue.task("work", work, give_up=work)
    await put(postgres, "same", "same", "same")
    async with running(queue):
        await until(lambda: len(most) == 3)
    assert max(most) == 1


async def test_the_job_at_hand_is_finished_before_the_end(
    queue: TaskQueue, postgres: Postgres
) -> None:
    work = Work()
    work.goes_on.clear()
    queue.task("work", work.do, give_up=work.give_up)
    await put(postgres, "one", "two", "three")
    async with running(queue):
        await work.began.wait()
        asyncio.get_running_loop().call_later(0.3, work.goes_on.set)
    assert 1 <= len(work.done) <= FAST.concurrency


async def test_a_job_that_does_not_end_goes_back_into_the_queue(
    migrated_url: str, postgres: Postgres
) -> None:
    work = Work()
    work.goes_on.clear()
    policy = QueuePolicy(grace_s=0.1, poll_s=0.2)
    queue = TaskQueue(dsn=migrated_url, clock=SystemClock(), policy=policy)
    queue.task("work", work.do, give_up=work.give_up)
    await put(postgres, "one")
    async with running(queue):
        await work.began.wait()
    assert await in_queue(migrated_url) == [("work", "todo", {"subject_id": "one"})]


async def test_the_job_of_a_killed_worker_is_done_by_another(
    queue: TaskQueue, postgres: Postgres, migrated_url: str
) -> None:
    async with postgres.transaction() as connection:
        await enqueue(connection, INGEST_DOCUMENT, "one")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HANGS, migrated_url), cwd=ROOT, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    async with asyncio.timeout(60):
        assert await process.stdout.readline() == b"began one\n"
    process.kill()
    await process.wait()
    work = Work()
    queue.task(INGEST_DOCUMENT, work.do, give_up=work.give_up)
    async with running(queue):
        await until(lambda: work.done == ["one"])
    assert await in_queue(migrated_url) == []


async def test_periodic_work_is_done_when_it_is_due(queue: TaskQueue) -> None:
    done = asyncio.Event()

    async def purge() -> None:
        done.set()

    queue.periodic("purge", cron="* * * * *", work=purge)
    async with running(queue):  # a run that was due within the last ten minutes is caught up with
        async with asyncio.timeout(30):
            await done.wait()


async def test_the_queue_waits_for_a_database_that_is_away(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    away = TaskQueue(
        dsn=f"postgresql://postgres:none@/nowhere?host={tmp_path}",
        clock=SystemClock(),
        policy=QueuePolicy(connect_s=0.2, outage_pause_s=0.05),
    )
    async with running(away):
        await until(lambda: caplog.text.count("job queue is away") >= 2)


async def test_a_document_is_indexed_end_to_end(knowledge_in_postgres: Library) -> None:
    library = knowledge_in_postgres
    assert library.database is not None
    queue = TaskQueue(dsn=library.database, clock=SystemClock(), policy=FAST)
    queue.task(INGEST_DOCUMENT, library.ingestion.ingest, give_up=library.ingestion.give_up)
    library.embedder.failures = 1
    async with running(queue):
        document = await library.add("A refund takes five days.")

        async def ready() -> bool:
            return (await library.now(document)).status is DocumentStatus.READY

        await until(ready)
    assert await library.texts("refund") == ["A refund takes five days."]


async def test_a_document_is_given_up_when_no_attempt_succeeds(
    knowledge_in_postgres: Library,
) -> None:
    library = knowledge_in_postgres
    assert library.database is not None
    queue = TaskQueue(dsn=library.database, clock=SystemClock(), policy=FAST)
    queue.task(INGEST_DOCUMENT, library.ingestion.ingest, give_up=library.ingestion.give_up)
    library.embedder.failures = 1_000
    async with running(queue):
        document = await library.add("A refund takes five days.")

        async def failed() -> bool:
            return (await library.now(document)).reason == GIVEN_UP

        await until(failed)
    with pytest.raises(EmbeddingError):
        await library.embedder.embed(["still"])
