"""What a call needs to know of its agent."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)


class WindowType(StrEnum):
    """Unit of the history window."""

    DAYS = "days"
    WEEKS = "weeks"
    MONTHS = "months"
    QUARTERS = "quarters"
    YEARS = "years"
    CUSTOM = "custom"


def _timezone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError("unknown time zone") from error
    return name


TimeZoneName = Annotated[str, AfterValidator(_timezone)]
"""A zone of the IANA database."""

_OPTIONAL_PREFIXES = ("history_context_", "variable_memory_", "analysis_schema")


class AgentMeta(BaseModel):
    """An agent as a call sees it; `Context` is the knowledge base, to which history is appended."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    agent_id: str = Field(min_length=1)
    owner_id: str = Field(min_length=1)
    name: str = "Assistant"
    greeting: str = "Hello, how can I help you?"
    """Liquid template; spoken first."""
    prompt: str = "You are a helpful phone assistant. Answer briefly."
    """Liquid template; who the agent is and how it behaves."""
    Context: str = ""  # the name the product was asked for
    language: str = "en"
    timezone: TimeZoneName = "UTC"
    variable_defaults: dict[str, str] = Field(default_factory=dict)
    handoff_agent_ids: tuple[str, ...] = ()
    """Agents of the same owner that a caller may be handed to."""
    llm_model: str | None = None
    """None takes the model of the settings; likewise for `tts_voice`."""
    tts_voice: str | None = None
    llm_fallbacks: tuple[str, ...] = ()
    """Models (`model` or `provider/model`) that take over in turn when the one before fails."""
    stt_fallbacks: tuple[str, ...] = ()
    tts_fallbacks: tuple[str, ...] = ()
    apology: str = "I am sorry, I did not get that. Could you say it once more?"
    """Said when no model in the chain answers."""
    languages: tuple[str, ...] = ()
    """Languages (BCP 47) the agent may change to besides `language`."""
    voices: dict[str, str] = Field(default_factory=dict)
    """Voice per language, where it is not `tts_voice`."""
    greetings: dict[str, str] = Field(default_factory=dict)
    """Greeting per language, where it is not `greeting`."""
    keyterms: tuple[str, ...] = ()
    """Words the recogniser should expect, besides the lexicons."""
    knowledge_base_ids: tuple[str, ...] = ()
    rag_budget_ms: int = Field(default=80, ge=0, le=2000)
    """How long a reply may wait for passages of the knowledge bases."""
    max_context_tokens: int = Field(default=4000, ge=500)
    """From there on the middle of a conversation is summarised in the prompt."""
    analysis_schema: dict[str, Any] | None = None
    """JSON schema of the fields that the analysis of a call gives; see `services/fields_schema`."""

    history_context_enabled: StrictBool = False
    history_context_max: Annotated[StrictInt, Field(ge=1, le=10)] = 5
    history_context_window_type: WindowType = WindowType.MONTHS
    history_context_window_value: Annotated[StrictInt, Field(ge=1)] = 1
    history_context_window_start: AwareDatetime | None = None
    """Only read when the window type is `custom`."""
    history_context_linked_agent_ids: tuple[StrictStr, ...] = ()
    variable_memory_enabled: StrictBool = False
    variable_memory_linked_agent_id: StrictStr | None = None

    @model_validator(mode="after")
    def _custom_window_has_a_start(self) -> AgentMeta:
        if (
            self.history_context_window_type is WindowType.CUSTOM
            and self.history_context_window_start is None
        ):
            raise ValueError("history_context_window_start is required for a custom window")
        return self

    @property
    def all_languages(self) -> tuple[str, ...]:
        """Every language the agent speaks; the first is the one it begins in."""
        return tuple(dict.fromkeys((self.language, *self.languages)))

    def voice_for(self, language: str) -> str | None:
        """The voice of a language; None takes the one of the settings."""
        return self.voices.get(language, self.voices.get(language.split("-")[0], self.tts_voice))

    def greeting_for(self, language: str) -> str:
        """The greeting of a language."""
        return self.greetings.get(language, self.greeting)

    @property
    def zone(self) -> ZoneInfo:
        """The agent's local time."""
        return ZoneInfo(self.timezone)

    @classmethod
    def for_call(cls, raw: Mapping[str, Any]) -> tuple[AgentMeta, tuple[str, ...]]:
        """The agent for a call that must be answered, and the names of the fields refused.

        A bad field of a memory feature or of the analysis switches it off instead of failing the call.

        Raises:
            pydantic.ValidationError: a field outside these features is bad.
        """
        try:
            return cls.model_validate(raw), ()
        except ValidationError as error:
            bad = {
                str(e["loc"][0]) if e["loc"] else "history_context_window_start"
                for e in error.errors()
            }
            refused = tuple(sorted(name for name in bad if name.startswith(_OPTIONAL_PREFIXES)))
            if len(refused) < len(bad):
                raise
            off = {name.split("_")[0] for name in refused}
            kept = {
                key: value
                for key, value in raw.items()
                if not (key.startswith(_OPTIONAL_PREFIXES) and key.split("_")[0] in off)
            }
            return cls.model_validate(kept), refused
