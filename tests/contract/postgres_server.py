"""The database of the product for contract tests: one server and one migrated database per run."""

from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest
from psycopg import sql

from src.adapters.migrate import migrate
from src.adapters.postgres import Postgres
from tests.contract.databases import PostgresServer, postgres_server

_FILLED = (
    "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version'"
)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def migrated_url(postgresql: PostgresServer) -> str:
    url = postgresql.url(postgresql.create_database())
    migrate(url)
    return url


@pytest.fixture
def empty_url(migrated_url: str) -> str:
    """The migrated database with nothing in it."""
    with psycopg.connect(migrated_url, autocommit=True) as connection:
        tables = [sql.Identifier(name) for (name,) in connection.execute(_FILLED)]
        connection.execute(sql.SQL("TRUNCATE {} CASCADE").format(sql.SQL(", ").join(tables)))
    return migrated_url


@pytest.fixture
async def postgres(empty_url: str) -> AsyncIterator[Postgres]:
    postgres = Postgres(url=empty_url)
    yield postgres
    await postgres.aclose()
