"""Who gets which call to summarise, whatever keeps the queue."""

import asyncio

import pytest

from src.schemas.contact import SummaryStatus
from tests.contract.conftest import ContactStore
from tests.contract.documents import NOON, TALK, ago, call_end, new_contact

pytestmark = pytest.mark.integration


async def close(store: ContactStore, uid: str, minutes_ago: float = 0) -> None:
    await store.records.close(new_contact(uid), call_end(ended_at=ago(minutes=minutes_ago)))


async def field(store: ContactStore, uid: str, name: str) -> object:
    document = await store.document(uid)
    assert document is not None
    return document.get(name)


async def test_the_oldest_call_comes_first(store: ContactStore) -> None:
    for uid, minutes in (("b", 2), ("a", 3), ("c", 1)):
        await close(store, uid, minutes)
    claimed = [await store.queue.claim(worker="w", lease_s=60) for _ in range(4)]
    assert [task and task.contact_uid for task in claimed] == ["a", "b", "c", None]


async def test_a_task_holds_what_a_summary_needs(store: ContactStore) -> None:
    await store.records.close(new_contact("a"), call_end(language="hi"))
    task = await store.queue.claim(worker="w", lease_s=60)
    assert task is not None
    assert (task.transcript, task.language, task.attempt) == (TALK, "hi", 1)


async def test_a_finished_call_has_its_summary_and_is_history(store: ContactStore) -> None:
    await close(store, "a")
    task = await store.queue.claim(worker="w", lease_s=60)
    assert task is not None
    await store.queue.finish(task, SummaryStatus.DONE, "They talked.")
    assert await field(store, "a", "conversation_summary") == "They talked."
    assert await field(store, "a", "summaryStatus") == "done"
    store.clock.advance(3600)
    assert await store.queue.claim(worker="w", lease_s=60) is None


async def test_of_many_claimers_one_gets_the_call(store: ContactStore) -> None:
    await close(store, "a")
    await close(store, "b")
    async with asyncio.TaskGroup() as group:
        claims = [
            group.create_task(store.queue.claim(worker=f"w{n}", lease_s=60)) for n in range(20)
        ]
    won = [task.contact_uid for claim in claims if (task := claim.result()) is not None]
    assert sorted(won) == ["a", "b"]


async def test_a_call_is_claimed_again_when_its_lease_is_over(store: ContactStore) -> None:
    await close(store, "a")
    first = await store.queue.claim(worker="dies", lease_s=60)
    store.clock.advance(59.9)
    assert await store.queue.claim(worker="next", lease_s=60) is None
    store.clock.advance(0.1)
    second = await store.queue.claim(worker="next", lease_s=60)
    assert first is not None
    assert second is not None
    assert (second.contact_uid, second.attempt) == ("a", 2)
    assert second.claim != first.claim


async def test_whoever_lost_the_lease_changes_nothing(store: ContactStore) -> None:
    await close(store, "a")
    lost = await store.queue.claim(worker="slow", lease_s=60)
    store.clock.advance(60)
    held = await store.queue.claim(worker="next", lease_s=60)
    assert lost is not None
    assert held is not None
    await store.queue.finish(lost, SummaryStatus.FAILED, None)
    await store.queue.postpone(lost, delay_s=0)
    assert await field(store, "a", "summaryStatus") == "pending"
    assert await store.queue.claim(worker="third", lease_s=60) is None
    await store.queue.finish(held, SummaryStatus.DONE, "They talked.")
    await store.queue.finish(lost, SummaryStatus.DONE, "Something else.")
    assert await field(store, "a", "conversation_summary") == "They talked."


async def test_a_postponed_call_comes_back_after_its_delay(store: ContactStore) -> None:
    await close(store, "a")
    task = await store.queue.claim(worker="w", lease_s=600)
    assert task is not None
    await store.queue.postpone(task, delay_s=30)
    store.clock.advance(29)
    assert await store.queue.claim(worker="w", lease_s=600) is None
    store.clock.advance(1)
    again = await store.queue.claim(worker="w", lease_s=600)
    assert again is not None
    assert again.attempt == 2


@pytest.mark.parametrize("status", [SummaryStatus.FAILED, SummaryStatus.NO_CONVERSATION])
async def test_an_outcome_without_summary_is_final_too(
    store: ContactStore, status: SummaryStatus
) -> None:
    await close(store, "a")
    task = await store.queue.claim(worker="w", lease_s=60)
    assert task is not None
    await store.queue.finish(task, status, None)
    store.clock.advance(24 * 3600)
    assert await store.queue.claim(worker="w", lease_s=60) is None
    assert await field(store, "a", "summaryStatus") == status
    assert await field(store, "a", "conversation_summary") is None


async def test_a_call_that_is_not_over_does_not_wait(store: ContactStore) -> None:
    await store.records.open(new_contact("a", call_started_at=NOON))
    assert await store.queue.claim(worker="w", lease_s=60) is None
