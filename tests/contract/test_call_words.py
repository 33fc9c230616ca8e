"""How retention finds and empties call records, whatever keeps them."""

from datetime import timedelta
from typing import Any

import pytest

from src.adapters.mongo_call_words import MongoCallWords
from src.adapters.mongo_erasure import MongoErasure
from src.schemas.memory import MemorySettings
from src.services.call_retention import CallRetention, CallRetentionPolicy
from src.services.erasure import ErasureRequest
from src.services.identity import memory_user_id
from src.services.in_memory_archive import InMemoryArchive
from src.services.retention_ports import SpokenCalls
from tests.contract.conftest import ContactStore
from tests.contract.documents import (
    NOON,
    OWNER,
    PHONE,
    ago,
    analysed,
    call_end,
    new_contact,
    past_call,
    turn,
)
from tests.fakes.call_words import InMemoryCallWords

pytestmark = pytest.mark.integration

CANARY = "zanzibar"


def call(uid: str, days: float = 31, **fields: Any) -> dict[str, Any]:
    """A call that ended so many days ago, as an earlier version stored it."""
    words = {"transcript": [turn("user", CANARY).model_dump()], "analysisStatus": "done"}
    analysis = {"outcome": "resolved", "optOut": True, "fields": {"a": 1}, "openItems": [CANARY]}
    end = ago(days=days)
    return past_call(uid, **{**words, "analysis": analysis, "callEndedAt": end, **fields})


@pytest.fixture
def words(store: ContactStore) -> SpokenCalls:
    if store.memory is not None:
        return InMemoryCallWords(store.memory)
    assert store.mongo is not None
    return MongoCallWords(store.mongo)


async def due(words: SpokenCalls, limit: int = 99) -> list[str]:
    found = await words.to_check(now=NOON, limit=limit)
    return [one.user_id for one in found]


async def test_a_closed_call_is_looked_at_when_the_shortest_retention_is_over(
    store: ContactStore, words: SpokenCalls
) -> None:
    for uid, hours in (("b", 25), ("c", 24), ("a", 26)):
        contact = new_contact(uid, user_id=uid)
        await store.records.close(contact, call_end(ended_at=ago(hours=hours)))
    silent = call_end(ended_at=ago(days=9), transcript=())
    await store.records.close(new_contact("silent", user_id="silent"), silent)
    await store.records.open(new_contact("open", user_id="open", call_started_at=ago(days=9)))
    assert await due(words) == ["a", "b"]
    assert await due(words, limit=1) == ["a"]
    (first, _) = await words.to_check(now=NOON, limit=9)
    assert (first.said_at, first.analysis_pending) == (ago(hours=26), True)


async def test_older_records_are_found_once_they_were_brought_up_to_date(
    store: ContactStore, words: SpokenCalls
) -> None:
    undated: dict[str, Any] = {"callStartedAt": ..., "createdAt": ..., "callEndedAt": ...}
    await store.load(
        call("a", userId="a", callEndedAt=ago(days=40).isoformat()),
        call("b", userId="b", callEndedAt=..., callStartedAt=ago(days=39)),
        call("c", userId="c", callEndedAt=ago(days=38), transcript="user: hello"),
        call("caller"),
        call("nobody", days=30, phone=None, originalPhone=None),
        call("empty", transcript=[]),
        call("none", transcript=...),
        call("no date", **undated),
    )
    caller = memory_user_id(OWNER, e164=PHONE)
    assert await due(words) == ["a", "b", "c", caller, ""]


async def test_only_the_words_go(store: ContactStore, words: SpokenCalls) -> None:
    await store.load(call("a"), call("odd", analysis="x", transcript="user: hello"))
    before = await store.document("a")
    assert before is not None
    found = await words.to_check(now=NOON, limit=9)
    assert await words.empty(found) == 2
    document = await store.document("a")
    assert document is not None
    assert "retentionCheckAt" not in document
    assert document == {
        **{name: value for name, value in before.items() if name != "retentionCheckAt"},
        "transcript": [],
        "analysis": {"outcome": "resolved", "optOut": True},
    }
    odd = await store.document("odd")
    assert odd is not None
    assert (odd["transcript"], odd["analysis"]) == ([], "x")
    assert await words.empty(found) == 0
    assert await due(words) == []


async def test_a_record_that_may_stay_is_looked_at_again(
    store: ContactStore, words: SpokenCalls
) -> None:
    await store.load(*(call(uid, userId=uid) for uid in "abc"))
    found = await words.to_check(now=NOON, limit=9)
    later, sooner = NOON + timedelta(days=1), ago(minutes=1)
    moments = dict(zip(found, (later, later, sooner), strict=True))
    await words.check_again(moments)
    await words.check_again({})
    assert await due(words) == ["c"]
    await words.empty(found)
    await words.check_again(moments)
    assert await due(words) == []


async def test_a_record_that_waits_for_its_analysis_is_left(
    store: ContactStore, words: SpokenCalls
) -> None:
    await store.records.close(new_contact("a"), call_end(ended_at=ago(days=99)))
    found = await words.to_check(now=NOON, limit=9)
    assert await words.empty(found) == 0
    assert await store.follow_ups.begin_analysis("a") is not None
    assert await store.follow_ups.finish_analysis("a", analysed(open_items=(CANARY,)))
    assert await words.empty(found) == 1
    document = await store.document("a")
    assert document is not None
    assert CANARY not in str(document)
    assert document["conversation_summary"] == "They talked."


async def test_a_late_copy_of_the_close_brings_nothing_back(
    store: ContactStore, words: SpokenCalls
) -> None:
    contact, end = new_contact("a"), call_end(ended_at=ago(days=99))
    await store.records.close(contact, end)
    await store.follow_ups.finish_analysis("a", analysed())
    await words.empty(await words.to_check(now=NOON, limit=9))
    await store.records.close(contact, end)
    document = await store.document("a")
    assert document is not None
    assert document["transcript"] == []
    assert await due(words) == []


async def test_bringing_up_to_date_again_changes_nothing(
    store: ContactStore, words: SpokenCalls
) -> None:
    await store.load(call("a"), call("b", userId="b"))
    found = await words.to_check(now=NOON, limit=9)
    await words.empty(found[:1])
    await words.check_again({found[1]: NOON})
    if store.catalogue is not None:
        assert await store.catalogue.backfill() == 0
    assert await due(words) == []


async def test_an_erased_record_is_done_with(mongodb_store: ContactStore) -> None:
    assert mongodb_store.mongo is not None
    words = MongoCallWords(mongodb_store.mongo)
    await mongodb_store.load(call("a", userId="u-1"))
    found = await words.to_check(now=NOON, limit=9)
    await MongoErasure(mongodb_store.mongo).erase(
        ErasureRequest(user_id="u-1", scope="all", at=NOON)
    )
    after = await mongodb_store.document("a")
    await words.check_again(dict.fromkeys(found, ago(days=1)))
    assert await words.empty(found) == 0
    assert await mongodb_store.document("a") == after
    assert await due(words) == []


async def test_a_run_empties_what_is_over_in_batches(
    store: ContactStore, words: SpokenCalls
) -> None:
    archive = InMemoryArchive(clock=store.clock)
    await archive.put_settings("long", MemorySettings(retention_days=365))
    await store.load(*(call(f"{n}", userId=("long", "u")[n % 2]) for n in range(12)))
    policy = CallRetentionPolicy(batch=5)
    retention = CallRetention(calls=words, retentions=archive, clock=store.clock, policy=policy)
    assert await retention.run_once() == 6
    assert await retention.run_once() == 0
    documents = [await store.document(f"{n}") for n in range(12)]
    assert [bool(one and one["transcript"]) for one in documents] == [True, False] * 6
