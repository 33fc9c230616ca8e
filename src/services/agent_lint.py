"""Warnings about an agent's words: what is allowed in a template, and probably not meant.

Nothing is parsed here: what a call would miss is found by rendering as a call does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

from src.schemas.agent_document import AgentDocument, AgentWarning, WarningCode
from src.schemas.contact import CallDirection
from src.services.rendering import pieces, placeholders, render, system_values
from src.services.template_language import TAGS, read_placeholder
from src.services.template_names import fold, is_name
from src.services.template_spans import Span, SpanKind

MAX_WARNINGS = 100

_SHOWN = 60
_KNOWN = "x"
_SYSTEM = MappingProxyType(
    system_values(
        now=datetime(2000, 1, 1, tzinfo=UTC),
        zone=ZoneInfo("UTC"),
        caller_number=_KNOWN,
        called_number=_KNOWN,
        call_direction=CallDirection.INBOUND.value,
        agent_name=_KNOWN,
    )
)
_CONDITIONS = frozenset({"if", "elsif", "unless", "case", "when"})
_BETWEEN_NAMES = re.compile(r"[\s=!<>|:,()\[\]\"']+")
_JSON_START = re.compile(r"\{\s*[\"}]|\[\s*[\[{\"\]]")
_FENCE = re.compile(r"\A```\w*\s*|\s*```\Z")
_NO_DOCUMENTS: Mapping[str, Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True)
class _Place:
    """One template of an agent."""

    field: str
    template: str

    @property
    def is_prompt(self) -> bool:
        return self.field == "prompt"


def lint(
    document: AgentDocument, linked: Mapping[str, Mapping[str, Any]] = _NO_DOCUMENTS
) -> tuple[AgentWarning, ...]:
    """What is probably not meant in greeting and prompt; at most `MAX_WARNINGS`.

    Takes up to a second of CPU for the largest templates.

    Args:
        document: The agent.
        linked: The stored documents of the agents it is linked to, by id.
    """
    found = [
        warning
        for place in _places(document)
        for warning in (*_shape(place), *_variables(place, document, linked))
    ]
    return tuple(found[:MAX_WARNINGS])


def _places(document: AgentDocument) -> list[_Place]:
    greetings = [_Place(f"greetings.{name}", text) for name, text in document.greetings.items()]
    return [
        _Place("greeting", document.greeting),
        *greetings,
        _Place("prompt", document.prompt),
    ]


def _shape(place: _Place) -> Iterator[AgentWarning]:
    if place.is_prompt and _is_json(place.template):
        message = "looks like JSON: it is read to the model as it stands, and not as settings"
        yield _warning(place, WarningCode.JSON_PROMPT, message)
    spans = pieces(place.template)
    yield from _braces(place, spans)
    fate = "stays in the prompt as it is" if place.is_prompt else "is left out of the greeting"
    for span in spans:
        if _is_foreign(span):
            message = f"{_shown(span.raw)} is no placeholder and {fate}"
            yield _warning(place, WarningCode.NO_PLACEHOLDER, message)


def _braces(place: _Place, spans: Sequence[Span]) -> Iterator[AgentWarning]:
    halves = [span for span in spans if span.kind is SpanKind.HALF and is_name(span.body)]
    for span in halves:
        message = f"{_shown(span.raw)} is never closed with }}}}"
        yield _warning(place, WarningCode.UNBALANCED_BRACES, message)
    text = "".join(span.raw for span in spans)
    opened, closed = text.count("{"), text.count("}")
    if opened != closed and not halves:
        message = f"{opened} opening and {closed} closing braces"
        yield _warning(place, WarningCode.UNBALANCED_BRACES, message)


def _is_foreign(span: Span) -> bool:
    if span.kind is SpanKind.TAG:
        return span.tag not in TAGS
    asked = read_placeholder(span)
    return span.kind is SpanKind.OUTPUT and not asked.name and asked.expression is None


def _variables(
    place: _Place, document: AgentDocument, linked: Mapping[str, Mapping[str, Any]]
) -> Iterator[AgentWarning]:
    # A caller of whom nothing is known, and one of whom everything is known that a condition asks for.
    renderings = [
        render(
            place.template,
            values,
            defaults=document.variable_defaults,
            system=_SYSTEM,
            keep_foreign=place.is_prompt,
        )
        for values in ({}, dict.fromkeys(_conditions(place.template), _KNOWN))
    ]
    if renderings[0].broken:
        message = "its tags do not fit each other, or ask for too much: they are taken for text"
        yield _warning(place, WarningCode.BROKEN_TAGS, message)
    for name in dict.fromkeys(name for one in renderings for name in one.missing):
        yield _without_default(place, name, document, linked)


def _without_default(
    place: _Place, name: str, document: AgentDocument, linked: Mapping[str, Mapping[str, Any]]
) -> AgentWarning:
    if not is_name(name):
        message = f"{_shown(name)} has no default, and no value can have this name"
        return _warning(place, WarningCode.NEVER_SUPPLIED, message, variable=name)
    memory = document.history_context.variable_memory
    asking = tuple(
        agent_id
        for agent_id, other in linked.items()
        if fold(name) in _asked(other)
        and (not memory.enabled or agent_id == memory.linked_agent_id)
    )
    if memory.enabled:
        sources = "this agent" + (
            f" or of {memory.linked_agent_id}" if memory.linked_agent_id else ""
        )
        message = (
            f"{_shown(name)} has no default: unless a campaign, the request or an earlier outbound"
            f" call of {sources} supplies it, nothing stands in its place"
        )
        code = WarningCode.NO_DEFAULT
    else:
        message = (
            f"{_shown(name)} has no default, and variable memory is off: only a campaign or the"
            " request can supply it"
        )
        code = WarningCode.ONLY_PER_CALL
        if asking:
            message += f"; variable memory linked to {' or '.join(asking)} could as well"
    return _warning(place, code, message, variable=name, linked=asking)


def _asked(stored: Mapping[str, Any]) -> frozenset[str]:
    """The names, folded, that another agent's templates ask for."""
    greetings = stored.get("greetings")
    others = greetings.values() if isinstance(greetings, Mapping) else ()
    templates = (stored.get("greeting"), stored.get("prompt"), *others)
    return frozenset(
        fold(name) for one in templates if isinstance(one, str) for name in placeholders(one)
    )


def _conditions(template: str) -> list[str]:
    bodies = (span.body for span in pieces(template) if span.tag in _CONDITIONS)
    return [name for body in bodies for name in _BETWEEN_NAMES.split(body) if name]


def _is_json(text: str) -> bool:
    text = _FENCE.sub("", text.strip())
    if not _JSON_START.match(text):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text.endswith(("}", "]"))
    return True


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _warning(
    place: _Place,
    code: WarningCode,
    message: str,
    *,
    variable: str | None = None,
    linked: tuple[str, ...] = (),
) -> AgentWarning:
    return AgentWarning.model_validate(
        {
            "code": code,
            "field": place.field,
            "message": message,
            "variable": variable,
            "linkedAgentIds": linked,
        }
    )
