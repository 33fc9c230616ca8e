"""Words of calls go when their person's retention is over, as it is set then."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from typing_extensions import override

from src.schemas.errors import ContactStoreError, MemoryStoreError
from src.schemas.memory import MemorySettings
from src.services.call_retention import CallRetention, CallRetentionPolicy
from src.services.in_memory_archive import InMemoryArchive
from tests.fakes.call_words import InMemoryCallWords
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.contacts import InMemoryContacts

PERSON = "u-1"
DAY = timedelta(days=1)


class Away(InMemoryArchive):
    """Answers nobody."""

    @override
    async def retention_of(self, user_ids: Collection[str]) -> Mapping[str, int]:
        raise MemoryStoreError("away")


@dataclass
class Bench:
    """Calls that end at noon, and the hourly job."""

    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        self.contacts = InMemoryContacts(self.clock)
        self.archive = InMemoryArchive(clock=self.clock)
        self.retention = self.job()

    def job(self, retentions: Any = None, **policy: Any) -> CallRetention:
        return CallRetention(
            calls=InMemoryCallWords(self.contacts),
            retentions=retentions or self.archive,
            clock=self.clock,
            policy=CallRetentionPolicy(**policy) if policy else None,
        )

    def add(self, uid: str, **fields: Any) -> None:
        call = {
            "contactUID": uid,
            "userId": PERSON,
            "transcript": [{"text": "hello"}],
            "analysisStatus": "done",
            "callEndedAt": NOON,
            "retentionCheckAt": NOON + DAY,
        }
        self.contacts.add({**call, **fields})

    async def chooses(self, days: int) -> None:
        await self.archive.put_settings(PERSON, MemorySettings(retention_days=days))

    async def hourly_until(self, days: float) -> None:
        """Let time pass up to so many days after the calls, with the job at every hour."""
        end = NOON + timedelta(days=days)
        while (left := end - self.clock.now()) > timedelta(0):
            self.clock.advance(min(3600.0, left.total_seconds()))
            await self.retention.run_once()

    def kept(self) -> list[str]:
        return [one["contactUID"] for one in self.contacts.documents if one["transcript"]]


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_without_a_choice_words_go_after_thirty_days(bench: Bench) -> None:
    bench.add("a")
    bench.add("nobody's", userId=None)
    await bench.hourly_until(30)
    assert bench.kept() == ["a", "nobody's"]
    await bench.hourly_until(30 + 1 / 24)
    assert bench.kept() == []


async def test_each_person_has_their_own(bench: Bench) -> None:
    await bench.chooses(1)
    bench.add("theirs")
    bench.add("another's", userId="u-2")
    await bench.hourly_until(1)
    assert bench.kept() == ["theirs", "another's"]
    await bench.hourly_until(1 + 1 / 24)
    assert bench.kept() == ["another's"]


async def test_a_shorter_retention_chosen_later_takes_effect_within_a_day(bench: Bench) -> None:
    await bench.chooses(365)
    bench.add("a")
    await bench.hourly_until(40)
    assert bench.kept() == ["a"]
    await bench.chooses(7)
    await bench.hourly_until(41 + 1 / 24)
    assert bench.kept() == []


async def test_a_shorter_retention_that_is_not_over_yet_ends_in_its_hour(bench: Bench) -> None:
    bench.add("a")
    await bench.hourly_until(5)
    await bench.chooses(7)
    await bench.hourly_until(7)
    assert bench.kept() == ["a"]
    await bench.hourly_until(7 + 1 / 24)
    assert bench.kept() == []


async def test_a_longer_retention_chosen_later_holds_for_what_is_still_there(bench: Bench) -> None:
    await bench.chooses(2)
    bench.add("gone", callEndedAt=NOON - 2 * DAY)
    bench.add("a")
    await bench.hourly_until(1.5)
    assert bench.kept() == ["a"]
    await bench.chooses(60)
    await bench.hourly_until(59)
    assert bench.kept() == ["a"]
    await bench.hourly_until(60 + 1 / 24)
    assert bench.kept() == []


async def test_what_waits_for_its_analysis_goes_after_it(bench: Bench) -> None:
    await bench.chooses(1)
    bench.add("a", analysisStatus="pending")
    await bench.hourly_until(3)
    assert bench.kept() == ["a"]
    bench.contacts.document("a")["analysisStatus"] = "failed"
    await bench.hourly_until(3 + 2 / 24)
    assert bench.kept() == []


async def test_a_run_is_bounded_and_takes_the_oldest_first(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    for number in range(7):
        at = NOON - timedelta(days=50 + number)
        bench.add(f"{number}", callEndedAt=at, retentionCheckAt=at)
    job = bench.job(batch=2, batches=2)
    assert await job.run_once() == 4
    assert bench.kept() == ["0", "1", "2"]
    assert await job.run_once() == 3
    assert await job.run_once() == 0
    told = [record for record in caplog.records if record.message.startswith("expired words")]
    assert [vars(record)["calls"] for record in told] == [4, 3]


async def test_a_date_far_in_the_future_hinders_nothing(bench: Bench) -> None:
    future = NOON.replace(year=9999)
    bench.add("odd", callEndedAt=future, retentionCheckAt=NOON - DAY)
    bench.add("old", callEndedAt=NOON - 40 * DAY, retentionCheckAt=NOON - DAY)
    assert await bench.retention.run_once() == 1
    assert bench.kept() == ["odd"]


async def test_while_a_store_is_away_nothing_goes(bench: Bench) -> None:
    bench.add("a", callEndedAt=NOON - 40 * DAY, retentionCheckAt=NOON - DAY)
    with pytest.raises(MemoryStoreError):
        await bench.job(Away()).run_once()
    bench.contacts.faults.error = ContactStoreError("away")
    with pytest.raises(ContactStoreError):
        await bench.retention.run_once()
    assert bench.kept() == ["a"]
    bench.contacts.faults.error = None
    assert await bench.retention.run_once() == 1
