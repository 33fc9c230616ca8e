"""How long people want to be remembered, read for many at once."""

import pytest

from src.adapters.postgres import Postgres
from src.adapters.postgres_retentions import PostgresRetentions
from src.schemas.errors import MemoryStoreError
from src.schemas.memory import MemorySettings
from src.services.in_memory_archive import InMemoryArchive
from src.services.memory_ports import ConversationArchive
from src.services.retention_ports import Retentions

pytestmark = pytest.mark.integration


@pytest.fixture
def retentions(archive: ConversationArchive, request: pytest.FixtureRequest) -> Retentions:
    if isinstance(archive, InMemoryArchive):
        return archive
    return PostgresRetentions(request.getfixturevalue("postgres"), deadline_s=30)


async def test_those_who_chose_are_told_of(
    archive: ConversationArchive, retentions: Retentions
) -> None:
    for person, days in (("week", 7), ("year", 365), ("month", 30), ("other", 9)):
        await archive.put_settings(person, MemorySettings(retention_days=days))
    await archive.put_settings("week", MemorySettings(retention_days=6))
    asked = {"week", "year", "month", "unknown", "", "we\0ek", "\ud800"}
    found = await retentions.retention_of(asked)
    assert found == {"week": 6, "we\0ek": 6, "year": 365, "month": 30}
    assert await retentions.retention_of(()) == {}


async def test_a_database_that_is_away_is_said_to_be() -> None:
    postgres = Postgres(url="postgresql://nobody:none@127.0.0.1:1/none?sslmode=disable")
    with pytest.raises(MemoryStoreError):
        await PostgresRetentions(postgres).retention_of({"u"})
    await postgres.aclose()
