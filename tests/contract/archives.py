"""The archives that one suite runs over."""

import pytest

from src.adapters.postgres import Postgres
from src.adapters.postgres_memory import PostgresMemoryStore
from src.services.in_memory_archive import InMemoryArchive
from src.services.memory_ports import ConversationArchive
from tests.fakes.clock import FakeClock


@pytest.fixture
def archive_clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def in_memory_archive(archive_clock: FakeClock) -> ConversationArchive:
    return InMemoryArchive(clock=archive_clock)


@pytest.fixture
def postgres_archive(postgres: Postgres, archive_clock: FakeClock) -> ConversationArchive:
    # A slow test machine is not what is tested.
    return PostgresMemoryStore(postgres=postgres, clock=archive_clock, deadline_s=30)


@pytest.fixture(params=["in_memory_archive", "postgres_archive"])
def archive(request: pytest.FixtureRequest) -> ConversationArchive:
    found: ConversationArchive = request.getfixturevalue(request.param)
    return found
