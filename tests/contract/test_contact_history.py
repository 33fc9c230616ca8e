"""What the lookups return, whatever stores the contacts."""

from contextlib import aclosing
from datetime import datetime, timedelta
from typing import Any

import pytest

from src.schemas.contact import ContactQuery, PastConversation, RememberedVariables
from tests.contract.conftest import ContactStore
from tests.contract.documents import PHONE, ago, past_call, query
from tests.fakes.clock import NOON

pytestmark = pytest.mark.integration


async def conversations(store: ContactStore, asked: ContactQuery) -> list[PastConversation]:
    async with aclosing(store.history.conversations(asked)) as found:
        return [one async for one in found]


async def variables(store: ContactStore, asked: ContactQuery) -> list[RememberedVariables]:
    async with aclosing(store.history.variables(asked)) as found:
        return [one async for one in found]


async def uids(store: ContactStore, asked: ContactQuery) -> list[str]:
    """Of the conversations; the lookup of variables must agree, since every document has both."""
    history = [one.contact_uid for one in await conversations(store, asked)]
    assert [one.contact_uid for one in await variables(store, asked)] == history
    return history


async def test_returns_the_call_as_it_was_stored(store: ContactStore) -> None:
    await store.load(
        past_call("a", originalPhone="(415) 555-0123", callStartedAt=ago(days=2)),
    )
    assert await conversations(store, query()) == [
        PastConversation(
            contact_uid="a",
            phone=PHONE,
            original_phone="(415) 555-0123",
            agent_id="reception",
            call_direction="outbound",
            summary="Summary of a.",
            at=ago(days=2),
        )
    ]
    assert await variables(store, query()) == [
        RememberedVariables(
            contact_uid="a",
            phone=PHONE,
            original_phone="(415) 555-0123",
            variables={"name": "Daivik"},
            at=ago(days=2),
        )
    ]


async def test_newest_first_over_agents_and_kinds_of_date(store: ContactStore) -> None:
    await store.load(
        past_call("third", callStartedAt=ago(days=3)),
        past_call("first", AgentID="outreach", callStartedAt=ago(days=1)),
        past_call("second", callStartedAt=None, createdAt=ago(days=2)),
        past_call("fifth", AgentID="outreach", callStartedAt=..., createdAt=ago(days=5)),
        past_call("fourth", AgentID="outreach", callStartedAt=ago(days=4), createdAt=NOON),
    )
    order = ["first", "second", "third", "fourth", "fifth"]
    assert await uids(store, query("reception", "outreach")) == order


async def test_ties_by_contact_uid_descending(store: ContactStore) -> None:
    at = ago(hours=1)
    await store.load(
        past_call("b", callStartedAt=at),
        past_call("d", AgentID="outreach", callStartedAt=at),
        past_call("older", callStartedAt=ago(hours=2)),
        past_call("c", callStartedAt=None, createdAt=at),
        past_call("a", callStartedAt=at),
    )
    assert await uids(store, query("reception", "outreach")) == ["d", "c", "b", "a", "older"]


async def test_both_ends_of_the_window_belong_to_it(store: ContactStore) -> None:
    since, until = ago(days=7), ago(days=1)
    moments = {
        "after": until + timedelta(milliseconds=1),
        "end": until,
        "start": since,
        "before": since - timedelta(milliseconds=1),
    }
    await store.load(
        *(past_call(f"{name}-1", callStartedAt=at) for name, at in moments.items()),
        *(past_call(f"{name}-2", callStartedAt=None, createdAt=at) for name, at in moments.items()),
    )
    window = query(since=since, until=until)
    assert await uids(store, window) == ["end-2", "end-1", "start-2", "start-1"]


async def test_a_window_that_begins_within_a_millisecond(store: ContactStore) -> None:
    await store.load(past_call("a", callStartedAt=ago(days=1)))
    assert await uids(store, query(since=ago(days=1) + timedelta(microseconds=1))) == []
    assert await uids(store, query(since=ago(days=1) - timedelta(microseconds=1))) == ["a"]


async def test_only_this_owner_these_agents_and_this_number(store: ContactStore) -> None:
    await store.load(
        past_call("mine"),
        past_call("other-owner", ownerId="globex"),
        past_call("other-agent", AgentID="billing"),
        past_call("other-number", phoneLast10="4155550124"),
        past_call("web", phone=None, originalPhone=None, phoneLast10=None),
    )
    assert await uids(store, query()) == ["mine"]
    assert await uids(store, query("nobody")) == []


async def test_not_the_call_that_asks(store: ContactStore) -> None:
    await store.load(past_call("asking"), past_call("earlier", callStartedAt=ago(days=2)))
    assert await uids(store, query(exclude_contact_uid="asking")) == ["earlier"]


@pytest.mark.parametrize("summary", [..., None, "", " \n\t", "\u00a0\u2003", 17, ["text"], {}])
async def test_no_history_without_a_summary(store: ContactStore, summary: Any) -> None:
    await store.load(past_call("a", conversation_summary=summary))
    assert await conversations(store, query()) == []


@pytest.mark.parametrize(
    "stored", [..., None, {}, "name", ["name"], {"name": " "}, {"name": None, "at": {"a": "b"}}]
)
async def test_no_variables_without_a_value(store: ContactStore, stored: Any) -> None:
    await store.load(past_call("a", dynamicVariables=stored))
    assert await variables(store, query()) == []


async def test_variables_of_outbound_calls_alone(store: ContactStore) -> None:
    await store.load(
        past_call("in", callDirection="inbound"),
        past_call("web", callDirection="web"),
        past_call("unknown", callDirection=...),
        past_call("out", callStartedAt=ago(days=9)),
    )
    assert [one.contact_uid for one in await variables(store, query())] == ["out"]
    assert len(await conversations(store, query())) == 4


async def test_values_become_text_and_what_is_no_plain_value_falls_away(
    store: ContactStore,
) -> None:
    stored = {
        "name": "दैविक",
        "amount": 12,
        "price": 3.5,
        "count": 3.0,
        "member": True,
        "customer.city": "Pune",
        "$odd": "kept",
        "blank": "  ",
        "nothing": None,
        "nested": {"a": "b"},
        "list": ["a"],
        "endless": float("inf"),
        "when": NOON,
    }
    await store.load(past_call("a", dynamicVariables=stored))
    (found,) = await variables(store, query())
    assert found.variables == {
        "name": "दैविक",
        "amount": "12",
        "price": "3.5",
        "count": "3",
        "member": "true",
        "customer.city": "Pune",
        "$odd": "kept",
    }


@pytest.mark.parametrize(
    ("started", "created", "expected"),
    [
        ("2026-11-30T10:00:00Z", NOON, datetime.fromisoformat("2026-11-30T10:00:00+00:00")),
        ("2026-11-30T10:00:00+05:30", NOON, datetime.fromisoformat("2026-11-30T04:30:00+00:00")),
        ("2026-11-30", NOON, datetime.fromisoformat("2026-11-30T00:00:00+00:00")),
        ("yesterday", ago(days=4), ago(days=4)),
        (1_796_000_000, ago(days=4), ago(days=4)),
        ("", "2026-11-29T00:00:00Z", datetime.fromisoformat("2026-11-29T00:00:00+00:00")),
        (None, "last week", None),
        (..., ..., None),
    ],
)
async def test_dates_of_older_programs(
    store: ContactStore, started: Any, created: Any, expected: datetime | None
) -> None:
    await store.load(past_call("a", callStartedAt=started, createdAt=created))
    found = await conversations(store, query())
    assert [one.at for one in found] == ([] if expected is None else [expected])


async def test_records_of_older_programs_are_found(store: ContactStore) -> None:
    await store.load(
        past_call("a", callDirection=..., originalPhone=..., status=..., createdAt=...),
        past_call("b", phone=14155550123, originalPhone=None, callStartedAt=ago(days=2)),
        past_call("b", callStartedAt=ago(days=3)),
    )
    found = await conversations(store, query())
    assert [(one.contact_uid, one.phone, one.call_direction) for one in found] == [
        ("a", PHONE, "unknown"),
        ("b", "14155550123", "outbound"),
        ("b", PHONE, "outbound"),
    ]


async def test_a_reader_may_stop_early_and_others_go_on(store: ContactStore) -> None:
    await store.load(
        *(past_call(f"c{n:03}", callStartedAt=ago(minutes=n)) for n in range(130)),
        *(past_call(f"u{n:03}", callStartedAt=None, createdAt=ago(minutes=n)) for n in range(9)),
    )
    async with aclosing(store.history.conversations(query())) as found:
        first = [await anext(found) for _ in range(3)]
    assert [one.contact_uid for one in first] == ["u000", "c000", "u001"]
    everything = await conversations(store, query())
    assert len(everything) == 139
    assert everything == sorted(everything, key=lambda one: (one.at, one.contact_uid), reverse=True)


async def test_no_agents_no_calls(store: ContactStore) -> None:
    await store.load(past_call("a"))
    nobody = query().model_copy(update={"agent_ids": frozenset()})
    assert await uids(store, nobody) == []
