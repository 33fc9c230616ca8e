"""What a deletion leaves of a person's call records."""

from typing import Any

import pytest

from src.adapters.mongo_erasure import MongoErasure
from src.schemas.analysis import AnalysisStatus
from src.schemas.contact import ContactQuery
from src.services.erasure import ErasureRequest
from tests.contract.conftest import ContactStore
from tests.contract.documents import (
    AGENT,
    NOON,
    OWNER,
    PHONE,
    ago,
    analysed,
    call_end,
    new_contact,
    past_call,
    query,
    turn,
)

pytestmark = pytest.mark.integration

CANARY = "zanzibar"
SPOKEN = {
    "transcript": [turn("user", CANARY).model_dump()],
    "conversation_summary": f"About {CANARY}.",
    "conversation_summary_en": f"About {CANARY}.",
    "room": "call-_+14155550123_x",
    "dynamicVariables": {"name": CANARY},
    "analysis": {"topic": CANARY},
    "memoryReceipt": {"history": {"outcome": "applied"}},
    "handoffReceipts": [{}],
    "analysisStatus": "done",
    "callEndedAt": ago(hours=23),
}


def call(uid: str, **fields: Any) -> dict[str, Any]:
    """A finished call full of the person."""
    return past_call(uid, **{**SPOKEN, **fields})


def request(**fields: Any) -> ErasureRequest:
    """A deletion of everything."""
    return ErasureRequest(**{"user_id": "u-1", "scope": "all", "at": NOON, **fields})


@pytest.fixture
def store(mongodb_store: ContactStore) -> ContactStore:
    return mongodb_store


@pytest.fixture
def erasure(store: ContactStore) -> MongoErasure:
    assert store.mongo is not None
    return MongoErasure(store.mongo)


async def emptied(store: ContactStore, *uids: str) -> set[str]:
    """Those of the documents in which nothing of the person is left."""
    documents = {uid: await store.document(uid) for uid in uids}
    return {
        uid
        for uid, document in documents.items()
        if CANARY not in str(document) and "4155550123" not in str(document)
    }


async def test_a_record_is_emptied_of_everything_but_the_call(
    store: ContactStore, erasure: MongoErasure
) -> None:
    await store.load(call("a", userId="u-1", sessionId="s1", campaignId="spring"))
    assert await erasure.erase(request()) == {
        "summaries": 2,
        "variables": 1,
        "transcripts": 1,
        "analyses": 1,
        "receipts": 2,
        "numbers": 1,
    }
    assert await store.document("a") == {
        "contactUID": "a",
        "ownerId": OWNER,
        "AgentID": AGENT,
        "sessionId": "s1",
        "campaignId": "spring",
        "phone": None,
        "originalPhone": None,
        "phoneLast10": None,
        "callDirection": "outbound",
        "status": "completed",
        "dynamicVariables": {},
        "transcript": [],
        "memoryReceipt": None,
        "handoffReceipts": [],
        "analysisStatus": "no_conversation",
        "callStartedAt": ago(days=1),
        "callEndedAt": ago(hours=23),
        "createdAt": ago(days=1),
        "erasedAt": NOON,
    }
    assert set((await erasure.erase(request(session_ids=("s1",)))).values()) == {0}


async def test_a_person_is_found_by_id_sessions_and_number(
    store: ContactStore, erasure: MongoErasure
) -> None:
    web = {"phone": None, "originalPhone": None, "phoneLast10": None}
    await store.load(
        call("by id", userId="u-1", **web),
        call("by session", sessionId="s1", **web),
        call("s2", **web),
        call("by number"),
        call("written otherwise", phone="(415) 555-0123", originalPhone=...),
        call("somebody else", userId="u-2", sessionId="s9", **web),
        call("another owner's", ownerId="globex"),
        call("another country", phone="+914155550123", originalPhone="+914155550123"),
    )
    counts = await erasure.erase(request(session_ids=("s1", "s2"), owner_id=OWNER, e164=PHONE))
    assert counts["transcripts"] == 5
    everyone = ("by id", "by session", "s2", "by number", "written otherwise")
    others = ("somebody else", "another owner's", "another country")
    assert await emptied(store, *everyone, *others) == set(everyone)


async def test_one_session_goes_alone(store: ContactStore, erasure: MongoErasure) -> None:
    await store.load(
        call("a", userId="u-1", sessionId="s1"), call("b", userId="u-1", sessionId="s2")
    )
    await erasure.erase(request(scope="session", session_ids=("s1",), owner_id=OWNER, e164=PHONE))
    assert await emptied(store, "a", "b") == {"a"}


async def test_a_day_goes_with_the_calls_that_ended_in_it(
    store: ContactStore, erasure: MongoErasure
) -> None:
    await store.load(
        call("before", userId="u-1", callEndedAt=ago(hours=13)),
        call("over midnight", userId="u-1", callEndedAt=ago(hours=11)),
        call("no end", userId="u-1", callStartedAt=ago(hours=3), callEndedAt=...),
        call("no dates", userId="u-1", callStartedAt=..., callEndedAt=..., createdAt=...),
    )
    await erasure.erase(request(scope="day", since=ago(hours=12)))
    assert await emptied(store, "before", "over midnight", "no end", "no dates") == {
        "over midnight",
        "no end",
        "no dates",
    }


async def test_nothing_is_found_for_nobody(store: ContactStore, erasure: MongoErasure) -> None:
    await store.load(call("a"), call("b", phone=None, originalPhone=None, phoneLast10=None))
    await erasure.erase(request())
    await erasure.erase(request(e164=PHONE))
    await erasure.erase(request(owner_id=OWNER))
    assert await emptied(store, "a", "b") == set()


async def test_no_later_call_hears_of_it(store: ContactStore, erasure: MongoErasure) -> None:
    await store.load(call("a"))
    asked: ContactQuery = query()
    await erasure.erase(request(owner_id=OWNER, e164=PHONE))
    assert [one async for one in store.history.conversations(asked)] == []
    assert [one async for one in store.history.variables(asked)] == []


async def test_an_analysis_in_the_making_is_not_stored(
    store: ContactStore, erasure: MongoErasure
) -> None:
    await store.records.close(new_contact(), call_end())
    assert await store.follow_ups.begin_analysis("call-1") is not None
    await erasure.erase(request(session_ids=("call-1",)))
    assert not await store.follow_ups.finish_analysis("call-1", analysed(summary=CANARY))
    assert await emptied(store, "call-1") == {"call-1"}
    assert await store.follow_ups.begin_analysis("call-1") is None
    kinds = [event.type for event in await store.follow_ups.waiting_events("call-1")]
    assert kinds == ["call.started", "call.ended"]


async def test_a_call_that_goes_on_after_the_deletion_brings_nothing_back(
    store: ContactStore, erasure: MongoErasure
) -> None:
    contact = new_contact(session_id="s1", user_id="u-1", dynamic_variables={"name": CANARY})
    await store.records.open(contact)
    await erasure.erase(request(session_ids=("s1",)))
    await store.records.close(contact, call_end(transcript=(turn("user", CANARY),)))
    document = await store.document("call-1")
    assert document is not None
    assert CANARY not in str(document)
    assert "4155550123" not in str(document)
    assert document["status"] == "completed"
    assert document["callEndedAt"] is not None
    assert document["analysisStatus"] == AnalysisStatus.NO_CONVERSATION.value
