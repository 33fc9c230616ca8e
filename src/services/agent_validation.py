"""What an Agent document must keep beyond the shape of its fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, time

import arrow

from src.schemas.agent_document import AgentDocument
from src.schemas.agent_meta_schema import WindowType
from src.schemas.errors import FieldProblem
from src.services.fields_schema import check_fields_schema
from src.services.template_names import is_name

INVALID_LINKS = "Invalid linked agents"
"""The same for another owner's agent and for none at all: nobody can find out what others have."""

_START = "historyContext.window.startDate"
_HANDOFFS = "handoffAgentIds"
_HISTORY_LINKS = "historyContext.linkedAgentIds"
_VARIABLE_LINK = "historyContext.variableMemory.linkedAgentId"


def document_problems(document: AgentDocument, now: datetime) -> list[FieldProblem]:
    """What is wrong with fields, each by itself."""
    return [
        *_window_problems(document, now),
        *(
            FieldProblem(f"variableDefaults.{name}", "cannot be used as a name in a template")
            for name in document.variable_defaults
            if not is_name(name)
        ),
        *_schema_problems(document),
    ]


def link_problems(document: AgentDocument, existing: frozenset[str]) -> list[FieldProblem]:
    """Which fields name agents that are not among the owner's."""
    return [
        FieldProblem(field, INVALID_LINKS)
        for field, ids in links_of(document).items()
        if not existing.issuperset(ids)
    ]


def links_of(document: AgentDocument) -> Mapping[str, tuple[str, ...]]:
    """The other agents that a document names, by the field that names them."""
    history = document.history_context
    linked = history.variable_memory.linked_agent_id
    return {
        _HANDOFFS: document.handoff_agent_ids,
        _HISTORY_LINKS: history.linked_agent_ids,
        _VARIABLE_LINK: () if linked is None else (linked,),
    }


def folded(document: AgentDocument, agent_id: str) -> AgentDocument:
    """The document with each link once, and without links to the agent itself."""

    def others(ids: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one for one in ids if one != agent_id))

    history = document.history_context
    memory = history.variable_memory
    if memory.linked_agent_id == agent_id:
        memory = memory.model_copy(update={"linked_agent_id": None})
    links = {"linked_agent_ids": others(history.linked_agent_ids), "variable_memory": memory}
    return document.model_copy(
        update={
            "handoff_agent_ids": others(document.handoff_agent_ids),
            "history_context": history.model_copy(update=links),
        }
    )


def _window_problems(document: AgentDocument, now: datetime) -> Iterator[FieldProblem]:
    window = document.history_context.window
    if window.type is not WindowType.CUSTOM:
        return
    start = window.start_date
    if start is None:
        yield FieldProblem(_START, "is required for a custom window")
    elif start > now:
        yield FieldProblem(_START, "must not be in the future")
    elif start < _earliest(start, now):
        yield FieldProblem(_START, "must not be more than one year ago")


def _earliest(start: datetime, now: datetime) -> datetime:
    """One calendar year ago, in UTC, as in the window of a call."""
    year_ago = arrow.get(now).to("utc").shift(years=-1).datetime
    if start.time() == time():
        # Midnight is how a day is written: it is as old as its day.
        return year_ago.replace(hour=0, minute=0, second=0, microsecond=0)
    return year_ago.replace(microsecond=year_ago.microsecond // 1000 * 1000)  # as dates are kept


def _schema_problems(document: AgentDocument) -> Iterator[FieldProblem]:
    if document.analysis_schema is not None:
        for problem in check_fields_schema(document.analysis_schema):
            yield FieldProblem("analysisSchema", problem)
