"""Documents of knowledge bases in PostgreSQL: the file until it is indexed, then its chunks."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from typing_extensions import override

from src.adapters.postgres import Connection, Postgres, Row
from src.adapters.postgres_knowledge import IN_SCOPE, PostgresKnowledge, scope_of, vector_text
from src.schemas.knowledge import (
    Document,
    DocumentKind,
    DocumentStatus,
    EmbeddedChunk,
    KnowledgeScope,
    NewDocument,
)
from src.services.knowledge_ports import DocumentStore

UPLOAD_S = 30.0
PUBLISH_S = 60.0
"""What writing a file, and the chunks of a library of a document, may take."""

Enqueue = Callable[[Connection, str], Awaitable[None]]
"""Puts the job that indexes a document (by its id) into the queue, on this connection."""

# PostgreSQL's stemmers by ISO 639-1 code; other languages are searched for by whole words.
_CONFIGS: Mapping[str, str] = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}

_FIELDS = (
    "id, owner_id, knowledge_base_id, name, kind, language, status, revision, reason, chunk_count"
)
_ADD = f"""
INSERT INTO knowledge_documents AS document
    (id, owner_id, knowledge_base_id, name, kind, language, config, content)
VALUES ($1, $2, $3, $4, $5, $6,
    coalesce((SELECT oid::regconfig FROM pg_ts_config WHERE cfgname = $7 LIMIT 1), 'simple'), $8)
ON CONFLICT (owner_id, knowledge_base_id, name) DO UPDATE SET
    kind = excluded.kind, language = excluded.language, config = excluded.config,
    content = excluded.content, status = 'pending', reason = '',
    revision = document.revision + 1, updated_at = now()
RETURNING {_FIELDS}
"""  # noqa: S608 - constants only
_ONE = f"SELECT {_FIELDS} FROM knowledge_documents WHERE id = $1"  # noqa: S608
_SEVERAL = f"""
SELECT {_FIELDS} FROM knowledge_documents WHERE {IN_SCOPE} ORDER BY knowledge_base_id, name
"""  # noqa: S608
_CONTENT = """
SELECT content FROM knowledge_documents WHERE id = $1 AND revision = $2 AND status = 'pending'
"""
_LEAVE_PENDING = """
UPDATE knowledge_documents
SET status = $3, reason = $4, chunk_count = $5, content = NULL, updated_at = now()
WHERE id = $1 AND revision = $2 AND status = 'pending'
RETURNING id
"""
_DROP_CHUNKS = "DELETE FROM knowledge_chunks WHERE document_id = $1"
_ADD_CHUNKS = """
INSERT INTO knowledge_chunks
    (document_id, owner_id, knowledge_base_id, config, position, page, text)
SELECT id, owner_id, knowledge_base_id, config, position, page, text
FROM knowledge_documents,
    unnest($2::int[], $3::text[]) WITH ORDINALITY AS chunk (page, text, position)
WHERE id = $1
"""
_ADD_VECTORS = """
INSERT INTO knowledge_vectors (chunk_id, model, embedding)
SELECT id, $2, embedding::vector
FROM unnest($3::text[]) WITH ORDINALITY AS vector (embedding, position)
JOIN knowledge_chunks USING (position)
WHERE document_id = $1 AND embedding IS NOT NULL
"""
_DELETE = "DELETE FROM knowledge_documents WHERE owner_id = $1 AND id = $2 RETURNING id"


class PostgresDocuments(DocumentStore):
    """A document, its chunks and their vectors go together: the foreign keys see to it."""

    def __init__(self, *, postgres: Postgres, index: PostgresKnowledge, enqueue: Enqueue) -> None:
        self._postgres = postgres
        self._index = index
        self._enqueue = enqueue

    @override
    async def has_vectors(self) -> bool:
        return await self._index.has_vectors()

    @override
    async def add(self, new: NewDocument, kind: DocumentKind) -> Document:
        config = _CONFIGS.get(new.language.partition("-")[0].lower(), "simple")
        where = (uuid.uuid4().hex, new.owner_id, new.knowledge_base_id, new.name)
        async with self._postgres.transaction(deadline_s=UPLOAD_S) as connection:
            (row,) = await connection.fetch(
                _ADD, *where, kind.value, new.language, config, new.content
            )
            document = _document(row)
            await self._enqueue(connection, document.id)
        return document

    @override
    async def document(self, document_id: str) -> Document | None:
        async with self._postgres.transaction() as connection:
            row = await connection.fetchrow(_ONE, document_id)
        return None if row is None else _document(row)

    @override
    async def documents(self, scope: KnowledgeScope) -> list[Document]:
        async with self._postgres.transaction() as connection:
            rows = await connection.fetch(_SEVERAL, *scope_of(scope))
        return [_document(row) for row in rows]

    @override
    async def content(self, document_id: str, revision: int) -> bytes | None:
        async with self._postgres.transaction(deadline_s=UPLOAD_S) as connection:
            found: bytes | None = await connection.fetchval(_CONTENT, document_id, revision)
        return found

    @override
    async def publish(
        self, document: Document, chunks: Sequence[EmbeddedChunk], *, model: str
    ) -> bool:
        ready = DocumentStatus.READY
        async with self._postgres.transaction(deadline_s=PUBLISH_S) as connection:
            if not await self._leave_pending(connection, document, ready, chunks=len(chunks)):
                return False
            pages = [one.chunk.page for one in chunks]
            texts = [one.chunk.text for one in chunks]
            await connection.execute(_ADD_CHUNKS, document.id, pages, texts)
            if any(one.vector is not None for one in chunks):
                vectors = [one.vector and vector_text(one.vector) for one in chunks]
                await connection.execute(_ADD_VECTORS, document.id, model, vectors)
        return True

    @override
    async def fail(self, document: Document, reason: str) -> bool:
        failed = DocumentStatus.FAILED
        async with self._postgres.transaction() as connection:
            return await self._leave_pending(connection, document, failed, reason=reason)

    @override
    async def delete(self, *, owner_id: str, document_id: str) -> bool:
        async with self._postgres.transaction() as connection:
            return await connection.fetchval(_DELETE, owner_id, document_id) is not None

    async def _leave_pending(
        self,
        connection: Connection,
        document: Document,
        status: DocumentStatus,
        *,
        reason: str = "",
        chunks: int = 0,
    ) -> bool:
        """Give a waiting revision its end, and drop the former chunks; False if it does not wait."""
        end = (status.value, reason, chunks)
        # The row stays locked until the end of the transaction: two jobs cannot both publish.
        if await connection.fetchval(_LEAVE_PENDING, document.id, document.revision, *end) is None:
            return False
        await connection.execute(_DROP_CHUNKS, document.id)
        return True


def _document(row: Row) -> Document:
    fields: dict[str, Any] = dict(row)
    fields["chunks"] = fields.pop("chunk_count")
    fields["kind"] = DocumentKind(fields["kind"])
    fields["status"] = DocumentStatus(fields["status"])
    return Document(**fields)
