"""Documents of a knowledge base, their chunks, and what a turn gets out of them.

Frozen values without I/O. A knowledge base is a name under which an owner keeps documents; agents
refer to it by `knowledge_base_id`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from src.schemas.memory import Passage

MAX_DOCUMENT_BYTES = 20_000_000
"""A larger file is refused: it is kept in the database until it is indexed."""

Vector = Sequence[float]


class DocumentKind(StrEnum):
    """Formats that can be read; the value is the file's extension."""

    TXT = "txt"
    MD = "md"
    PDF = "pdf"
    DOCX = "docx"


class DocumentStatus(StrEnum):
    """How far a document has come."""

    PENDING = "pending"
    """Stored; a job will index it. Its former text, if it replaced one, is still found."""
    READY = "ready"
    FAILED = "failed"
    """It cannot be indexed; `Document.reason` says why."""


@dataclass(frozen=True, kw_only=True)
class NewDocument:
    """A file as it was uploaded."""

    owner_id: str
    knowledge_base_id: str
    name: str
    """File name with its extension; a second document of this name replaces the first."""
    content: bytes
    language: str = "en"
    """BCP 47 language of the text; decides how words are reduced to their stems."""


@dataclass(frozen=True, kw_only=True)
class Document:
    """A document of a knowledge base, without its content."""

    id: str
    owner_id: str
    knowledge_base_id: str
    name: str
    kind: DocumentKind
    language: str
    status: DocumentStatus
    revision: int
    """From 1; counts how often it was replaced."""
    reason: str = ""
    """Code of what went wrong (see `DocumentError`); empty unless failed."""
    chunks: int = 0
    """Number of chunks that can be found."""


@dataclass(frozen=True)
class Page:
    """Text of one page."""

    number: int | None
    """From 1; None for formats without pages."""
    text: str


@dataclass(frozen=True)
class Chunk:
    """A piece of a document, small enough for a prompt."""

    text: str
    page: int | None


@dataclass(frozen=True, kw_only=True)
class EmbeddedChunk:
    """A chunk and its vector."""

    chunk: Chunk
    vector: Vector | None
    """None where there are no embeddings."""


@dataclass(frozen=True, kw_only=True)
class KnowledgeScope:
    """What may be searched: knowledge bases of one owner. An empty scope holds nothing."""

    owner_id: str
    knowledge_base_ids: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A chunk that one ranking found."""

    chunk_id: int
    text: str
    document: str
    page: int | None


@dataclass(frozen=True, kw_only=True)
class Retrieved:
    """The passages of one turn, and what their search had to do without."""

    passages: tuple[Passage, ...] = ()
    """Best first."""
    degradations: tuple[str, ...] = ()
    took_ms: float = 0.0
