"""A PostgreSQL server that hangs, refuses or is away: an error in time, and no connection lost."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from src.adapters.migrate import migrate
from src.adapters.postgres import Postgres
from src.adapters.postgres_memory import PostgresMemoryStore
from src.schemas.errors import MemoryStoreError
from src.schemas.memory import MemorySettings
from src.services.memory_ports import ConversationArchive
from tests.contract.conversations import PERSON, ago, happened, said
from tests.contract.databases import PostgresServer, postgres_server
from tests.fakes.clock import NOON, FakeClock

pytestmark = pytest.mark.integration

DEADLINE_S = 0.3
Operation = Callable[[ConversationArchive], Awaitable[object]]
OPERATIONS: dict[str, Operation] = {
    "save": lambda a: a.save_conversation(PERSON, "s1", [said("b")], [happened("f")]),
    "load": lambda a: a.load_conversation("s1"),
    "load_events": lambda a: a.load_events("s1"),
    "sessions_of": lambda a: a.sessions_of(PERSON),
    "settings": lambda a: a.settings(PERSON),
    "put_settings": lambda a: a.put_settings(PERSON, MemorySettings()),
    "preferences": lambda a: a.preferences(PERSON),
    "put_preferences": lambda a: a.put_preferences(PERSON, {"language": "ar"}),
    "unsummarised": lambda a: a.unsummarised(idle_since=NOON, limit=1),
    "put_summary": lambda a: a.put_summary("s1", "text", through=1),
    "past_sessions": lambda a: a.past_sessions(PERSON, limit=1),
    "delete_session": lambda a: a.delete_session("s1"),
    "delete_today": lambda a: a.delete_today(PERSON, since=ago(hours=12)),
    "delete_all": lambda a: a.delete_all(PERSON),
    "export": lambda a: a.export(PERSON),
    "purge": lambda a: a.purge(now=NOON),
}


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as running:
        yield running


@pytest.fixture(scope="module")
def url(server: PostgresServer) -> str:
    url = server.url(server.create_database())
    migrate(url)
    return url


@pytest.fixture
async def postgres(url: str) -> AsyncIterator[Postgres]:
    postgres = Postgres(url=url, pool_size=2)
    yield postgres
    await postgres.aclose()


@pytest.fixture
def archive(postgres: Postgres) -> PostgresMemoryStore:
    """For what must fail."""
    return PostgresMemoryStore(postgres=postgres, clock=FakeClock(), deadline_s=DEADLINE_S)


@pytest.fixture
def patient(postgres: Postgres) -> PostgresMemoryStore:
    """For what must succeed, on a slow test machine too."""
    return PostgresMemoryStore(postgres=postgres, clock=FakeClock(), deadline_s=30)


@contextmanager
def hung(server: PostgresServer) -> Iterator[None]:
    """The server and what it started for its connections stand still."""
    pid = server.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    processes = [pid, *map(int, children)]
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
async def test_every_operation_gives_up_on_a_hung_server_in_time(
    server: PostgresServer,
    archive: PostgresMemoryStore,
    patient: PostgresMemoryStore,
    operation: Operation,
) -> None:
    await patient.save_conversation(PERSON, "warm", [said("a")])
    with hung(server):
        for _ in range(3):  # more often than there are connections
            with pytest.raises(MemoryStoreError):
                await within(operation(archive))
    await until_back(patient)


async def test_a_lock_that_is_not_let_go_ends_in_an_error_in_time(
    archive: PostgresMemoryStore, patient: PostgresMemoryStore, url: str
) -> None:
    await patient.save_conversation(PERSON, "s1", [said("a", at=ago(days=60))])
    with psycopg.connect(url) as other:
        other.execute("SELECT FROM conversations FOR UPDATE")
        for name in ("save", "put_summary", "delete_session", "delete_all"):
            with pytest.raises(MemoryStoreError):
                await within(OPERATIONS[name](archive))
        # A purge leaves out what others are at work on.
        assert await patient.purge(now=NOON) == 0
        assert len(await patient.load_conversation("s1")) == 1
    assert await patient.purge(now=NOON) == 1


async def test_an_operation_that_was_given_up_leaves_nothing_behind(
    archive: PostgresMemoryStore, patient: PostgresMemoryStore, url: str
) -> None:
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE conversation_entries")
        with pytest.raises(MemoryStoreError):
            await within(archive.save_conversation(PERSON, "half", [said("a")]))
    assert "half" not in await patient.sessions_of(PERSON)
    assert await patient.save_conversation(PERSON, "half", [said("a")]) == 1


async def test_waiting_for_a_connection_is_within_the_deadline(
    archive: PostgresMemoryStore, patient: PostgresMemoryStore, postgres: Postgres
) -> None:
    async with postgres.transaction(deadline_s=30), postgres.transaction(deadline_s=30):
        with pytest.raises(MemoryStoreError):
            await within(archive.settings(PERSON))
    await patient.settings(PERSON)


async def test_a_cancelled_operation_gives_its_connection_back(
    patient: PostgresMemoryStore, postgres: Postgres
) -> None:
    for _ in range(5):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02), postgres.transaction(deadline_s=30) as connection:
                await connection.execute("SELECT pg_sleep(20)")
    await patient.settings(PERSON)


async def test_connections_that_the_server_cut_are_replaced(
    patient: PostgresMemoryStore, url: str
) -> None:
    await patient.settings(PERSON)
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    await until_back(patient)


@pytest.mark.parametrize("where", ["folder", "port"])
async def test_a_server_that_is_away_is_an_error(where: str, tmp_path: Path) -> None:
    at = {"folder": f"/x?host={tmp_path}&sslmode=disable", "port": "127.0.0.1:9/x?sslmode=disable"}
    postgres = Postgres(url=f"postgresql://postgres:none@{at[where]}")
    with pytest.raises(MemoryStoreError):
        await within(postgres.ping())
    await postgres.aclose()


async def test_a_database_without_its_tables_is_an_error_that_quotes_nobody(
    server: PostgresServer,
) -> None:
    postgres = Postgres(url=server.url(server.create_database()))
    archive = PostgresMemoryStore(postgres=postgres, clock=FakeClock(), deadline_s=30)
    with pytest.raises(MemoryStoreError) as error:
        await archive.save_conversation(PERSON, "s1", [said("secret words")])
    assert str(error.value) == "memory store: UndefinedTableError"
    await postgres.aclose()


async def test_a_value_that_no_column_holds_is_an_error(patient: PostgresMemoryStore) -> None:
    with pytest.raises(MemoryStoreError):
        await patient.save_conversation(PERSON, "s9", [said("a", sequence=2**70)])
    assert await patient.load_conversation("s9") == []


async def test_closing_does_not_wait_for_a_hung_server(
    server: PostgresServer, patient: PostgresMemoryStore, postgres: Postgres
) -> None:
    await patient.settings(PERSON)
    with hung(server):
        await within(postgres.aclose())


async def within(operation: Awaitable[object]) -> object:
    """The operation, in much more than its deadline: a slow test machine is not what is tested."""
    async with asyncio.timeout(20):
        return await operation


async def until_back(archive: PostgresMemoryStore) -> None:
    async with asyncio.timeout(20):
        while True:
            try:
                await archive.settings(PERSON)
            except MemoryStoreError:
                continue
            return
