"""The PostgreSQL connections, their limits, and the translation of their errors.

This is the only module that knows asyncpg. It has no type information, so `Connection` says what of
it the other `postgres_*` modules use.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Protocol

import asyncpg  # type: ignore[import-untyped]  # it ships none

from src.logs import get_logger
from src.schemas.errors import MemoryStoreError

logger = get_logger(__name__)

DEADLINE_S = 2.0
"""What an operation may take, the wait for a connection included."""
CLOSE_S = 2.0

Row = Mapping[str, Any]


class Connection(Protocol):
    """A connection within a transaction. `jsonb` is text here, in both directions."""

    async def execute(self, query: str, *args: object) -> str:
        """Run a statement; the command's tag, such as `DELETE 3`."""

    async def executemany(self, command: str, args: list[tuple[object, ...]]) -> None:
        """Run a statement once per tuple."""

    async def fetch(self, query: str, *args: object) -> list[Row]:
        """All rows."""

    async def fetchrow(self, query: str, *args: object) -> Row | None:
        """The first row."""

    async def fetchval(self, query: str, *args: object) -> Any:  # noqa: ANN401
        """The first column of the first row, or None."""


class Postgres:
    """The product's database. Constructing it does no I/O; the first operation connects.

    It belongs to the event loop it is first used in. Opening a connection looks for certificates and
    a password file on disk, unless the URL has both a password and `sslmode=disable`.
    """

    def __init__(self, *, url: str, pool_size: int = 8) -> None:
        """`url` as `postgresql://user@host:5432/database`; `pool_size` connections at most."""
        self._url = url
        self._pool_size = pool_size
        self._pool: Any = None

    @asynccontextmanager
    async def transaction(self, *, deadline_s: float = DEADLINE_S) -> AsyncIterator[Connection]:
        """A transaction, committed on leaving; nothing of it stays if anything fails.

        Raises:
            MemoryStoreError: the server failed, or `deadline_s` passed before all was done.
        """
        with store_errors():
            async with asyncio.timeout(deadline_s):
                pool = await self._opened()
                connection = await pool.acquire()
                try:
                    # The server gives up as well: else it would wait on, for a lock, for nobody.
                    limit = f"SET LOCAL statement_timeout = {max(1, round(deadline_s * 1000))}"
                    await connection.execute(f"BEGIN; {limit}")
                    yield connection
                    await connection.execute("COMMIT")
                except BaseException:
                    # Never asked to roll back: a server that hangs would not answer to that either.
                    connection.terminate()
                    raise
                finally:
                    await pool.release(connection)

    async def ping(self, *, deadline_s: float = DEADLINE_S) -> None:
        """Return once the server answers.

        Raises:
            MemoryStoreError: it does not.
        """
        async with self.transaction(deadline_s=deadline_s) as connection:
            await connection.execute("SELECT 1")

    async def aclose(self) -> None:
        """Close every connection, without waiting long for those at work or a server that hangs."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        try:
            with store_errors():
                async with asyncio.timeout(CLOSE_S):
                    await pool.close()
        except MemoryStoreError as error:
            logger.warning("database connections were cut", extra={"reason": str(error)})

    async def _opened(self) -> Any:  # noqa: ANN401 - asyncpg's pool, untyped
        if self._pool is None:
            # With no connection to open at first this does not wait, so that no two are made.
            self._pool = await asyncpg.create_pool(
                self._url, min_size=0, max_size=self._pool_size, reset=_leave_as_it_is
            )
        return self._pool


async def _leave_as_it_is(_connection: object) -> None:
    """A transaction changes nothing of its connection; asyncpg's own reset costs a round trip."""


@contextmanager
def store_errors() -> Iterator[None]:
    """Turn what the driver raises into `MemoryStoreError`.

    The message names the kind of failure only: the driver's own may quote what was said.
    """
    try:
        yield
    except (
        asyncpg.PostgresError,
        asyncpg.InterfaceError,
        asyncpg.InternalClientError,
        OSError,  # among them TimeoutError
        OverflowError,
        RecursionError,
    ) as error:
        raise MemoryStoreError(f"memory store: {type(error).__name__}") from error
