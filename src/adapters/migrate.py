"""Brings the database's schema up to date."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, create_engine, make_url, text
from sqlalchemy.exc import SQLAlchemyError

from src.schemas.errors import MemoryStoreError

MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK = 7_205_759_403
"""Any number, as long as it stays the same and nobody else takes it."""
_WAIT_S = 60
"""For another process that migrates, or for a table in use."""
_CONNECT_S = 10


def migrate(database_url: str, *, revision: str = "head") -> None:
    """Upgrade to `revision`; returns at once where that is done already.

    All or nothing, and safe to run in several processes: one works, the others wait for it and find
    nothing left to do. `database_url` as `postgresql://user@host:5432/database`. Blocks; takes
    seconds on an empty database.

    Raises:
        MemoryStoreError: the database cannot be reached, or refused a revision.
    """
    with _locked(database_url) as connection:
        command.upgrade(_config(connection), revision)


def downgrade(database_url: str, *, revision: str = "base") -> None:
    """Go back to `revision`, "base" being the empty schema. What is in the tables taken away is lost.

    Raises:
        MemoryStoreError: the database cannot be reached, or refused a revision.
    """
    with _locked(database_url) as connection:
        command.downgrade(_config(connection), revision)


@contextmanager
def _locked(database_url: str) -> Iterator[Connection]:
    url = make_url(database_url).set(drivername="postgresql+psycopg")
    engine = create_engine(url, connect_args={"connect_timeout": _CONNECT_S})
    try:
        with engine.begin() as connection:
            connection.execute(text(f"SET LOCAL lock_timeout = '{_WAIT_S}s'"))
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
            yield connection
    except SQLAlchemyError as error:
        raise MemoryStoreError(f"migration: {type(error).__name__}") from error
    finally:
        engine.dispose()


def _config(connection: Connection) -> Config:
    config = Config()
    # A `%` in a path would be taken for a variable.
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
