"""Boundaries of the custom window, and what else a document must keep."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from src.schemas.agent_document import AgentDocument
from src.schemas.agent_meta_schema import AgentMeta
from src.services.agent_config import build_agent_config
from src.services.agent_validation import document_problems
from src.services.conversation_history import window_start

START = "historyContext.window.startDate"
MILLISECOND = timedelta(milliseconds=1)
moments = st.datetimes(
    min_value=datetime(2001, 1, 1),  # noqa: DTZ001 - the zone is given beside
    max_value=datetime(2100, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)


def problems(start: object, now: datetime, **window: Any) -> list[tuple[str, str]]:
    """What is wrong with a custom window."""
    written = start.isoformat() if isinstance(start, datetime) else start
    fields = {"type": "custom", "startDate": written, **window}
    document = AgentDocument.model_validate({"historyContext": {"window": fields}})
    return [(one.field, one.message) for one in document_problems(document, now)]


def year_before(now: datetime) -> datetime:
    """As people count: the same day of the year before, the last one if there is none."""
    try:
        return now.replace(year=now.year - 1)
    except ValueError:
        return now.replace(year=now.year - 1, day=28)


@given(now=moments)
@example(now=datetime(2028, 2, 29, 12, tzinfo=UTC))
@example(now=datetime(2029, 2, 28, 12, tzinfo=UTC))
@example(now=datetime(2029, 3, 1, tzinfo=UTC))
@example(now=datetime(2026, 1, 31, 23, 59, 59, 999999, tzinfo=UTC))
def test_a_start_of_exactly_one_year_ago_is_the_earliest(now: datetime) -> None:
    now = now.replace(microsecond=now.microsecond // 1000 * 1000)
    earliest = year_before(now)
    assert problems(earliest, now) == []
    before = earliest - MILLISECOND
    assert problems(before, now) == [(START, "must not be more than one year ago")]
    assert problems(now, now) == []
    assert problems(now + MILLISECOND, now) == [(START, "must not be in the future")]


@given(now=moments)
@example(now=datetime(2028, 2, 29, 12, tzinfo=UTC))
@example(now=datetime(2026, 12, 1, 0, 0, tzinfo=UTC))
def test_a_day_counts_as_a_whole(now: datetime) -> None:
    day = year_before(now).date()
    assert problems(day.isoformat(), now) == []
    before = day - timedelta(days=1)
    assert problems(before.isoformat(), now) == [(START, "must not be more than one year ago")]
    assert problems(now.date().isoformat(), now) == []


@given(now=moments, age=st.timedeltas(timedelta(0), timedelta(days=400)))
def test_what_is_accepted_is_the_window_that_a_call_has(now: datetime, age: timedelta) -> None:
    start = now - age
    if problems(start, now):
        return
    fields = {"type": "custom", "startDate": start.isoformat()}
    document = AgentDocument.model_validate({"historyContext": {"window": fields}})
    meta = AgentMeta.model_validate(
        build_agent_config({**document.stored(), "agentId": "a", "ownerId": "o"})
    )
    # The start itself, but for milliseconds and the hours of the one day that is older than a year.
    assert abs(window_start(meta, now) - start) < timedelta(days=1)


def test_a_custom_window_needs_a_start() -> None:
    now = datetime(2026, 12, 1, tzinfo=UTC)
    assert problems(None, now) == [(START, "is required for a custom window")]


def test_a_start_is_not_read_where_the_window_is_not_custom() -> None:
    now = datetime(2026, 12, 1, tzinfo=UTC)
    assert problems("2019-01-01", now, type="weeks") == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"variableDefaults": {"{{x": "y"}}, ["variableDefaults.{{x"]),
        ({"variableDefaults": {"First Name": "y", "नाम": "y"}}, []),
        ({"analysisSchema": {"type": "string"}}, ["analysisSchema"]),
        (
            {"analysisSchema": {"type": "object", "properties": {"a": {"type": "no"}}}},
            ["analysisSchema"],
        ),
        ({"analysisSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}, []),
    ],
)
def test_names_and_schemas_must_be_usable(fields: dict[str, Any], expected: list[str]) -> None:
    document = AgentDocument.model_validate(fields)
    found = document_problems(document, datetime(2026, 12, 1, tzinfo=UTC))
    assert [one.field for one in found] == expected
