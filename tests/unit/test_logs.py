"""Logs keep callers' data out."""

import json
import logging

import pytest

from src.logs import JsonLines, PiiFilter, allow_pii, get_logger, guard_livekit_logs, trace_of


def test_pii_fields_are_removed_and_others_stay(caplog: pytest.LogCaptureFixture) -> None:
    get_logger("src.test").warning("dialled", extra={"pii.to": "+15551234567", "call_id": "c"})
    (record,) = caplog.records
    assert "+15551234567" not in str(vars(record))
    assert vars(record)["call_id"] == "c"


def test_a_developer_may_keep_them(caplog: pytest.LogCaptureFixture) -> None:
    allow_pii(allow=True)
    try:
        get_logger("src.test").warning("dialled", extra={"pii.to": "+15551234567"})
    finally:
        allow_pii(allow=False)
    assert vars(caplog.records[0])["pii.to"] == "+15551234567"
    assert PiiFilter.allow is False


def test_a_trace_says_where_without_what() -> None:
    words = f"my number is 555{1234567}"
    with pytest.raises(ValueError, match="5551234567") as raised:
        int(words)
    trace = trace_of(raised.value)
    assert "test_logs.py" in trace
    assert "ValueError" in trace
    assert "5551234567" not in trace


def test_livekits_records_are_stripped_too(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("livekit.agents.test")
    guard_livekit_logs()
    logger.warning(
        "participant left",
        extra={"lk.pii.identity": "sip_+15551234567", "participant": "sip_+15551234567", "x": "y"},
    )
    (record,) = caplog.records
    assert "5551234567" not in str(vars(record))
    assert vars(record)["participant"] == "sip_…"
    assert vars(record)["x"] == "y"


def test_loggers_follow_the_level_of_the_root() -> None:
    assert get_logger("src.test").level == logging.NOTSET


def test_a_line_is_one_json_object_with_its_fields(caplog: pytest.LogCaptureFixture) -> None:
    get_logger("src.test").warning("served\n%s", "twice", extra={"route": "/a", "pii.to": "+1555"})
    (record,) = caplog.records
    line = JsonLines().format(record)
    assert "\n" not in line
    fields = json.loads(line)
    assert (fields["message"], fields["route"]) == ("served\ntwice", "/a")
    assert set(fields) == {"timestamp", "level", "name", "message", "route"}


def test_a_line_has_the_trace_of_what_a_library_logged(caplog: pytest.LogCaptureFixture) -> None:
    try:
        int("x")
    except ValueError:
        logging.getLogger("library").exception("failed")
    assert "ValueError" in json.loads(JsonLines().format(caplog.records[0]))["trace"]
