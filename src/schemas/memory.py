"""One conversation as memory keeps it: entries of voice and text, events, settings, receipts.

Frozen values without I/O. An entry's place in the conversation is its `sequence`, which the store
gives; `timestamp` is data, because clocks of two writers may differ.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, Self, get_args

from typing_extensions import override

Role = Literal["user", "assistant", "system"]
Mode = Literal["voice", "text"]
LanguageTrigger = Literal["user_request", "auto_detected", "explicit_setting"]
DeletionScope = Literal["session", "day", "all"]

MODE_SWITCH = "mode_switch"
LANGUAGE_SWITCH = "language_switch"

WINDOW = 50
"""Messages of a live session that are kept at hand."""
SESSION_TTL_S = 86_400
"""A live session lasts for 24 hours after its last write, and so does the note that it was deleted."""
REMEMBERED_IDS = 1_024
"""Messages and events whose ids a live session knows; the record knows them all."""
MAX_CONTENT_CHARS = 16_000
"""Longer contents are cut there with `CUT_MARKER`: about 4 000 tokens, what a prompt holds at most."""
CUT_MARKER = " […cut]"


@dataclass(frozen=True, kw_only=True)
class _Item:
    """What entries and events have in common."""

    id: str = ""
    """Unique in its session and the same whenever the same item is written again."""
    session_id: str = ""
    user_id: str = ""
    timestamp: datetime | None = None
    """Aware, UTC; filled when it is added, if absent."""
    sequence: int = 0
    """Place in the session, from 1, in one order for entries and events; 0 until a store gave one."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON types; `from_dict` reads it back."""
        data = asdict(self)
        data["timestamp"] = self.timestamp.isoformat() if self.timestamp else None
        return data

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The item of `to_dict`.

        Raises:
            ValueError: a field is missing, unknown or of the wrong kind.
        """
        try:
            fields = dict(data)
            if fields.get("timestamp") is not None:
                fields["timestamp"] = datetime.fromisoformat(fields["timestamp"])
            fields = cls._checked(fields)
            _expect(fields, sequence=int)
            return cls(**fields)
        except (TypeError, AttributeError, KeyError) as error:
            raise ValueError(f"not readable: {type(error).__name__}") from error

    @classmethod
    def _checked(cls, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields in the types they are held in."""
        return fields


@dataclass(frozen=True, kw_only=True)
class MemoryEntry(_Item):
    """One message of a conversation."""

    role: Role
    content: str
    mode: Mode
    language: str = "en"
    """BCP 47 language the session was in."""
    detected_language: str = ""
    """What the recogniser heard; empty when it did not say."""
    language_switched: bool = False
    retrieved_passages: tuple[str, ...] = ()
    """Passages of the knowledge base that the answer was given with."""
    sources: tuple[Mapping[str, Any], ...] = ()
    """Where they are from: `document`, `page` (None without pages), `score`."""
    latency_ms: float | None = None
    """End of the user's turn to the first sound or word of the answer."""
    stages_ms: Mapping[str, float] = field(default_factory=dict)
    """The same by stage: transcript, end_of_turn, llm, tts, rag …"""
    degradations: tuple[str, ...] = ()
    phi_detected: bool = False
    interrupted: bool = False
    """The assistant was cut short; `content` holds only what was played."""

    @override
    @classmethod
    def _checked(cls, fields: dict[str, Any]) -> dict[str, Any]:
        _expect(fields, content=str)
        if fields["role"] not in get_args(Role) or fields["mode"] not in get_args(Mode):
            raise ValueError("unknown role or mode")
        lists = ("retrieved_passages", "sources", "degradations")
        return {**fields, **{name: tuple(fields.get(name, ())) for name in lists}}

    def capped(self) -> Self:
        """With a content that no store or prompt can choke on."""
        if len(self.content) <= MAX_CONTENT_CHARS:
            return self
        return replace(self, content=self.content[:MAX_CONTENT_CHARS] + CUT_MARKER)


@dataclass(frozen=True, kw_only=True)
class MemoryEvent(_Item):
    """Something that happened in a session and is no message: a switch of mode or language."""

    event_type: str
    data: Mapping[str, Any]

    @override
    @classmethod
    def _checked(cls, fields: dict[str, Any]) -> dict[str, Any]:
        _expect(fields, data=Mapping)
        return fields


@dataclass(frozen=True, kw_only=True)
class ConversationContext:
    """What the next reply may know of a session."""

    session_id: str
    messages: tuple[MemoryEntry, ...] = ()
    """Oldest first."""
    language: str = "en"
    mode: Mode = "voice"
    language_switches: tuple[Mapping[str, Any], ...] = ()
    passages: tuple[str, ...] = ()
    """Passages that earlier answers were given with, each once, newest last; empty without RAG."""
    preferences: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class MemorySettings:
    """A person's memory and privacy preferences."""

    enabled: bool = True
    retention_days: int = 30
    cross_session: bool = True
    save_voice_transcripts: bool = True
    save_rag_context: bool = True
    anonymize_phi: bool = True

    def __post_init__(self) -> None:
        """Refuse a retention that would keep for ever or nothing at all."""
        if not 1 <= self.retention_days <= 3650:
            raise ValueError("retention_days must be between 1 and 3650")


@dataclass(frozen=True, kw_only=True)
class PastSession:
    """An earlier session of the same person, for the first words of a new one."""

    session_id: str
    summary: str
    language: str
    at: datetime
    """Its last message; aware, UTC."""


@dataclass(frozen=True)
class Appended:
    """What a store did with an entry or event."""

    sequence: int
    new: bool
    """False: it was there already, under this sequence."""


@dataclass(frozen=True)
class Redaction:
    """A text without what identifies a person."""

    text: str
    """With tags such as `[PHONE]` in place of what was found."""
    found: Mapping[str, int] = field(default_factory=dict)
    """Identifier class to the number of spans found."""


@dataclass(frozen=True, kw_only=True)
class Passage:
    """One passage of a document in a knowledge base."""

    text: str
    document: str
    page: int | None
    """From 1; None for documents without pages."""
    score: float
    """Higher is better; comparable within one answer only."""

    @property
    def source(self) -> dict[str, Any]:
        """As it is stored on an entry and sent to the browser."""
        return {"document": self.document, "page": self.page, "score": self.score}


@dataclass(frozen=True, kw_only=True)
class DeletionReceipt:
    """What a deletion reached; holds no personal data, and neither the person's nor a session's id."""

    id: str
    scope: DeletionScope
    at: datetime
    surfaces: Mapping[str, int]
    """Surface to the number of rows, keys, files or documents deleted there; 0 is listed too."""
    failed: Sequence[str] = ()
    """Surfaces that could not be reached; deleting again reaches them."""

    @property
    def complete(self) -> bool:
        """Whether every surface was reached."""
        return not self.failed


def _expect(fields: Mapping[str, Any], **kinds: type) -> None:
    for name, kind in kinds.items():
        if name in fields and not isinstance(fields[name], kind):
            raise TypeError(name)
