"""Call records as their owner reads them: filters, pages, everything of one call."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from typing_extensions import override

from src.schemas.call_records import CallRecordFilter
from src.schemas.contact import CallDirection, ContactStatus
from src.schemas.errors import InvalidInputError, MemoryStoreError, NotFoundError
from src.schemas.memory import MemoryEntry, MemoryEvent
from src.services.call_records_view import CallRecordPage, CallRecordsView
from src.services.in_memory_archive import InMemoryArchive
from src.services.owned import Position, Resource
from tests.fakes.clock import NOON
from tests.fakes.owned import InMemoryOwnedStore

PHONE = "+14155550123"


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def call(uid: str, minutes: float = 0, **fields: Any) -> dict[str, Any]:
    return {
        "contactUID": uid,
        "AgentID": "reception",
        "phone": PHONE,
        "originalPhone": PHONE,
        "phoneLast10": PHONE[-10:],
        "callDirection": "inbound",
        "status": "completed",
        "callStartedAt": at(minutes),
        "createdAt": at(minutes),
        **fields,
    }


class AwayArchive(InMemoryArchive):
    """Cannot be read."""

    @override
    async def load_conversation(
        self, session_id: str, *, limit: int | None = None
    ) -> list[MemoryEntry]:
        raise MemoryStoreError("away")


class World:
    def __init__(self) -> None:
        self.owned = InMemoryOwnedStore()
        self.archive = InMemoryArchive()
        self.view = CallRecordsView(owned=self.owned, archive=self.archive)

    async def add(self, *documents: dict[str, Any], owner: str = "acme") -> None:
        contacts = self.owned.of(owner, Resource.CONTACTS)
        for document in documents:
            assert await contacts.insert(document)

    async def page(self, after: Position | None = None, limit: int = 50, **wanted: Any) -> Any:
        found = CallRecordFilter.model_validate(wanted)
        return await self.view.page("acme", found, after=after, limit=limit)

    async def uids(self, **wanted: Any) -> list[str]:
        return _uids(await self.page(**wanted))


def _uids(page: CallRecordPage) -> list[str]:
    return [item.contact_uid for item in page.items]


@pytest.fixture
def world() -> World:
    return World()


async def test_calls_are_found_by_what_is_asked_for(world: World) -> None:
    await world.add(
        call("a", 0),
        call("b", 1, AgentID="sales", callDirection="outbound", status="busy", campaignId="spring"),
        call("c", 2, phone="+442079460000", phoneLast10="2079460000"),
    )
    await world.add(call("theirs", 3), owner="other")
    assert await world.uids() == ["c", "b", "a"]
    assert await world.uids(agent_id="sales") == ["b"]
    assert await world.uids(direction=CallDirection.OUTBOUND) == ["b"]
    assert await world.uids(status=ContactStatus.COMPLETED) == ["c", "a"]
    assert await world.uids(campaign_id="spring") == ["b"]
    assert await world.uids(since=at(1)) == ["c", "b"]
    assert await world.uids(until=at(1)) == ["a"]
    assert await world.uids(since=at(1), until=at(2), status=ContactStatus.BUSY) == ["b"]
    assert await world.uids(phone="+44 20 7946 0000") == ["c"]


@pytest.mark.parametrize("phone", [PHONE, "(415) 555-0123", "tel:+1-415-555-0123", "14155550123"])
async def test_a_number_is_found_in_any_format(world: World, phone: str) -> None:
    await world.add(
        call("whole"), call("national", phone="415 555 0123"), call("other", phoneLast10="1")
    )
    assert sorted(await world.uids(phone=phone)) == ["national", "whole"]


async def test_a_whole_number_does_not_find_another_person(world: World) -> None:
    indian = "+914155550123"
    await world.add(call("us"), call("in", phone=indian, originalPhone=indian))
    assert await world.uids(phone=PHONE) == ["us"]
    assert await world.uids(phone=indian) == ["in"]
    # Without a country the digits are all there is to go by, unless the owner says where they call.
    assert sorted(await world.uids(phone="4155550123")) == ["in", "us"]
    owners = world.owned.of("acme", Resource.OWNERS)
    await owners.insert({"ownerId": "acme", "defaultRegion": "US"})
    assert await world.uids(phone="4155550123") == ["us"]


@pytest.mark.parametrize("phone", ["12345", "anonymous", ""])
async def test_what_is_no_number_is_refused(world: World, phone: str) -> None:
    with pytest.raises(InvalidInputError):
        await world.page(phone=phone)


async def test_pages_follow_each_other_without_gaps(world: World) -> None:
    await world.add(*(call(f"c{number}", number // 2) for number in range(7)))
    seen: list[str] = []
    after, pages = None, 0
    while pages == 0 or after:
        page = await world.page(after=after, limit=2)
        seen += _uids(page)
        after, pages = page.next, pages + 1
    assert seen == ["c6", "c5", "c4", "c3", "c2", "c1", "c0"]
    assert pages == 4


async def test_a_full_last_page_says_that_it_is_the_last(world: World) -> None:
    await world.add(call("a"), call("b", 1))
    page = await world.page(limit=2)
    assert (_uids(page), page.next) == (["b", "a"], None)


async def test_a_page_looks_past_another_persons_calls_and_then_gives_its_place(
    world: World,
) -> None:
    indian = "+914155550123"
    strangers = [call(f"s{n}", n + 1, phone=indian, originalPhone=indian) for n in range(12)]
    await world.add(call("mine"), *strangers)
    page = await world.page(phone=PHONE, limit=2)
    assert _uids(page) == []
    assert page.next is not None
    page = await world.page(phone=PHONE, limit=2, after=page.next)
    assert (_uids(page), page.next) == (["mine"], None)


async def test_an_old_record_is_shown_as_far_as_it_can_be_read(world: World) -> None:
    await world.add(
        {
            "contactUID": "old",
            "phone": 14155550123,
            "callStartedAt": at(0),
            "summaryStatus": "done",
            "conversation_summary": "Asked for a refund.",
            "status": "queued",
            "transcript": [{"role": "user"}, "?"],
            "memoryReceipt": {"unknown": 1},
            "handoffReceipts": "none",
            "analysis": "none",
            "dynamicVariables": {"age": 3.0, "x": None},
        }
    )
    (item,) = (await world.page()).items
    assert (item.agent_id, item.direction, item.status) == ("", "unknown", "queued")
    assert (item.phone, item.analysis_status) == ("14155550123", "done")
    detail = await world.view.detail("acme", "old")
    assert detail.dynamic_variables == {"age": "3"}
    assert (detail.transcript, detail.analysis, detail.memory_receipt) == ((), None, None)
    assert [item.kind for item in detail.timeline] == ["started"]
    assert detail.timeline_complete


async def test_one_call_is_shown_with_everything_that_is_kept_of_it(world: World) -> None:
    feature = {"outcome": "applied", "contact_uids": ["x"], "refused": {"duplicate": 1}}
    receipt = {"history": {**feature, "took_ms": 3.5, "window_start": at(-9)}, "variables": feature}
    await world.add(
        call(
            "a",
            sessionId="s",
            callEndedAt=at(5),
            hangupRequestedAt=at(4),
            transcript=[{"role": "user", "text": "Hi", "at": at(1), "interrupted": False}],
            memoryReceipt=receipt,
            handoffReceipts=[receipt, "broken"],
            degradations=["record_late"],
            language="hi",
            conversation_summary="…",
            conversation_summary_en="They said hi.",
            analysisStatus="done",
            analysis={"outcome": "resolved", "analysedAt": at(6)},
            campaignId="spring",
        )
    )
    wire = (await world.view.detail("acme", "a")).model_dump(mode="json", by_alias=True)
    assert wire["contactUID"] == "a"
    assert wire["agentId"] == "reception"
    assert wire["analysisStatus"] == "done"
    assert wire["analysis"]["outcome"] == "resolved"
    assert wire["conversationSummaryEn"] == "They said hi."
    assert wire["transcript"][0]["text"] == "Hi"
    assert wire["memoryReceipt"]["history"]["contactUIDs"] == ["x"]
    assert wire["memoryReceipt"]["history"]["tookMs"] == 3.5
    assert wire["memoryReceipt"]["variables"]["refused"] == {"duplicate": 1}
    assert len(wire["handoffReceipts"]) == 1
    assert wire["degradations"] == ["record_late"]
    kinds = [item["kind"] for item in wire["timeline"]]
    assert kinds == ["started", "hangup_requested", "ended", "analysed"]


async def test_the_timeline_has_what_was_said_in_this_call_of_the_session(world: World) -> None:
    await world.archive.save_conversation(
        "person",
        "s",
        [
            MemoryEntry(id="0", role="user", content="Before", mode="text", timestamp=at(-1)),
            MemoryEntry(id="1", role="user", content="Refund?", mode="voice", timestamp=at(1)),
            MemoryEntry(
                id="2",
                role="assistant",
                content="Within 30 days.",
                mode="voice",
                timestamp=at(2),
                latency_ms=640.0,
                stages_ms={"llm": 300.0, "tts": 200.0},
                sources=({"document": "faq.md", "page": None, "score": 1.0},),
                degradations=("rag_late",),
            ),
            MemoryEntry(id="3", role="user", content="After", mode="text", timestamp=at(9)),
        ],
        [
            MemoryEvent(
                id="4",
                event_type="language_switch",
                data={"to_language": "es"},
                timestamp=at(1.5),
            )
        ],
    )
    await world.add(call("a", sessionId="s", callEndedAt=at(5)), call("live", 8, sessionId="s"))
    detail = await world.view.detail("acme", "a")
    told = [item.text or item.event or item.kind for item in detail.timeline]
    assert told == ["started", "Refund?", "language_switch", "Within 30 days.", "ended"]
    answer = detail.timeline[3]
    assert (answer.latency_ms, answer.stages_ms) == (640.0, {"llm": 300.0, "tts": 200.0})
    assert answer.sources[0]["document"] == "faq.md"
    assert answer.degradations == ("rag_late",)
    assert detail.timeline[2].data == {"to_language": "es"}

    live = await world.view.detail("acme", "live")
    assert [item.text or item.kind for item in live.timeline] == ["started", "After"]


async def test_a_call_is_shown_although_its_conversation_cannot_be_read(world: World) -> None:
    await world.add(call("a", sessionId="s", callEndedAt=at(5)))
    view = CallRecordsView(owned=world.owned, archive=AwayArchive())
    detail = await view.detail("acme", "a")
    assert [item.kind for item in detail.timeline] == ["started", "ended"]
    assert not detail.timeline_complete


async def test_another_owners_call_is_not_found(world: World) -> None:
    await world.add(call("theirs"), owner="other")
    for uid in ("theirs", "nobody's"):
        with pytest.raises(NotFoundError):
            await world.view.detail("acme", uid)
