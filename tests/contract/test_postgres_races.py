"""Saves and deletions that meet in the database at the worst moment."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import LiteralString

import psycopg
import pytest

from src.adapters.postgres_memory import PostgresMemoryStore
from src.services.memory_ports import ConversationArchive
from tests.contract.conversations import OTHER, PERSON, ago, happened, said

pytestmark = pytest.mark.integration

Operation = Callable[[ConversationArchive], Awaitable[object]]
DELETIONS: dict[str, Operation] = {
    "session": lambda a: a.delete_session("s1"),
    "day": lambda a: a.delete_today(PERSON, since=ago(hours=12)),
    "all": lambda a: a.delete_all(PERSON),
}
WAITING = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


CLOSE = """
CREATE FUNCTION stand_still() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_advisory_xact_lock_shared(42); RETURN new; END';
CREATE TRIGGER gate BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION stand_still();
"""


class Gate:
    """Holds up whoever inserts into a table."""

    def __init__(self, url: str, holder: psycopg.AsyncConnection) -> None:
        self._url = url
        self._holder = holder

    async def waiting(self, number: int) -> None:
        """Return once so many stand still, at this gate or behind each other."""
        async with asyncio.timeout(20):
            async with await psycopg.AsyncConnection.connect(self._url, autocommit=True) as other:
                while True:
                    row = await (await other.execute(WAITING)).fetchone()
                    if row is not None and row[0] >= number:
                        return
                    await asyncio.sleep(0.01)

    async def open(self) -> None:
        """Let them go on."""
        await self._holder.commit()


@asynccontextmanager
async def gate(url: str, table: LiteralString) -> AsyncIterator[Gate]:
    async with await psycopg.AsyncConnection.connect(url) as holder:
        await holder.execute(CLOSE.format(table=table))
        await holder.commit()
        await holder.execute("SELECT pg_advisory_xact_lock(42)")
        try:
            yield Gate(url, holder)
        finally:
            await holder.rollback()
            await holder.execute("DROP FUNCTION stand_still CASCADE")


@pytest.mark.parametrize("delete", DELETIONS.values(), ids=DELETIONS)
@pytest.mark.parametrize("known", [True, False], ids=["known session", "new session"])
async def test_a_deletion_waits_for_the_save_before_it(
    postgres_archive: PostgresMemoryStore, empty_url: str, delete: Operation, known: bool
) -> None:
    archive = postgres_archive
    if known:
        await archive.save_conversation(PERSON, "s1", [said("first")])
    async with gate(empty_url, "conversation_events") as held, asyncio.TaskGroup() as group:
        group.create_task(archive.save_conversation(PERSON, "s1", [said("a")], [happened("e")]))
        await held.waiting(1)
        group.create_task(done(delete(archive)))
        await held.waiting(2)
        await held.open()
    assert await archive.load_conversation("s1") == []
    assert await archive.load_events("s1") == []
    assert await archive.sessions_of(PERSON) == []


@pytest.mark.parametrize("delete", DELETIONS.values(), ids=DELETIONS)
@pytest.mark.parametrize("person", [PERSON, "", OTHER], ids=["same", "unknown", "other"])
async def test_a_save_waits_for_the_deletion_before_it(
    postgres_archive: PostgresMemoryStore, empty_url: str, delete: Operation, person: str
) -> None:
    archive = postgres_archive
    await archive.save_conversation(PERSON, "s1", [said("first")])
    async with gate(empty_url, "memory_deletions") as held, asyncio.TaskGroup() as group:
        group.create_task(done(delete(archive)))
        await held.waiting(1)
        group.create_task(archive.save_conversation(person, "s1", [said("first"), said("a")]))
        await held.waiting(2)
        await held.open()
    assert await archive.load_conversation("s1") == []


async def test_a_summary_waits_for_the_deletion_before_it(
    postgres_archive: PostgresMemoryStore, empty_url: str
) -> None:
    archive = postgres_archive
    await archive.save_conversation(PERSON, "s1", [said("old", at=ago(days=1)), said("new")])
    async with gate(empty_url, "memory_deletions") as held, asyncio.TaskGroup() as group:
        group.create_task(done(archive.delete_today(PERSON, since=ago(hours=12))))
        await held.waiting(1)
        group.create_task(archive.put_summary("s1", "about old and new", through=2))
        await held.waiting(2)
        await held.open()
    assert await archive.past_sessions(PERSON, limit=1) == []


async def test_a_purge_leaves_out_a_session_that_is_being_written(
    postgres_archive: PostgresMemoryStore, empty_url: str
) -> None:
    archive = postgres_archive
    await archive.save_conversation(PERSON, "s1", [said("old", at=ago(days=40))])
    async with gate(empty_url, "conversation_events") as held, asyncio.TaskGroup() as group:
        group.create_task(archive.save_conversation(PERSON, "s1", [said("new")], [happened("e")]))
        await held.waiting(1)
        assert await archive.purge(now=ago()) == 0
        await held.open()
    assert [entry.id for entry in await archive.load_conversation("s1")] == ["old", "new"]
    assert await archive.purge(now=ago()) == 1


async def done(operation: Awaitable[object]) -> None:
    await operation  # as a coroutine, which is what a task takes
