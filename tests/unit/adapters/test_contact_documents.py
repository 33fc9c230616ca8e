"""Documents of any age, read without complaint."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from src.adapters.contact_documents import (
    FINAL_STATUSES,
    HISTORY_FIELDS,
    moment,
    past_conversation,
    plain,
    remembered_variables,
    transcript,
    variables,
)
from src.schemas.contact import ContactStatus
from tests.fakes.clock import NOON

NOON_TURN = {"role": "user", "text": "Hi", "at": NOON, "interrupted": False}
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.datetimes(timezones=st.none() | st.just(UTC) | st.just(timezone(timedelta(hours=14)))),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
documents = st.dictionaries(st.sampled_from([*HISTORY_FIELDS, "transcript", "_id"]), anything)


@given(documents)
def test_no_document_is_too_odd_to_read(document: dict[str, Any]) -> None:
    found = past_conversation(document)
    assert found is None or (found.summary.strip() and found.at.tzinfo is not None)
    remembered = remembered_variables({**document, "callDirection": "outbound"})
    assert remembered is None or all(text.strip() for text in remembered.variables.values())
    assert isinstance(transcript(document), tuple)


@given(anything)
def test_variables_are_text_and_never_blank(stored: object) -> None:
    for name, text in variables({"dynamicVariables": stored}).items():
        assert isinstance(name, str)
        assert text.strip()


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (NOON, NOON),
        (datetime(2026, 12, 1, 12), NOON),  # noqa: DTZ001 - stored without a zone
        (datetime(2026, 12, 1, 17, 30, tzinfo=timezone(timedelta(hours=5, minutes=30))), NOON),
        ("2026-12-01T12:00:00.000Z", NOON),
        (" 2026-12-01 12:00 ", NOON),
        ("Tue Dec 01 2026", None),
        ("", None),
        (1_796_126_400, None),
        (True, None),
        (None, None),
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=1))), None),
    ],
)
def test_moments(stored: object, expected: datetime | None) -> None:
    assert moment(stored) == expected


def test_turns_that_cannot_be_read_are_left_out() -> None:
    stored = [NOON_TURN, {"role": "user"}, "words", None, {**NOON_TURN, "role": "assistant"}]
    assert [turn.role for turn in transcript({"transcript": stored})] == ["user", "assistant"]


def test_eight_statuses_are_final() -> None:
    assert len(FINAL_STATUSES) == 8
    assert FINAL_STATUSES.isdisjoint(
        {ContactStatus.DIALING, ContactStatus.RINGING, ContactStatus.IN_PROGRESS}
    )


def test_plain_values_have_no_enum_members_and_no_tuples() -> None:
    tree = plain({ContactStatus.BUSY: (ContactStatus.FAILED, 1, None, {"at": NOON})})
    assert tree == {"busy": ["failed", 1, None, {"at": NOON}]}
    assert [type(key) for key in tree] == [str]
    assert type(tree["busy"][0]) is str
