"""Makes documents findable: takes them in at once, indexes them in a job."""

from __future__ import annotations

import asyncio
from pathlib import PurePath

from src.logs import get_logger
from src.schemas.errors import DocumentError, EmbeddingError
from src.schemas.knowledge import (
    MAX_DOCUMENT_BYTES,
    Chunk,
    Document,
    DocumentKind,
    DocumentStatus,
    EmbeddedChunk,
    NewDocument,
)
from src.services.chunking import Chunker
from src.services.knowledge_ports import DocumentParser, DocumentStore, Embedder

logger = get_logger(__name__)

GIVEN_UP = "given_up"
"""Reason of a document whose indexing failed as often as it is tried."""
_KINDS = {**{kind.value: kind for kind in DocumentKind}, "markdown": DocumentKind.MD}


class Ingestion:
    """Takes documents in and indexes them. Indexing may be repeated and interrupted anywhere."""

    def __init__(
        self,
        *,
        store: DocumentStore,
        parser: DocumentParser,
        chunker: Chunker,
        embedder: Embedder | None,
    ) -> None:
        """Without `embedder`, documents are found by their words alone."""
        self._store = store
        self._parser = parser
        self._chunker = chunker
        self._embedder = embedder

    async def add_document(self, new: NewDocument) -> Document:
        """Keep a file, and the job that calls `ingest`: both or neither.

        Raises:
            DocumentError: it is empty, too large, or of a kind that cannot be read.
            MemoryStoreError: the store failed.
        """
        kind = _KINDS.get(PurePath(new.name).suffix.lower().removeprefix("."))
        if kind is None:
            raise DocumentError("unsupported")
        if len(new.content) > MAX_DOCUMENT_BYTES:
            raise DocumentError("too_large")
        if not new.content:
            raise DocumentError("empty")
        return await self._store.add(new, kind)

    async def ingest(self, document_id: str) -> None:
        """Index the newest revision, if it waits for that. A file that is no good is marked so.

        Raises:
            EmbeddingError: the model failed; try again.
            MemoryStoreError: the store failed; try again.
        """
        document = await self._store.document(document_id)
        if document is None or document.status is not DocumentStatus.PENDING:
            return
        content = await self._store.content(document.id, document.revision)
        if content is None:  # replaced or deleted meanwhile; the new revision has its own job
            return
        try:
            chunks = await asyncio.to_thread(self._chunks, content, document.kind)
        except DocumentError as error:
            await self._fail(document, error.reason)
            return
        embedded = await self._embedded(chunks)
        model = self._embedder.model if self._embedder else ""
        if await self._store.publish(document, embedded, model=model):
            logger.info(
                "document indexed", extra={"document_id": document.id, "chunks": len(embedded)}
            )

    async def give_up(self, document_id: str) -> None:
        """Mark a document that was tried often enough.

        Raises:
            MemoryStoreError: the store failed.
        """
        document = await self._store.document(document_id)
        if document is not None and document.status is DocumentStatus.PENDING:
            await self._fail(document, GIVEN_UP)

    async def _fail(self, document: Document, reason: str) -> None:
        if await self._store.fail(document, reason):
            logger.warning(
                "document cannot be indexed",
                extra={"document_id": document.id, "reason": reason},
            )

    def _chunks(self, content: bytes, kind: DocumentKind) -> list[Chunk]:
        return self._chunker(self._parser(content, kind))

    async def _embedded(self, chunks: list[Chunk]) -> list[EmbeddedChunk]:
        if self._embedder is None or not await self._store.has_vectors():
            return [EmbeddedChunk(chunk=chunk, vector=None) for chunk in chunks]
        vectors = await self._embedder.embed([chunk.text for chunk in chunks])
        if len(vectors) != len(chunks):
            raise EmbeddingError("not one vector per text")
        return [
            EmbeddedChunk(chunk=chunk, vector=vector)
            for chunk, vector in zip(chunks, vectors, strict=True)
        ]
