"""What is still to be done about calls, whatever keeps it."""

import asyncio

import pytest

from src.schemas.analysis import AnalysisStatus
from src.schemas.contact import ContactStatus
from src.schemas.follow_up import FinishedAnalysis, FollowUp
from tests.contract.conftest import ContactStore
from tests.contract.documents import (
    NOON,
    OWNER,
    TALK,
    ago,
    analysed,
    call_end,
    new_contact,
    past_call,
)

pytestmark = pytest.mark.integration


async def close(store: ContactStore, uid: str, minutes_ago: float = 0) -> None:
    start, end = ago(minutes=minutes_ago + 1), ago(minutes=minutes_ago)
    await store.records.close(new_contact(uid, call_started_at=start), call_end(ended_at=end))


async def field(store: ContactStore, uid: str, name: str) -> object:
    document = await store.document(uid)
    assert document is not None
    return document.get(name)


async def test_a_finished_call_waits_with_all_that_its_analysis_needs(store: ContactStore) -> None:
    await store.records.close(new_contact("a"), call_end(language="hi"))
    first, second = [await store.follow_ups.begin_analysis("a") for _ in range(2)]
    assert first is not None
    assert second is not None
    assert (first.transcript, first.language, first.owner_id) == (TALK, "hi", OWNER)
    assert (first.agent_id, first.attempts, second.attempts) == ("reception", 1, 2)


async def test_an_analysis_is_stored_with_the_event_that_tells_of_it(store: ContactStore) -> None:
    await close(store, "a")
    await store.follow_ups.begin_analysis("a")
    finished = analysed(
        summary="Hablaron.",
        summary_en="They talked.",
        language="es",
        fields={"plan": "gold"},
        open_items=("Send the form.",),
        opt_out=True,
    )
    assert await store.follow_ups.finish_analysis("a", finished)
    document = await store.document("a")
    assert document is not None
    assert document["analysisStatus"] == "done"
    assert document["conversation_summary"] == "Hablaron."
    assert document["conversation_summary_en"] == "They talked."
    assert document["analysis"] == {
        "status": "done",
        "attempts": 1,
        "analysedAt": NOON,
        "outcome": "resolved",
        "fields": {"plan": "gold"},
        "fieldsError": None,
        "openItems": ["Send the form."],
        "optOut": True,
        "language": "es",
    }
    event = (await store.follow_ups.waiting_events("a"))[-1]
    assert (event.id, event.type, event.at) == ("a:call.analyzed", "call.analyzed", NOON)
    assert event.data["outcome"] == "resolved"
    assert "plan" not in str(event)


async def test_an_analysis_in_english_has_one_summary(store: ContactStore) -> None:
    await close(store, "a")
    await store.follow_ups.finish_analysis("a", analysed())
    document = await store.document("a")
    assert document is not None
    assert document["conversation_summary"] == "They talked."
    assert "conversation_summary_en" not in document


async def test_the_first_end_of_an_analysis_wins(store: ContactStore) -> None:
    await close(store, "a")
    async with asyncio.TaskGroup() as group:
        ends = [
            group.create_task(store.follow_ups.finish_analysis("a", analysed(summary=f"{n}")))
            for n in range(8)
        ]
    assert sorted(end.result() for end in ends) == [False] * 7 + [True]
    failed = FinishedAnalysis(status=AnalysisStatus.FAILED, at=NOON, error="no answer")
    assert not await store.follow_ups.finish_analysis("a", failed)
    assert await field(store, "a", "analysisStatus") == "done"
    assert await store.follow_ups.begin_analysis("a") is None
    kinds = [event.type.value for event in await store.follow_ups.waiting_events("a")]
    assert kinds.count("call.analyzed") == 1


async def test_an_analysis_that_failed_says_why(store: ContactStore) -> None:
    await close(store, "a")
    await store.follow_ups.begin_analysis("a")
    for reason in ("busy", "too long"):
        await store.follow_ups.note_failure("a", reason)
    failed = FinishedAnalysis(status=AnalysisStatus.FAILED, at=NOON, error="given up")
    assert await store.follow_ups.finish_analysis("a", failed)
    await store.follow_ups.note_failure("a", "late")
    assert await field(store, "a", "analysisStatus") == "failed"
    assert await field(store, "a", "analysis") == {
        "status": "failed",
        "attempts": 1,
        "analysedAt": NOON,
        "error": "given up; the last: too long",
    }
    assert await field(store, "a", "analysisError") is None
    assert await field(store, "a", "analysisAttempts") is None
    assert await field(store, "a", "conversation_summary") is None


async def test_events_say_the_same_whenever_they_are_told(store: ContactStore) -> None:
    await store.records.open(new_contact("a", campaign_id="spring"))
    before = await store.follow_ups.waiting_events("a")
    await store.records.mark("a", ContactStatus.IN_PROGRESS)
    await store.records.close(new_contact("a"), call_end(ended_at=ago(minutes=-1)))
    started, answered, ended = await store.follow_ups.waiting_events("a")
    assert [started] == before
    assert (answered.type, answered.owner_id) == ("call.answered", OWNER)
    assert ended.data == {
        "contactUID": "a",
        "agentId": "reception",
        "direction": "outbound",
        "campaignId": "spring",
        "status": "completed",
        "callStartedAt": "2026-12-01T12:00:00.000Z",
        "callEndedAt": "2026-12-01T12:01:00.000Z",
    }


async def test_told_events_go_and_others_stay(store: ContactStore) -> None:
    await close(store, "a")
    await store.follow_ups.told("a", ["a:call.started", "unknown"])
    await store.follow_ups.told("nobody", ["x"])
    (event,) = await store.follow_ups.waiting_events("a")
    assert event.type == "call.ended"
    assert await store.follow_ups.waiting_events("nobody") == []


async def test_entries_nobody_can_read_are_passed_over(store: ContactStore) -> None:
    odd = ["x", {"id": "1", "type": "call.exploded", "at": NOON}, {"type": "call.ended"}]
    await store.load(past_call("a", outbox=odd), past_call("b", outbox="x"))
    assert await store.follow_ups.waiting_events("a") == []
    assert await store.follow_ups.waiting_events("b") == []


async def test_what_waits_too_long_is_found_the_longest_waiting_first(store: ContactStore) -> None:
    for uid, minutes in (("b", 3), ("a", 5), ("c", 1)):
        await close(store, uid, minutes)
    overdue = store.follow_ups.overdue
    analyse = [await overdue(FollowUp.ANALYSE, before=ago(minutes=2), limit=n) for n in (9, 1)]
    assert analyse == [["a", "b"], ["a"]]
    assert await overdue(FollowUp.RELAY, before=ago(minutes=2), limit=9) == ["a", "b", "c"]
    await store.follow_ups.told("a", ["a:call.started", "a:call.ended"])
    await store.follow_ups.finish_analysis("b", analysed())
    assert await overdue(FollowUp.ANALYSE, before=ago(minutes=2), limit=9) == ["a"]
    assert await overdue(FollowUp.RELAY, before=ago(minutes=2), limit=9) == ["b", "c"]


async def test_open_calls_are_those_without_an_end(store: ContactStore) -> None:
    for uid, minutes in (("b", 3), ("a", 5), ("new", 1)):
        start = ago(minutes=minutes)
        await store.records.open(new_contact(uid, call_started_at=start, room=f"room-{uid}"))
    await close(store, "closed", 9)
    await store.load(past_call("imported"), past_call("a stranger's", status="ringing"))
    await store.records.mark("b", ContactStatus.IN_PROGRESS)
    found = await store.open_calls.started(before=ago(minutes=2), limit=9)
    assert [(one.contact.contact_uid, one.status, one.contact.room) for one in found] == [
        ("a", ContactStatus.DIALING, "room-a"),
        ("b", ContactStatus.IN_PROGRESS, "room-b"),
    ]
    assert len(await store.open_calls.started(before=ago(minutes=2), limit=1)) == 1


async def test_since_when_nobody_serves_a_call_is_remembered(store: ContactStore) -> None:
    await store.records.open(new_contact("a", room="r"))

    async def unserved_since() -> object:
        (call,) = await store.open_calls.started(before=NOON, limit=9)
        return call.unserved_since

    assert await unserved_since() is None
    await store.open_calls.note_unserved("a", NOON)
    await store.open_calls.note_unserved("a", ago(minutes=-1))
    assert await unserved_since() == NOON
    await store.open_calls.note_served("a")
    await store.open_calls.note_served("a")
    assert await unserved_since() is None


async def test_the_next_call_of_a_conversation_is_found(store: ContactStore) -> None:
    for uid, minutes in (("c", 1), ("b", 3), ("a", 5)):
        started = ago(minutes=minutes)
        await store.records.open(new_contact(uid, session_id="s", call_started_at=started))
    await store.records.open(new_contact("other", session_id="t", call_started_at=ago(minutes=4)))
    assert await store.open_calls.next_start("s", ago(minutes=5)) == ago(minutes=3)
    assert await store.open_calls.next_start("s", ago(minutes=1)) is None
