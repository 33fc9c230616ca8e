"""The database's schema comes into being, and goes, as often as one likes."""

import threading
from pathlib import Path

import psycopg
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from src.adapters.migrate import MIGRATIONS, downgrade, migrate
from src.schemas.errors import MemoryStoreError
from tests.contract.databases import PostgresServer

pytestmark = pytest.mark.integration

MEMORY_TABLES = {
    "conversations",
    "conversation_entries",
    "conversation_events",
    "memory_settings",
    "memory_preferences",
    "memory_deletions",
}


@pytest.fixture
def url(postgresql: PostgresServer) -> str:
    return postgresql.url(postgresql.create_database())


def tables(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        return {name for (name,) in found}


def schema(url: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns"
            " WHERE table_schema = 'public' ORDER BY table_name, column_name"
        ).fetchall()


def test_an_empty_database_gets_every_table(url: str) -> None:
    migrate(url)
    assert tables(url) >= MEMORY_TABLES


def test_a_second_run_changes_nothing(url: str) -> None:
    migrate(url)
    with psycopg.connect(url) as connection:
        connection.execute("INSERT INTO memory_preferences VALUES ('p', 'voice', '1')")
    before = schema(url)
    migrate(url)
    assert schema(url) == before
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT user_id FROM memory_preferences").fetchall() == [("p",)]


def test_several_at_once_leave_what_one_leaves(postgresql: PostgresServer, url: str) -> None:
    failed: list[MemoryStoreError] = []

    def run() -> None:
        try:
            migrate(url)
        except MemoryStoreError as error:
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    alone = postgresql.url(postgresql.create_database())
    migrate(alone)
    assert schema(url) == schema(alone)


def test_down_takes_everything_away_and_up_brings_it_back(url: str) -> None:
    migrate(url)
    before = schema(url)
    downgrade(url)
    assert tables(url) <= {"alembic_version"}
    migrate(url)
    assert schema(url) == before


def test_memory_stays_when_only_later_revisions_are_undone(url: str) -> None:
    migrate(url)
    downgrade(url, revision="0001_memory")
    assert tables(url) == {*MEMORY_TABLES, "alembic_version"}


def test_a_database_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(MemoryStoreError):
        migrate(f"postgresql://postgres:none@/nowhere?host={tmp_path}")


def test_revisions_form_one_line() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    assert len(ScriptDirectory.from_config(config).get_heads()) == 1
