"""The agent as it is stored, and as a call gets it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from src.schemas.agent_document import AgentDocument

AGENT_FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "agentId": "agent_id",
        "ownerId": "owner_id",
        "name": "name",
        "greeting": "greeting",
        "prompt": "prompt",
        "Context": "Context",
        "language": "language",
        "timezone": "timezone",
        "variableDefaults": "variable_defaults",
        "handoffAgentIds": "handoff_agent_ids",
        "llmModel": "llm_model",
        "ttsVoice": "tts_voice",
        "llmFallbacks": "llm_fallbacks",
        "sttFallbacks": "stt_fallbacks",
        "ttsFallbacks": "tts_fallbacks",
        "apology": "apology",
        "languages": "languages",
        "voices": "voices",
        "greetings": "greetings",
        "keyterms": "keyterms",
        "knowledgeBaseIds": "knowledge_base_ids",
        "ragBudgetMs": "rag_budget_ms",
        "maxContextTokens": "max_context_tokens",
        "analysisSchema": "analysis_schema",
    }
)
"""Stored name → field of `AgentMeta`; `historyContext` is flattened besides."""

_IDS = frozenset({"agentId", "ownerId"})
_HISTORY = MappingProxyType(
    {
        "enabled": "history_context_enabled",
        "maxConversations": "history_context_max",
        "linkedAgentIds": "history_context_linked_agent_ids",
    }
)
_WINDOW = MappingProxyType(
    {
        "type": "history_context_window_type",
        "value": "history_context_window_value",
        "startDate": "history_context_window_start",
    }
)
_VARIABLES = MappingProxyType(
    {
        "enabled": "variable_memory_enabled",
        "linkedAgentId": "variable_memory_linked_agent_id",
    }
)


def build_agent_config(agent: Mapping[str, Any]) -> dict[str, Any]:
    """The flattened fields of `AgentMeta`, not validated.

    What is absent or null is left to the defaults of `AgentMeta`; what else the document holds is
    ignored. A part that is no sub-document is passed on in a list, as its first field, which refuses it.
    """
    history = agent.get("historyContext")
    return {
        **_flatten(agent, AGENT_FIELDS),
        **_flatten(history, _HISTORY),
        **_flatten(_part(history, "window"), _WINDOW),
        **_flatten(_part(history, "variableMemory"), _VARIABLES),
    }


def read_agent(stored: Mapping[str, Any]) -> tuple[AgentDocument, tuple[str, ...]]:
    """What a stored document says, and the names of the parts that cannot be used as they are.

    In the place of such a part stands its default, as in a call. What else the document holds is
    passed over.
    """
    values = _unflatten(build_agent_config(stored))
    try:
        return AgentDocument.model_validate(values), ()
    except ValidationError as error:
        places = [one["loc"] for one in error.errors()]
    refused = tuple(dict.fromkeys(map(_refused_part, places)))
    for part in refused:
        match part:
            case "historyContext.variableMemory":
                values["historyContext"].pop("variableMemory")
            case "historyContext":
                history = values["historyContext"]
                values["historyContext"] = {
                    name: history[name] for name in ("variableMemory",) if name in history
                }
            case _:
                values.pop(part)
    return AgentDocument.model_validate(values), refused


def unknown_fields(agent: Mapping[str, Any]) -> list[str]:
    """Names in the document that `build_agent_config` would ignore, with the path to each."""
    history = agent.get("historyContext")
    parts: list[tuple[str, object, Collection[str]]] = [
        ("", agent, {*AGENT_FIELDS, "historyContext"}),
        ("historyContext.", history, {*_HISTORY, "window", "variableMemory"}),
        ("historyContext.window.", _part(history, "window"), _WINDOW),
        ("historyContext.variableMemory.", _part(history, "variableMemory"), _VARIABLES),
    ]
    return [
        f"{path}{name}"
        for path, part, known in parts
        if isinstance(part, Mapping)
        for name in part
        if name not in known
    ]


def _refused_part(place: tuple[int | str, ...]) -> str:
    inner = place[:2] == ("historyContext", "variableMemory")
    return "historyContext.variableMemory" if inner else str(place[0])


def _unflatten(config: Mapping[str, Any]) -> dict[str, Any]:
    """The document that `config` was made of, without `agentId`, `ownerId` and what it left out."""

    def part(names: Mapping[str, str]) -> dict[str, Any]:
        return {name: config[field] for name, field in names.items() if field in config}

    own = {name: value for name, value in part(AGENT_FIELDS).items() if name not in _IDS}
    history = {**part(_HISTORY), "window": part(_WINDOW), "variableMemory": part(_VARIABLES)}
    return {**own, "historyContext": history}


def _part(document: object, name: str) -> object:
    return document.get(name) if isinstance(document, Mapping) else None


def _flatten(document: object, names: Mapping[str, str]) -> dict[str, Any]:
    if document is None:
        return {}
    if not isinstance(document, Mapping):
        return {next(iter(names.values())): [document]}
    found = {field: document.get(name) for name, field in names.items()}
    return {field: _native(value) for field, value in found.items() if value is not None}


def _native(value: Any) -> Any:  # noqa: ANN401 - any stored value, and the same value back
    """The value as this code would have stored it: JavaScript writes 5 as 5.0, and dates vary."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return value
