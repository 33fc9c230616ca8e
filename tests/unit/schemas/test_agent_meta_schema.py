"""Agents: strict at the edge, forgiving where a call must be answered."""

from typing import Any

import pytest
from pydantic import ValidationError

from src.schemas.agent_meta_schema import AgentMeta

BASE: dict[str, Any] = {"agent_id": "a", "owner_id": "o"}


def test_both_memory_features_are_off_by_default() -> None:
    meta = AgentMeta.model_validate(BASE)
    assert meta.history_context_enabled is False
    assert meta.history_context_max == 5
    assert meta.history_context_window_type == "months"
    assert meta.history_context_window_value == 1
    assert meta.history_context_window_start is None
    assert meta.history_context_linked_agent_ids == ()
    assert meta.variable_memory_enabled is False
    assert meta.variable_memory_linked_agent_id is None


BAD = [
    ("history_context_enabled", "yes"),
    ("history_context_max", 0),
    ("history_context_max", 11),
    ("history_context_max", 2.5),
    ("history_context_window_type", "fortnights"),
    ("history_context_window_value", 0),
    ("history_context_window_start", "yesterday"),
    ("history_context_linked_agent_ids", "outreach"),
    ("history_context_linked_agent_ids", [1]),
    ("variable_memory_enabled", 1),
    ("variable_memory_linked_agent_id", 7),
]


@pytest.mark.parametrize(("field", "value"), BAD)
def test_a_bad_memory_field_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(ValidationError) as refused:
        AgentMeta.model_validate(BASE | {field: value})
    assert refused.value.errors()[0]["loc"][0] == field


@pytest.mark.parametrize(("field", "value"), BAD)
def test_in_a_call_a_bad_memory_field_only_switches_its_feature_off(
    field: str, value: object
) -> None:
    on = {"history_context_enabled": True, "variable_memory_enabled": True}
    meta, refused = AgentMeta.for_call(BASE | on | {field: value})
    assert refused == (field,)
    assert meta.history_context_enabled is not field.startswith("history")
    assert meta.variable_memory_enabled is not field.startswith("variable")


def test_a_custom_window_without_a_start_is_off() -> None:
    raw = BASE | {"history_context_enabled": True, "history_context_window_type": "custom"}
    meta, refused = AgentMeta.for_call(raw)
    assert not meta.history_context_enabled
    assert refused == ("history_context_window_start",)


def test_a_bad_schema_of_the_analysis_does_not_fail_the_call() -> None:
    meta, refused = AgentMeta.for_call(BASE | {"analysis_schema": ["name"]})
    assert meta.analysis_schema is None
    assert refused == ("analysis_schema",)


def test_a_bad_field_outside_the_memory_features_is_never_swallowed() -> None:
    with pytest.raises(ValidationError):
        AgentMeta.for_call(BASE | {"timezone": "Mars/Olympus"})


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(ValidationError, match="history_contxt_enabled"):
        AgentMeta.for_call(BASE | {"history_contxt_enabled": True})
