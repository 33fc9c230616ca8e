"""The Agent document as the API takes it, stores it and gives it back; its names are camelCase."""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    StrictInt,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel

from src.schemas.agent_meta_schema import AgentMeta, TimeZoneName, WindowType
from src.schemas.instants import Instant
from src.schemas.text import Key, Text

MAX_CONTEXT_CHARS = 200_000
MAX_PROMPT_CHARS = 100_000
MAX_GREETING_CHARS = 5_000
_MAX_INTEGER = 2**63 - 1  # of MongoDB
_MAX_WINDOW = 1_000_000
"""Of any unit; windows longer than the calendar begin with it."""

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_META = AgentMeta.model_fields
_KEY = TypeAdapter(Key)
_TEXT = TypeAdapter(Text)


def _default(field: str) -> Any:  # noqa: ANN401 - of the field's own type
    """What a call takes where the document says nothing."""
    return _META[field].default


def _day_or_instant(value: object) -> object:
    """A day begins at midnight in UTC."""
    if isinstance(value, str) and _DAY.fullmatch(value):
        return f"{value}T00:00:00Z"
    return value


def _in_milliseconds(moment: datetime) -> datetime:
    # As MongoDB keeps it.
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def _storable(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    waiting: list[JsonValue] = [value]
    while waiting:
        match waiting.pop():
            case dict() as part:
                for name in part:
                    _KEY.validate_python(name)
                waiting.extend(part.values())
            case list() as part:
                waiting.extend(part)
            case str() as part:
                _TEXT.validate_python(part)
            case int() as part if abs(part) > _MAX_INTEGER:
                raise ValueError("must not hold integers of more than 64 bits")
    return value


def _json_object(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    try:
        return _storable(value)
    except ValidationError as error:
        raise ValueError(error.errors()[0]["msg"].removeprefix("Value error, ")) from None


StartDate = Annotated[
    Instant,
    BeforeValidator(_day_or_instant),
    AfterValidator(_in_milliseconds),
    WithJsonSchema({"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}]}),
]
JsonObject = Annotated[dict[str, JsonValue], AfterValidator(_json_object)]
AgentId = Annotated[Text, Field(min_length=1, max_length=200, examples=["outreach-5f0c6f7e1c9b"])]
_Language = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,5}$",
        description="BCP 47",
        examples=["en", "hi-IN"],
    ),
]
_Greeting = Annotated[Text, Field(max_length=MAX_GREETING_CHARS)]
_Model = Annotated[Text, Field(min_length=1, max_length=200)]
_Models = Annotated[tuple[_Model, ...], Field(max_length=10)]
_VariableName = Annotated[Key, Field(min_length=1, max_length=100)]


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)


class HistoryWindow(_Document):
    """How far back earlier calls are looked for."""

    type: WindowType = _default("history_context_window_type")
    value: Annotated[StrictInt, Field(ge=1, le=_MAX_WINDOW)] = _default(
        "history_context_window_value"
    )
    """How many of the unit."""
    start_date: StartDate | None = Field(
        default=None,
        description="Read for `custom` only: at most one calendar year ago (UTC), not in the future.",
        examples=["2026-03-01"],
    )


class VariableMemory(_Document):
    """Fill gaps in this call's variables with those of the latest outbound call."""

    enabled: StrictBool = False
    linked_agent_id: AgentId | None = Field(
        default=None, description="One other agent of yours whose outbound calls count as well."
    )


class HistoryContext(_Document):
    """What a call is told of earlier calls with the same number; off by default."""

    enabled: StrictBool = False
    max_conversations: Annotated[StrictInt, Field(ge=1, le=10)] = _default("history_context_max")
    window: HistoryWindow = HistoryWindow()
    linked_agent_ids: Annotated[tuple[AgentId, ...], Field(max_length=50)] = Field(
        default=(), description="Other agents of yours whose calls count as well."
    )
    variable_memory: VariableMemory = VariableMemory()


class AgentDocument(_Document):
    """An agent, as a whole: what is left out takes its default."""

    name: Annotated[Text, Field(min_length=1, max_length=200)] = _default("name")
    greeting: _Greeting = Field(
        default=_default("greeting"),
        description="Spoken first; a Liquid template.",
        examples=['Hello {{ name | default: "there" }}, how can I help you?'],
    )
    prompt: Annotated[Text, Field(max_length=MAX_PROMPT_CHARS)] = Field(
        default=_default("prompt"),
        description="Who the agent is and how it behaves; a Liquid template.",
    )
    context: Annotated[Text, Field(max_length=MAX_CONTEXT_CHARS)] = Field(
        default=_default("Context"),
        alias="Context",
        description="What the agent knows, as it stands: no template.",
    )
    language: _Language = _default("language")
    languages: Annotated[tuple[_Language, ...], Field(max_length=30)] = Field(
        default=(), description="Languages the agent may change to besides `language`."
    )
    timezone: TimeZoneName = Field(
        default=_default("timezone"), max_length=100, examples=["Asia/Kolkata"]
    )
    variable_defaults: Annotated[
        dict[_VariableName, Annotated[Text, Field(max_length=2000)]], Field(max_length=200)
    ] = Field(
        default_factory=dict,
        description="What stands in the place of a variable that a call has no value for.",
        examples=[{"name": "there"}],
    )
    handoff_agent_ids: Annotated[tuple[AgentId, ...], Field(max_length=20)] = Field(
        default=(), description="Agents of yours that a caller may be handed to."
    )
    llm_model: _Model | None = None
    tts_voice: _Model | None = None
    llm_fallbacks: _Models = ()
    stt_fallbacks: _Models = ()
    tts_fallbacks: _Models = ()
    apology: Annotated[Text, Field(min_length=1, max_length=1000)] = Field(
        default=_default("apology"), description="Said when no model answers."
    )
    voices: Annotated[dict[_Language, _Model], Field(max_length=30)] = Field(
        default_factory=dict, description="Voice per language, where it is not `ttsVoice`."
    )
    greetings: Annotated[dict[_Language, _Greeting], Field(max_length=30)] = Field(
        default_factory=dict, description="Greeting per language, where it is not `greeting`."
    )
    keyterms: Annotated[
        tuple[Annotated[Text, Field(min_length=1, max_length=100)], ...], Field(max_length=500)
    ] = Field(default=(), description="Words that speech recognition should expect.")
    knowledge_base_ids: Annotated[tuple[AgentId, ...], Field(max_length=50)] = Field(
        default=(), description="Knowledge bases that replies may draw on.", examples=[["faq"]]
    )
    rag_budget_ms: Annotated[StrictInt, Field(ge=0, le=2000)] = Field(
        default=_default("rag_budget_ms"),
        description="How long a reply may wait for passages of the knowledge bases.",
    )
    max_context_tokens: Annotated[StrictInt, Field(ge=500, le=1_000_000)] = Field(
        default=_default("max_context_tokens"),
        description="From there on the middle of a conversation is summarised in the prompt.",
    )
    analysis_schema: JsonObject | None = Field(
        default=None,
        description="JSON schema (of an object) of the fields that the analysis of a call gives.",
        examples=[{"type": "object", "properties": {"appointment": {"type": "string"}}}],
    )
    history_context: HistoryContext = HistoryContext()

    def stored(self) -> dict[str, Any]:
        """The document as it is stored, without what the store adds."""
        document = self.model_dump(mode="json", by_alias=True)
        # JSON has no dates; the store does.
        document["historyContext"]["window"]["startDate"] = self.history_context.window.start_date
        return document


class WarningCode(StrEnum):
    """What a warning is about; stays the same."""

    NO_DEFAULT = "variable_without_default"
    """Neither the filter `default`, nor `variableDefaults`, nor the call itself has it."""
    ONLY_PER_CALL = "variable_only_per_call"
    """Besides, memory of variables is off: only a campaign or the request can supply it."""
    NEVER_SUPPLIED = "variable_never_supplied"
    """Besides, no value can have this name."""
    UNBALANCED_BRACES = "unbalanced_braces"
    NO_PLACEHOLDER = "not_a_placeholder"
    BROKEN_TAGS = "broken_tags"
    JSON_PROMPT = "json_prompt"
    LINK_GONE = "linked_agent_gone"
    UNUSABLE_VALUE = "unusable_value"
    """A stored value, of another program, that calls and this API replace with its default."""


class AgentWarning(BaseModel):
    """Something that is allowed and probably not meant."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    code: WarningCode
    field: str = Field(description="Where, as a path.", examples=["greetings.es"])
    message: str
    variable: str | None = Field(default=None, description="As the template writes it.")
    linked_agent_ids: tuple[str, ...] = Field(
        default=(), description="Linked agents that use the variable, and whose calls may have it."
    )


class Warnings(BaseModel):
    """The warnings of one agent."""

    warnings: tuple[AgentWarning, ...] = ()


class Agent(AgentDocument):
    """An agent as it is stored."""

    agent_id: str = Field(examples=["reception-0b6f9a1c2d3e"])
    owner_id: str
    created_at: AwareDatetime | None = None
    updated_at: AwareDatetime | None = None
    version: int = Field(description="Grows with each update; the `ETag` is made of it.")
    warnings: tuple[AgentWarning, ...] | None = Field(
        default=None, description="Absent in lists, where nobody looked for any."
    )
