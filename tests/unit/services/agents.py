"""Agent documents as an owner might write them, for Hypothesis."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from src.schemas.agent_meta_schema import WindowType

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30)
some_text = texts.filter(bool)
languages = st.sampled_from(["en", "es", "hi-IN", "zh-Hans"])
LINKED = ("outreach", "billing")
"""Agents that are there to be linked."""


def windows(now: datetime) -> st.SearchStrategy[dict[str, Any]]:
    """Windows that are valid at `now`."""
    starts = st.datetimes(
        min_value=(now - timedelta(days=364)).replace(tzinfo=None),
        max_value=now.replace(tzinfo=None),
        timezones=st.just(UTC),
    ).map(datetime.isoformat)
    units = [one.value for one in WindowType if one is not WindowType.CUSTOM]
    return st.one_of(
        st.fixed_dictionaries(
            {}, optional={"type": st.sampled_from(units), "value": st.integers(1, 10**6)}
        ),
        st.fixed_dictionaries({"type": st.just("custom"), "startDate": starts}),
        st.just({"type": "days", "value": 3, "startDate": None}),
    )


def documents(now: datetime) -> st.SearchStrategy[dict[str, Any]]:
    """Documents that are accepted at `now`, by an owner who has the agents `LINKED`."""
    links = st.lists(st.sampled_from(LINKED), max_size=3)
    memory = st.fixed_dictionaries(
        {},
        optional={
            "enabled": st.booleans(),
            "linkedAgentId": st.none() | st.sampled_from(LINKED),
        },
    )
    history = st.fixed_dictionaries(
        {},
        optional={
            "enabled": st.booleans(),
            "maxConversations": st.integers(1, 10),
            "window": windows(now),
            "linkedAgentIds": links,
            "variableMemory": memory,
        },
    )
    models = st.none() | some_text
    return st.fixed_dictionaries(
        {},
        optional={
            "name": some_text,
            "greeting": texts,
            "prompt": texts,
            "Context": texts,
            "language": languages,
            "languages": st.lists(languages, max_size=3),
            "timezone": st.sampled_from(["UTC", "Asia/Kolkata"]),
            "variableDefaults": st.dictionaries(
                st.sampled_from(["name", "First Name", "नाम"]), texts
            ),
            "handoffAgentIds": links,
            "llmModel": models,
            "ttsVoice": models,
            "llmFallbacks": st.lists(some_text, max_size=2),
            "sttFallbacks": st.lists(some_text, max_size=2),
            "ttsFallbacks": st.lists(some_text, max_size=2),
            "apology": some_text,
            "voices": st.dictionaries(languages, some_text),
            "greetings": st.dictionaries(languages, texts),
            "keyterms": st.lists(some_text, max_size=2),
            "knowledgeBaseIds": st.lists(some_text, max_size=2),
            "ragBudgetMs": st.integers(0, 2000),
            "maxContextTokens": st.integers(500, 1_000_000),
            "analysisSchema": st.none()
            | st.just({"type": "object", "properties": {"booked": {"type": "boolean"}}}),
            "historyContext": history,
        },
    )
