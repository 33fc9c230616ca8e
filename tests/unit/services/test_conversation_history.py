"""What earlier calls give to this one, and what they do not."""

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from src.schemas.agent_meta_schema import AgentMeta, WindowType
from src.schemas.receipt import MemoryOutcome, RefusalReason
from src.services.conversation_history import (
    Caller,
    MemorySources,
    _agent_id_set,
    _phone_last10,
    maybe_apply_history_context,
    maybe_apply_variable_memory,
    resolve_history_block,
    resolve_remembered_variables,
    window_start,
)
from src.services.phone_numbers import caller_number
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.contacts import InMemoryContacts

PHONE = "+15551234567"
HEADING = "## Previous Conversation History with This Contact"


def agent(**settings: Any) -> AgentMeta:
    base = {"agent_id": "reception", "owner_id": "acme", "Context": "We open at nine.\n"}
    on = {"history_context_enabled": True, "variable_memory_enabled": True}
    return AgentMeta.model_validate(base | on | settings)


def record(uid: str, **fields: Any) -> dict[str, Any]:
    base = {
        "contactUID": uid,
        "ownerId": "acme",
        "AgentID": "reception",
        "phone": PHONE,
        "phoneLast10": "5551234567",
        "callDirection": "inbound",
        "conversation_summary": f"Summary of {uid}.",
        "callStartedAt": NOON - timedelta(days=3),
    }
    return base | fields


def sources(*documents: dict[str, Any]) -> MemorySources:
    clock = FakeClock()
    return MemorySources(
        contacts=InMemoryContacts(clock, *documents),
        clock=clock,
        count_tokens=lambda text: len(text.split()),
        max_block_tokens=400,
    )


def caller(phone: str | None = PHONE, contact_uid: str | None = "now") -> Caller:
    return Caller(number=caller_number(phone, None, region=None), contact_uid=contact_uid)


def at(**ago: float) -> datetime:
    return NOON - timedelta(**ago)


async def test_history_is_appended_oldest_first_and_the_knowledge_base_stays() -> None:
    found = sources(
        record("b", callStartedAt=at(days=2)),
        record("a", callStartedAt=at(days=9)),
        record("c", callStartedAt=at(days=1)),
    )
    meta, receipt = await maybe_apply_history_context(agent(), caller(), found)
    assert meta.Context.startswith("We open at nine.\n")
    assert meta.Context.count(HEADING) == 1
    positions = [meta.Context.index(f"Summary of {uid}.") for uid in "abc"]
    assert positions == sorted(positions)
    assert receipt.contact_uids == ("a", "b", "c")
    assert receipt.outcome is MemoryOutcome.APPLIED


async def test_only_the_most_recent_of_the_maximum_are_used() -> None:
    records = [record(f"r{i}", callStartedAt=at(days=i + 1)) for i in range(6)]
    _, receipt = await resolve_history_block(
        agent(history_context_max=2), caller(), sources(*records)
    )
    assert receipt.contact_uids == ("r1", "r0")
    assert receipt.refused == {RefusalReason.BEYOND_MAXIMUM: 4}


async def test_of_one_contact_uid_only_the_latest_record_counts() -> None:
    found = sources(
        record("same", callStartedAt=at(days=5), conversation_summary="Old words."),
        record("same", callStartedAt=at(days=1), conversation_summary="New words."),
    )
    block, receipt = await resolve_history_block(agent(), caller(), found)
    assert "New words." in block
    assert "Old words." not in block
    assert receipt.refused == {RefusalReason.DUPLICATE: 1}


@pytest.mark.parametrize("summary", ["", "   \n", None])
async def test_a_call_without_a_summary_is_no_history(summary: str | None) -> None:
    block, receipt = await resolve_history_block(
        agent(), caller(), sources(record("a", conversation_summary=summary))
    )
    assert block == ""
    assert receipt.outcome is MemoryOutcome.NOTHING_FOUND


@pytest.mark.parametrize(
    "other",
    [
        {"ownerId": "globex"},
        {"AgentID": "somebody-else"},
        {"phone": "+15557654321", "phoneLast10": "5557654321"},
        {"callStartedAt": at(days=40)},
        {"callStartedAt": at(days=-1)},
    ],
    ids=["owner", "agent", "phone", "too old", "in the future"],
)
async def test_records_outside_the_match_are_not_used(other: dict[str, Any]) -> None:
    block, _ = await resolve_history_block(agent(), caller(), sources(record("a", **other)))
    assert block == ""


async def test_linked_agents_pool_their_history() -> None:
    found = sources(record("a", AgentID="outreach"))
    alone, _ = await resolve_history_block(agent(), caller(), found)
    linked, receipt = await resolve_history_block(
        agent(history_context_linked_agent_ids=("outreach",)), caller(), found
    )
    assert alone == ""
    assert "Summary of a." in linked
    assert receipt.agent_ids == ("outreach", "reception")


async def test_the_call_time_falls_back_to_the_creation_of_the_record() -> None:
    found = sources(record("a", callStartedAt=None, createdAt=at(days=1)))
    _, receipt = await resolve_history_block(agent(), caller(), found)
    assert receipt.contact_uids == ("a",)


async def test_another_countrys_number_with_the_same_last_digits_is_another_person() -> None:
    found = sources(record("a", phone="+915551234567"))
    block, receipt = await resolve_history_block(agent(), caller(), found)
    assert block == ""
    assert receipt.refused == {RefusalReason.DIFFERENT_NUMBER: 1}


async def test_a_caller_without_a_country_gets_no_memory_if_two_people_could_be_meant() -> None:
    one, two = record("a", phone="+15551234567"), record("b", phone="+915551234567")
    certain, _ = await resolve_history_block(agent(), caller("5551234567"), sources(one))
    unsure, receipt = await resolve_history_block(agent(), caller("5551234567"), sources(one, two))
    assert "Summary of a." in certain
    assert unsure == ""
    assert receipt.refused == {RefusalReason.AMBIGUOUS: 2}


async def test_variables_come_from_the_latest_outbound_call_that_has_any() -> None:
    found = sources(
        record(
            "old",
            callDirection="outbound",
            dynamicVariables={"name": "Old"},
            callStartedAt=at(days=9),
        ),
        record(
            "new",
            callDirection="outbound",
            dynamicVariables={"name": "New"},
            callStartedAt=at(days=2),
        ),
        record(
            "blank",
            callDirection="outbound",
            dynamicVariables={"name": " "},
            callStartedAt=at(days=1),
        ),
        record(
            "in",
            callDirection="inbound",
            dynamicVariables={"name": "In"},
            callStartedAt=at(hours=1),
        ),
    )
    variables, receipt = await resolve_remembered_variables(agent(), caller(), found)
    assert variables == {"name": "New"}
    assert receipt.contact_uids == ("new",)


async def test_variables_have_no_window() -> None:
    found = sources(
        record(
            "a",
            callDirection="outbound",
            dynamicVariables={"name": "Ana"},
            callStartedAt=at(days=900),
        )
    )
    variables, _ = await resolve_remembered_variables(agent(), caller(), found)
    assert variables == {"name": "Ana"}


async def test_the_asking_calls_own_record_is_no_source() -> None:
    found = sources(
        record("now", callDirection="outbound", dynamicVariables={"name": ""}),
        record(
            "own",
            callDirection="outbound",
            dynamicVariables={"name": "Self"},
            callStartedAt=at(hours=1),
        ),
        record(
            "before",
            callDirection="outbound",
            dynamicVariables={"name": "Ana"},
            callStartedAt=at(days=1),
        ),
    )
    variables, _ = await resolve_remembered_variables(agent(), caller(contact_uid="own"), found)
    assert variables == {"name": "Ana"}


async def test_the_variable_link_is_its_own_and_single() -> None:
    found = sources(
        record("a", AgentID="outreach", callDirection="outbound", dynamicVariables={"name": "Ana"})
    )
    history_link, _ = await resolve_remembered_variables(
        agent(history_context_linked_agent_ids=("outreach",)), caller(), found
    )
    variable_link, _ = await resolve_remembered_variables(
        agent(variable_memory_linked_agent_id="outreach"), caller(), found
    )
    assert history_link == {}
    assert variable_link == {"name": "Ana"}


async def test_memory_fills_only_missing_and_blank_values() -> None:
    found = sources(
        record(
            "a",
            callDirection="outbound",
            dynamicVariables={"name": "Ana", "plan": "gold", "city": "Rome"},
        )
    )
    live = {"name": "Maria", "plan": "  "}
    values, receipt = await maybe_apply_variable_memory(agent(), caller(), live, found)
    assert values == {"name": "Maria", "plan": "gold", "city": "Rome"}
    assert receipt.variables == ("city", "plan")
    assert live == {"name": "Maria", "plan": "  "}


async def test_nothing_is_written_back() -> None:
    found = sources(record("a", callDirection="outbound", dynamicVariables={"name": "Ana"}))
    contacts = found.contacts
    assert isinstance(contacts, InMemoryContacts)
    before = [dict(d) for d in contacts.documents]
    meta = agent()
    await maybe_apply_history_context(meta, caller(), found)
    await maybe_apply_variable_memory(meta, caller(), {}, found)
    assert contacts.documents == before
    assert meta.Context == "We open at nine.\n"


@pytest.mark.parametrize("history", [True, False])
@pytest.mark.parametrize("variables", [True, False])
async def test_each_feature_is_on_by_itself(
    history: bool, variables: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    found = sources(record("a", callDirection="outbound", dynamicVariables={"name": "Ana"}))
    meta = agent(history_context_enabled=history, variable_memory_enabled=variables)
    after, _ = await maybe_apply_history_context(meta, caller(), found)
    values, _ = await maybe_apply_variable_memory(meta, caller(), {}, found)
    assert (HEADING in after.Context) is history
    assert (values == {"name": "Ana"}) is variables
    assert (
        "Injecting 1 prior conversation summary(ies) into agent Context." in caplog.messages
    ) is history
    assert (
        "Applied 1 remembered dynamic variable(s) from prior calls." in caplog.messages
    ) is variables


async def test_a_call_without_history_says_so(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    await maybe_apply_history_context(agent(), caller(), sources())
    assert caplog.messages == ["No eligible conversation history found"]


@pytest.mark.parametrize("phone", [None, "anonymous", "911", "+1555"])
async def test_a_number_that_identifies_nobody_is_not_looked_up(
    phone: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    found = sources(record("a"))
    meta, receipt = await maybe_apply_history_context(agent(), caller(phone), found)
    values, _ = await maybe_apply_variable_memory(agent(), caller(phone), {"x": "y"}, found)
    assert meta == agent()
    assert values == {"x": "y"}
    assert receipt.outcome is MemoryOutcome.NO_PHONE
    assert caplog.messages[0] == "No usable phone number for history lookup"


async def test_the_log_never_holds_summary_number_or_value(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    found = sources(record("a", callDirection="outbound", dynamicVariables={"name": "Ana"}))
    await maybe_apply_history_context(agent(), caller(), found)
    await maybe_apply_variable_memory(agent(), caller(), {}, found)
    everything = " ".join(str(vars(r)) for r in caplog.records)
    assert caplog.records
    for secret in ("Summary of a", "5551234567", "Ana"):
        assert secret not in everything


@pytest.mark.parametrize(
    ("now", "kind", "value", "start"),
    [
        ("2026-03-31T12:00", "months", 1, "2026-02-28T12:00"),
        ("2024-03-31T12:00", "months", 1, "2024-02-29T12:00"),
        ("2024-02-29T12:00", "years", 1, "2023-02-28T12:00"),
        ("2026-05-31T12:00", "quarters", 1, "2026-02-28T12:00"),
        ("2026-01-15T12:00", "months", 13, "2024-12-15T12:00"),
        ("2026-03-08T12:00", "days", 1, "2026-03-07T12:00"),
        ("2026-11-01T12:00", "weeks", 2, "2026-10-18T12:00"),
    ],
)
def test_windows_follow_the_calendar_in_utc(now: str, kind: str, value: int, start: str) -> None:
    meta = agent(history_context_window_type=kind, history_context_window_value=value)
    moment = datetime.fromisoformat(now).replace(tzinfo=UTC)
    assert window_start(meta, moment) == datetime.fromisoformat(start).replace(tzinfo=UTC)


def test_a_custom_window_starts_where_it_says_but_never_over_a_year_ago() -> None:
    custom = {"history_context_window_type": "custom"}
    recent, aged = at(days=40), at(days=500)
    assert window_start(agent(**custom, history_context_window_start=recent), NOON) == recent
    assert window_start(agent(**custom, history_context_window_start=aged), NOON) == datetime(
        2025, 12, 1, 12, tzinfo=UTC
    )


@given(
    kind=st.sampled_from([w for w in WindowType if w is not WindowType.CUSTOM]),
    value=st.integers(min_value=1, max_value=10**9),
    now=st.datetimes(datetime(1990, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
)
@settings(max_examples=300)
def test_any_window_begins_before_now(kind: WindowType, value: int, now: datetime) -> None:
    meta = agent(history_context_window_type=kind, history_context_window_value=value)
    start = window_start(meta, now)
    assert start < now
    assert start.utcoffset() == timedelta(0)


def test_the_agent_set_is_the_agent_and_its_links_without_blanks() -> None:
    assert _agent_id_set("a", ["b", None, "", "  ", "a", " c "]) == {"a", "b", "c"}


def test_the_last_ten_digits_identify_and_short_numbers_do_not() -> None:
    assert _phone_last10("+1 (555) 123-4567") == "5551234567"
    assert _phone_last10("12345") is None


async def test_who_was_refused_is_told_to_the_asker_and_not_stored() -> None:
    found = sources(
        record("stranger", phone="+915551234567"),
        *(record(f"r{i}", callStartedAt=at(days=i + 1)) for i in range(3)),
    )
    _, receipt = await resolve_history_block(agent(history_context_max=1), caller(), found)
    assert receipt.refused_uids == {
        RefusalReason.DIFFERENT_NUMBER: ("stranger",),
        RefusalReason.BEYOND_MAXIMUM: ("r1", "r2"),
    }
    assert "refused_uids" not in receipt.model_dump()
    assert "stranger" not in receipt.model_dump_json()
