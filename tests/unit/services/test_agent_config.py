"""The stored agent, flattened for a call."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from src.schemas.agent_meta_schema import AgentMeta, WindowType
from src.services.agent_config import AGENT_FIELDS, build_agent_config, unknown_fields

BARE: dict[str, Any] = {"agentId": "reception", "ownerId": "acme"}
STORED_OF = {field: name for name, field in AGENT_FIELDS.items()}


def stored(meta: AgentMeta) -> dict[str, Any]:
    """The document of an agent."""
    fields = meta.model_dump()
    return {
        **{STORED_OF[name]: value for name, value in fields.items() if name in STORED_OF},
        "historyContext": {
            "enabled": meta.history_context_enabled,
            "maxConversations": meta.history_context_max,
            "window": {
                "type": meta.history_context_window_type.value,
                "value": meta.history_context_window_value,
                "startDate": meta.history_context_window_start,
            },
            "linkedAgentIds": list(meta.history_context_linked_agent_ids),
            "variableMemory": {
                "enabled": meta.variable_memory_enabled,
                "linkedAgentId": meta.variable_memory_linked_agent_id,
            },
        },
    }


ids = st.text(min_size=1, max_size=5)
agents = st.builds(
    AgentMeta,
    agent_id=ids,
    owner_id=ids,
    name=st.text(),
    greeting=st.text(),
    prompt=st.text(),
    Context=st.text(),
    language=st.sampled_from(["en", "hi"]),
    timezone=st.sampled_from(["UTC", "Asia/Kolkata"]),
    variable_defaults=st.dictionaries(ids, st.text(), max_size=2),
    handoff_agent_ids=st.tuples(ids),
    llm_model=st.none() | ids,
    analysis_schema=st.none() | st.just({"type": "object", "properties": {"a": {"minimum": 1.5}}}),
    tts_voice=st.none() | ids,
    history_context_enabled=st.booleans(),
    history_context_max=st.integers(1, 10),
    history_context_window_type=st.sampled_from(WindowType),
    history_context_window_value=st.integers(1, 99),
    history_context_window_start=st.datetimes(timezones=st.just(UTC)),
    history_context_linked_agent_ids=st.tuples(ids, ids),
    variable_memory_enabled=st.booleans(),
    variable_memory_linked_agent_id=st.none() | ids,
)


@given(agents)
def test_what_was_stored_comes_back(meta: AgentMeta) -> None:
    document = stored(meta)
    assert AgentMeta.model_validate(build_agent_config(document)) == meta
    assert unknown_fields(document) == []


@pytest.mark.parametrize(
    "history",
    [
        {},
        {"historyContext": None},
        {"historyContext": {}},
        {"historyContext": {"enabled": None, "window": None, "variableMemory": None}},
        {"historyContext": {"window": {"type": None}, "variableMemory": {}}},
    ],
)
def test_both_features_are_off_unless_stored_otherwise(history: dict[str, Any]) -> None:
    meta = AgentMeta.model_validate(build_agent_config({**BARE, **history}))
    assert meta == AgentMeta(agent_id="reception", owner_id="acme")
    assert not meta.history_context_enabled
    assert not meta.variable_memory_enabled


def test_numbers_and_dates_as_other_programs_store_them() -> None:
    history = {
        "enabled": True,
        "maxConversations": 5.0,
        "window": {"type": "custom", "value": 1.0, "startDate": datetime(2026, 6, 1)},  # noqa: DTZ001
    }
    meta = AgentMeta.model_validate(build_agent_config({**BARE, "historyContext": history}))
    assert meta.history_context_max == 5
    assert meta.history_context_window_start == datetime(2026, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("history", "refused"),
    [
        ({"maxConversations": 0}, "history_context_max"),
        ({"maxConversations": 11}, "history_context_max"),
        ({"maxConversations": 2.5}, "history_context_max"),
        ({"enabled": "yes"}, "history_context_enabled"),
        ({"window": "months"}, "history_context_window_type"),
        ({"window": {"type": "decades"}}, "history_context_window_type"),
        ({"window": {"type": "custom"}}, "history_context_window_start"),
        ({"window": {"startDate": "soon"}}, "history_context_window_start"),
        ({"linkedAgentIds": "outreach"}, "history_context_linked_agent_ids"),
        ({"variableMemory": True}, "variable_memory_enabled"),
        ({"variableMemory": {"linkedAgentId": ["a"]}}, "variable_memory_linked_agent_id"),
    ],
)
def test_a_bad_value_switches_its_feature_off_and_is_named(
    history: dict[str, Any], refused: str
) -> None:
    on = {"enabled": True, "variableMemory": {"enabled": True}}
    config = build_agent_config({**BARE, "historyContext": {**on, **history}})
    meta, names = AgentMeta.for_call(config)
    assert names == (refused,)
    off_is_history = refused.startswith("history")
    assert meta.history_context_enabled is not off_is_history
    assert meta.variable_memory_enabled is off_is_history


def test_a_history_that_is_no_sub_document_is_off() -> None:
    meta, names = AgentMeta.for_call(build_agent_config({**BARE, "historyContext": True}))
    assert names == ("history_context_enabled",)
    assert not meta.history_context_enabled


def test_other_fields_are_ignored_and_can_be_named() -> None:
    history = {"window": {"typ": "days"}, "variableMemory": {"linkedAgentIds": []}, "max": 3}
    document = {**BARE, "createdAt": "now", "historyContext": history}
    assert set(build_agent_config(document)) == {"agent_id", "owner_id"}
    assert sorted(unknown_fields(document)) == [
        "createdAt",
        "historyContext.max",
        "historyContext.variableMemory.linkedAgentIds",
        "historyContext.window.typ",
    ]
