"""The Agent document: defaults, limits, strictness."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from src.schemas.agent_document import MAX_CONTEXT_CHARS, AgentDocument
from src.schemas.agent_meta_schema import AgentMeta


def test_an_empty_document_is_the_default_agent_with_both_features_off() -> None:
    document = AgentDocument.model_validate({})
    assert document.model_dump(by_alias=True)["historyContext"] == {
        "enabled": False,
        "maxConversations": 5,
        "window": {"type": "months", "value": 1, "startDate": None},
        "linkedAgentIds": (),
        "variableMemory": {"enabled": False, "linkedAgentId": None},
    }
    assert document.greeting == AgentMeta.model_fields["greeting"].default


def test_every_name_on_the_wire_is_the_documents_own() -> None:
    names = set(AgentDocument.model_validate({}).model_dump(by_alias=True))
    assert {"Context", "ragBudgetMs", "knowledgeBaseIds", "analysisSchema"} <= names
    assert "context" not in names


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("name", ""),
        ("name", 5),
        ("name", None),
        ("name", "a\x00"),
        ("name", "\ud800"),
        ("greeting", "x" * 5001),
        ("Context", "x" * (MAX_CONTEXT_CHARS + 1)),
        ("context", "another name"),
        ("agentId", "mine"),
        ("ownerId", "mine"),
        ("nonsense", 1),
        ("variable_defaults", {}),
        ("language", "english please"),
        ("languages", ["en", 5]),
        ("languages", "en"),
        ("languages", {"en": "hi"}),
        ("timezone", "Mars/Olympus"),
        ("timezone", ""),
        ("timezone", "\ud800"),
        ("variableDefaults", {"a": 1}),
        ("variableDefaults", {"$a": "x"}),
        ("variableDefaults", {"a.b": "x"}),
        ("variableDefaults", {"": "x"}),
        ("variableDefaults", {str(i): "x" for i in range(201)}),
        ("greetings", {"not a language": "x"}),
        ("ragBudgetMs", "80"),
        ("ragBudgetMs", True),
        ("ragBudgetMs", 2001),
        ("maxContextTokens", 499),
        ("maxContextTokens", 10**19),
        ("analysisSchema", "object"),
        ("analysisSchema", {"": 1}),
        ("analysisSchema", {"a": ["\x00"]}),
        ("analysisSchema", {"a": {"b": 2**63}}),
        ("historyContext", None),
        ("historyContext", {"enabled": "true"}),
        ("historyContext", {"enabled": 1}),
        ("historyContext", {"maxConversations": 0}),
        ("historyContext", {"maxConversations": 11}),
        ("historyContext", {"maxConversations": "5"}),
        ("historyContext", {"maxConversations": True}),
        ("historyContext", {"maxConversations": 5.5}),
        ("historyContext", {"window": "months"}),
        ("historyContext", {"window": {"type": "decades"}}),
        ("historyContext", {"window": {"value": 0}}),
        ("historyContext", {"window": {"value": "1"}}),
        ("historyContext", {"window": {"startDate": 1_700_000_000}}),
        ("historyContext", {"window": {"startDate": "1700000000"}}),
        ("historyContext", {"window": {"startDate": "2026-03-01T10:00:00"}}),
        ("historyContext", {"window": {"startDate": "2026-13-01"}}),
        ("historyContext", {"window": {"startDate": "yesterday"}}),
        ("historyContext", {"window": {"startDate": "0001-01-01T00:00:00+14:00"}}),
        ("historyContext", {"window": {"typ": "days"}}),
        ("historyContext", {"linkedAgentIds": "outreach"}),
        ("historyContext", {"linkedAgentIds": {"outreach": 1}}),
        ("historyContext", {"linkedAgentIds": [5]}),
        ("historyContext", {"linkedAgentIds": [""]}),
        ("historyContext", {"linkedAgentIds": ["a"] * 51}),
        ("historyContext", {"variableMemory": True}),
        ("historyContext", {"variableMemory": {"linkedAgentId": 5}}),
        ("historyContext", {"variableMemory": {"linkedAgentId": ["a"]}}),
        ("historyContext", {"variableMemory": {"linkedAgentIds": []}}),
    ],
)
def test_what_cannot_be_is_refused_by_name(path: str, value: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        AgentDocument.model_validate({path: value})
    assert refused.value.errors()[0]["loc"][0] == path


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01T00:00:00.000Z", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01T05:30:00+05:30", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01T00:00:00.123456Z", datetime(2026, 3, 1, 0, 0, 0, 123000, tzinfo=UTC)),
    ],
)
def test_a_date_is_kept_as_an_instant_in_milliseconds(written: str, moment: datetime) -> None:
    window = {"type": "custom", "startDate": written}
    document = AgentDocument.model_validate({"historyContext": {"window": window}})
    assert document.stored()["historyContext"]["window"]["startDate"] == moment


def test_deep_json_is_refused_and_not_followed() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"a": deep}
    with pytest.raises(ValidationError):
        AgentDocument.model_validate({"analysisSchema": deep})
