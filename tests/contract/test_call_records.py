"""How the record of the current call grows, whatever stores it."""

import asyncio
from datetime import datetime
from typing import Any

import pytest

from src.schemas.contact import CallDirection, ContactStatus, Turn
from src.schemas.receipt import FeatureReceipt, MemoryOutcome, MemoryReceipt, RefusalReason
from tests.contract.conftest import ContactStore
from tests.contract.documents import (
    NOON,
    PHONE,
    TALK,
    ago,
    call_end,
    new_contact,
    past_call,
    turn,
)

pytestmark = pytest.mark.integration

FINAL = [
    ContactStatus.COMPLETED,
    ContactStatus.BUSY,
    ContactStatus.NO_ANSWER,
    ContactStatus.REJECTED,
    ContactStatus.INVALID_NUMBER,
    ContactStatus.UNREACHABLE,
    ContactStatus.ABANDONED,
    ContactStatus.FAILED,
]


async def stored(store: ContactStore, uid: str = "call-1") -> dict[str, Any]:
    document = await store.document(uid)
    assert document is not None
    return document


def told(kind: str, at: datetime) -> dict[str, Any]:
    return {"id": f"call-1:{kind}", "type": kind, "at": at}


async def test_open_creates_the_record_with_the_documents_names(store: ContactStore) -> None:
    await store.records.open(
        new_contact(dynamic_variables={"name": "Daivik"}, campaign_id="spring")
    )
    assert await stored(store) == {
        "contactUID": "call-1",
        "ownerId": "acme",
        "AgentID": "reception",
        "phone": PHONE,
        "originalPhone": PHONE,
        "phoneLast10": "4155550123",
        "callDirection": "outbound",
        "status": "dialing",
        "dynamicVariables": {"name": "Daivik"},
        "campaignId": "spring",
        "callStartedAt": NOON,
        "createdAt": NOON,
        "outbox": [told("call.started", NOON)],
        "toldEvents": ["call.started"],
    }


async def test_open_again_changes_nothing(store: ContactStore) -> None:
    await store.records.open(new_contact())
    once = await stored(store)
    store.clock.advance(5)
    await store.records.open(new_contact())
    assert await stored(store) == once
    assert await store.count() == 1


async def test_open_completes_the_record_of_a_campaign(store: ContactStore) -> None:
    await store.load(
        past_call(
            "call-1",
            phone="(415) 555-0123",
            originalPhone="(415) 555-0123",
            status="queued",
            campaignId="spring",
            dynamicVariables={"name": "Daivik", "city": "Pune", "plan": "gold"},
            callStartedAt=None,
            createdAt=ago(days=3),
            note="the campaign's own",
        )
    )
    await store.records.open(
        new_contact(dynamic_variables={"city": "Delhi", "plan": " ", "time": "ten"})
    )
    document = await stored(store)
    assert document["dynamicVariables"] == {
        "name": "Daivik",
        "city": "Delhi",
        "plan": "gold",
        "time": "ten",
    }
    assert document["phone"] == PHONE
    assert document["originalPhone"] == "(415) 555-0123"
    assert document["campaignId"] == "spring"
    assert document["status"] == "dialing"
    assert document["callStartedAt"] == NOON
    assert document["createdAt"] == ago(days=3)
    assert document["note"] == "the campaign's own"


async def test_open_does_not_forget_a_number_it_does_not_know(store: ContactStore) -> None:
    await store.load(past_call("call-1", status="queued"))
    await store.records.open(new_contact(phone=None, original_phone=None, phone_last10=None))
    assert (await stored(store))["phone"] == PHONE
    assert (await stored(store))["phoneLast10"] == "4155550123"


@pytest.mark.parametrize("status", FINAL)
async def test_a_final_status_is_never_undone(store: ContactStore, status: ContactStatus) -> None:
    await store.records.open(new_contact())
    await store.records.mark("call-1", status)
    before = await stored(store)
    await store.records.mark("call-1", ContactStatus.IN_PROGRESS)
    await store.records.mark("call-1", ContactStatus.FAILED)
    await store.records.open(
        new_contact(call_started_at=ago(days=-1), agent_id="billing", phone="+14155550999")
    )
    assert await stored(store) == before
    await store.records.close(new_contact(), call_end(ContactStatus.COMPLETED))
    assert (await stored(store))["status"] == status
    assert (await stored(store))["callEndedAt"] == NOON


async def test_statuses_before_the_end_follow_each_other(store: ContactStore) -> None:
    await store.records.open(new_contact())
    for status in (ContactStatus.RINGING, ContactStatus.IN_PROGRESS, ContactStatus.RINGING):
        await store.records.mark("call-1", status)
        assert (await stored(store))["status"] == status


async def test_marking_an_unknown_call_creates_nothing(store: ContactStore) -> None:
    await store.records.mark("unknown", ContactStatus.RINGING)
    assert await store.count() == 0


async def test_close_stores_the_whole_end(store: ContactStore) -> None:
    receipt = MemoryReceipt(
        history=FeatureReceipt(
            outcome=MemoryOutcome.APPLIED,
            contact_uids=("a", "b"),
            window_start=ago(days=31),
            refused={RefusalReason.DUPLICATE: 2},
        )
    )
    spoken = Turn(role="assistant", text="$name {{x}}", at=NOON, interrupted=True)
    await store.records.open(new_contact())
    await store.records.close(
        new_contact(),
        call_end(
            transcript=(*TALK, spoken),
            receipt=receipt,
            handoff_receipts=(MemoryReceipt(),),
            degradations=("memory_late",),
            language="hi",
        ),
    )
    document = await stored(store)
    assert document["status"] == "completed"
    assert document["callEndedAt"] == NOON
    assert document["transcript"][1:] == [
        {"role": "user", "text": "When do you open?", "at": NOON, "interrupted": False},
        {"role": "assistant", "text": "$name {{x}}", "at": NOON, "interrupted": True},
    ]
    assert document["memoryReceipt"]["history"] == {
        "outcome": "applied",
        "contact_uids": ["a", "b"],
        "variables": [],
        "agent_ids": [],
        "window_start": ago(days=31),
        "refused": {"duplicate": 2},
        "took_ms": 0.0,
    }
    assert len(document["handoffReceipts"]) == 1
    assert document["degradations"] == ["memory_late"]
    assert document["language"] == "hi"
    assert document["analysisStatus"] == "pending"


async def test_close_creates_the_record_if_open_never_got_through(store: ContactStore) -> None:
    contact = new_contact(call_direction=CallDirection.INBOUND, dynamic_variables={"a": "1"})
    await store.records.close(contact, call_end(ContactStatus.ABANDONED))
    document = await stored(store)
    assert document["ownerId"] == "acme"
    assert document["callDirection"] == "inbound"
    assert document["dynamicVariables"] == {"a": "1"}
    assert document["status"] == "abandoned"
    assert document["callStartedAt"] == NOON
    assert document["analysisStatus"] == "pending"


async def test_the_first_close_wins(store: ContactStore) -> None:
    await store.records.close(new_contact(), call_end())
    once = await stored(store)
    store.clock.advance(60)
    await store.records.close(
        new_contact(dynamic_variables={"late": "1"}),
        call_end(ContactStatus.FAILED, transcript=(), degradations=("late",)),
    )
    await store.records.close(new_contact(), call_end())
    assert await stored(store) == once


@pytest.mark.parametrize(
    "transcript",
    [
        (),
        (turn("assistant", "Hello?"),),
        (turn("assistant", "Hello?"), turn("user", " \n")),
        (turn("user", "Hello?"),),
    ],
)
async def test_no_analysis_is_due_when_one_side_said_nothing(
    store: ContactStore, transcript: tuple[Turn, ...]
) -> None:
    await store.records.close(new_contact(), call_end(transcript=transcript))
    assert (await stored(store))["analysisStatus"] == "no_conversation"
    assert await store.follow_ups.begin_analysis("call-1") is None


async def test_writes_at_the_same_time_make_one_record(store: ContactStore) -> None:
    async with asyncio.TaskGroup() as group:
        for n in range(8):
            group.create_task(store.records.open(new_contact(dynamic_variables={f"k{n}": "v"})))
        for _ in range(4):
            group.create_task(store.records.close(new_contact(), call_end()))
    document = await stored(store)
    assert await store.count() == 1
    assert document["status"] == "completed"
    assert len(document["transcript"]) == 2
    assert set(document["dynamicVariables"]) == {f"k{n}" for n in range(8)}


async def test_words_that_look_like_fields_or_operators_stay_words(store: ContactStore) -> None:
    odd = {"$set": "$status", "a.b": "$$ROOT", "": "x"}
    await store.records.close(new_contact(dynamic_variables=odd), call_end(language="$phone"))
    document = await stored(store)
    assert document["dynamicVariables"] == odd
    assert document["language"] == "$phone"


async def test_a_call_is_withdrawn_once_its_end_was_asked_for(store: ContactStore) -> None:
    await store.records.open(new_contact())
    assert not await store.records.withdrawn("call-1")
    await store.load(past_call("call-2", status="dialing", hangupRequestedAt=NOON))
    assert await store.records.withdrawn("call-2")
    assert not await store.records.withdrawn("nobody's")


async def test_a_call_that_is_over_is_not_placed_again(store: ContactStore) -> None:
    await store.records.close(new_contact(), call_end())
    assert await store.records.withdrawn("call-1")


async def test_each_event_is_put_into_the_outbox_once(store: ContactStore) -> None:
    for _ in range(2):
        await store.records.open(new_contact())
    store.clock.advance(5)
    for _ in range(2):
        await store.records.mark("call-1", ContactStatus.IN_PROGRESS)
        await store.records.open(new_contact())
    for _ in range(2):
        await store.records.close(new_contact(), call_end(ended_at=store.clock.now()))
    assert (await stored(store))["outbox"] == [
        told("call.started", NOON),
        told("call.answered", ago(seconds=-5)),
        told("call.ended", ago(seconds=-5)),
    ]


async def test_what_was_told_is_not_told_again(store: ContactStore) -> None:
    await store.records.open(new_contact())
    await store.follow_ups.told("call-1", ["call-1:call.started"])
    await store.records.mark("call-1", ContactStatus.IN_PROGRESS)
    await store.follow_ups.told("call-1", ["call-1:call.answered"])
    await store.records.open(new_contact())
    await store.records.mark("call-1", ContactStatus.IN_PROGRESS)
    await store.records.close(new_contact(), call_end())
    await store.follow_ups.told("call-1", ["call-1:call.ended"])
    await store.records.close(new_contact(), call_end())
    await store.records.open(new_contact())
    assert (await stored(store))["outbox"] == []


async def test_a_close_tells_of_a_start_that_could_not_be_written(store: ContactStore) -> None:
    await store.records.close(new_contact(), call_end(ended_at=ago(minutes=-1)))
    assert (await stored(store))["outbox"] == [
        told("call.started", NOON),
        told("call.ended", ago(minutes=-1)),
    ]


async def test_a_call_marked_as_failed_is_over_without_a_conversation(store: ContactStore) -> None:
    await store.load(past_call("call-1", status="dialing", conversation_summary=...))
    await store.records.mark("call-1", ContactStatus.FAILED)
    await store.records.mark("call-1", ContactStatus.FAILED)
    assert (await stored(store))["outbox"] == [told("call.ended", NOON)]
    assert (await stored(store))["analysisStatus"] == "no_conversation"
