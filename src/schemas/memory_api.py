"""What the API tells of a conversation's memory, and takes for it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from src.schemas.json_values import JsonObject
from src.schemas.memory import (
    ConversationContext,
    DeletionReceipt,
    MemoryEntry,
    MemorySettings,
)
from src.schemas.text import Text

LanguageTag = Annotated[
    str, Field(pattern=r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}$", examples=["es"])
]


class _Wire(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )


class MessageView(_Wire):
    """One message, as it was heard or typed and as it may be kept."""

    id: str
    role: str
    content: str
    mode: str
    language: str
    timestamp: datetime | None
    interrupted: bool = False
    sources: list[dict[str, Any]] = Field(default_factory=list)
    """Documents that an answer was given with."""

    @classmethod
    def of(cls, entry: MemoryEntry) -> MessageView:
        """The message of an entry."""
        return cls(
            id=entry.id,
            role=entry.role,
            content=entry.content,
            mode=entry.mode,
            language=entry.language,
            timestamp=entry.timestamp,
            interrupted=entry.interrupted,
            sources=[dict(source) for source in entry.sources],
        )


class SessionMemoryView(_Wire):
    """What is remembered of a session: its last messages, oldest first, and how it goes on."""

    session_id: str
    mode: str
    language: str
    messages: list[MessageView]
    language_switches: list[dict[str, Any]]

    @classmethod
    def of(cls, context: ConversationContext) -> SessionMemoryView:
        """The view of a context."""
        return cls(
            session_id=context.session_id,
            mode=context.mode,
            language=context.language,
            messages=[MessageView.of(entry) for entry in context.messages],
            language_switches=[dict(one) for one in context.language_switches],
        )


class SessionEventsView(_Wire):
    """What happened in a session besides messages, oldest first."""

    events: list[dict[str, Any]]


class ModeRequest(_Wire):
    """The mode a session goes on in."""

    mode: Literal["voice", "text"]


class LanguageRequest(_Wire):
    """The language a session goes on in, which the person prefers from now on."""

    language: LanguageTag


class MemorySettingsView(_Wire):
    """A person's choices; absent ones take their defaults."""

    model_config = ConfigDict(strict=True)

    enabled: bool = True
    retention_days: int = Field(default=30, ge=1, le=3650)
    cross_session: bool = True
    save_voice_transcripts: bool = True
    save_rag_context: bool = True
    anonymize_phi: bool = True

    @classmethod
    def of(cls, settings: MemorySettings) -> MemorySettingsView:
        """The settings on the wire."""
        return cls(**{name: getattr(settings, name) for name in cls.model_fields})

    @property
    def settings(self) -> MemorySettings:
        """The settings themselves."""
        return MemorySettings(**self.model_dump())


class ExportView(_Wire):
    """Everything kept of a person."""

    memory: JsonObject
    """Conversations, settings and preferences."""
    calls: list[JsonObject]
    """Records of calls with them."""


class DeletionReceiptView(_Wire):
    """What a deletion reached; free of personal data."""

    id: str
    scope: Literal["session", "day", "all"]
    at: AwareDatetime
    surfaces: dict[str, int]
    """Where something may be kept, and how much was deleted there."""
    failed: list[Text]
    """What could not be reached; the same request again reaches it."""
    complete: bool

    @classmethod
    def of(cls, receipt: DeletionReceipt) -> DeletionReceiptView:
        """The receipt on the wire."""
        return cls(
            id=receipt.id,
            scope=receipt.scope,
            at=receipt.at,
            surfaces=dict(receipt.surfaces),
            failed=list(receipt.failed),
            complete=receipt.complete,
        )
