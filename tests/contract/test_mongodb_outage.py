"""A MongoDB server that accepts connections and does not answer."""

import asyncio
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import aclosing, contextmanager

import pytest

from src.adapters.mongo import Mongo, MongoTimeouts
from src.adapters.mongo_call_records import MongoCallRecords
from src.adapters.mongo_contact_history import MongoContactHistory
from src.schemas.contact import PastConversation
from src.schemas.errors import ContactStoreError
from tests.contract.documents import ago, call_end, new_contact, past_call, query
from tests.contract.servers import mongodb_server, uri_of
from tests.fakes.clock import FakeClock

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[bytes]]:
    with mongodb_server(tmp_path_factory.mktemp("outage")) as process:
        yield process


@pytest.fixture
def impatient(server: subprocess.Popen[bytes]) -> Iterator[Mongo]:
    limits = MongoTimeouts(server_selection_ms=300, connect_ms=300, socket_ms=300)
    mongo = Mongo(uri=uri_of(server), database="outage", timeouts=limits)
    yield mongo
    mongo.close()


@pytest.fixture
def patient(server: subprocess.Popen[bytes]) -> Iterator[Mongo]:
    mongo = Mongo(uri=uri_of(server), database="outage")
    yield mongo
    mongo.close()


@contextmanager
def hung(server: subprocess.Popen[bytes]) -> Iterator[None]:
    server.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.send_signal(signal.SIGCONT)


async def conversations(mongo: Mongo) -> list[PastConversation]:
    async with aclosing(MongoContactHistory(mongo).conversations(query("a", "b"))) as found:
        return [one async for one in found]


async def test_operations_fail_in_time_and_work_again_afterwards(
    server: subprocess.Popen[bytes], impatient: Mongo
) -> None:
    records = MongoCallRecords(mongo=impatient, clock=FakeClock())
    await records.open(new_contact("before"))
    with hung(server):
        async with asyncio.timeout(20):
            with pytest.raises(ContactStoreError):
                await conversations(impatient)
            with pytest.raises(ContactStoreError):
                await records.close(new_contact("during"), call_end())
    await _until_back(impatient)
    await records.close(new_contact("after"), call_end())
    assert await conversations(impatient) == []


async def test_a_deadline_is_kept_whatever_the_server_does(
    server: subprocess.Popen[bytes], patient: Mongo
) -> None:
    await patient.ping()
    with hung(server):
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await conversations(patient)
        assert time.monotonic() - began < 1
    await patient.ping()


async def test_a_reader_that_is_done_does_not_wait_for_a_hung_server(
    server: subprocess.Popen[bytes], patient: Mongo
) -> None:
    calls = [past_call(f"c{n:03}", AgentID="a", callStartedAt=ago(minutes=n)) for n in range(60)]
    await patient.contacts.insert_many(calls)
    async with aclosing(MongoContactHistory(patient).conversations(query("a", "b"))) as found:
        assert (await anext(found)).contact_uid == "c000"
        with hung(server):
            began = time.monotonic()
            await found.aclose()
            assert time.monotonic() - began < 1
    await patient.ping()


async def _until_back(mongo: Mongo) -> None:
    async with asyncio.timeout(20):
        while True:
            try:
                await mongo.ping()
            except ContactStoreError:
                continue
            return
