"""What a job is told."""

import json
import logging

import pytest

from src.handlers.entry import parse_metadata
from src.schemas.contact import CallDirection


def test_metadata_is_read() -> None:
    raw = json.dumps({"v": 1, "call_type": "outbound", "agent_id": "a", "phone": "+15551234567"})
    metadata = parse_metadata(raw)
    assert metadata.call_type is CallDirection.OUTBOUND
    assert metadata.phone == "+15551234567"


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "not json",
        "[]",
        '{"v": 2, "call_type": "inbound"}',
        '{"call_type": "fax"}',
        '{"call_type": "inbound", "x": 1}',
    ],
)
def test_absent_or_broken_metadata_means_an_inbound_call(raw: str) -> None:
    metadata = parse_metadata(raw)
    assert metadata.call_type is CallDirection.INBOUND
    assert metadata.agent_id is None


def test_refused_metadata_is_logged_without_its_values(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    parse_metadata(json.dumps({"call_type": "outbound", "phone": "call Ana at 555"}))
    assert caplog.messages == ["job metadata refused, taken as inbound"]
    assert "Ana" not in str(vars(caplog.records[0]))
