"""Knowledge bases in a dictionary."""

import asyncio
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from typing_extensions import override

from src.schemas.knowledge import (
    Document,
    DocumentKind,
    DocumentStatus,
    EmbeddedChunk,
    Hit,
    KnowledgeScope,
    NewDocument,
    Vector,
)
from src.services.knowledge_ports import DocumentStore, KnowledgeSearch


@dataclass
class _Stored:
    chunk_id: int
    document_id: str
    embedded: EmbeddedChunk
    model: str


class InMemoryKnowledge(DocumentStore, KnowledgeSearch):
    """Both ports over the same documents."""

    def __init__(self, *, vectors: bool = True) -> None:
        self._vectors = vectors
        self._documents: dict[str, Document] = {}
        self._contents: dict[str, bytes] = {}
        self._chunks: list[_Stored] = []
        self._ids = 0
        self.jobs: list[str] = []
        """Ids of documents whose indexing was asked for."""

    @override
    async def has_vectors(self) -> bool:
        return self._vectors

    @override
    async def add(self, new: NewDocument, kind: DocumentKind) -> Document:
        place = (new.owner_id, new.knowledge_base_id, new.name)
        former = [one for one in self._documents.values() if _place(one) == place]
        document = Document(
            id=former[0].id if former else f"document-{self._next_id()}",
            owner_id=new.owner_id,
            knowledge_base_id=new.knowledge_base_id,
            name=new.name,
            kind=kind,
            language=new.language,
            status=DocumentStatus.PENDING,
            revision=former[0].revision + 1 if former else 1,
            chunks=former[0].chunks if former else 0,
        )
        self._documents[document.id] = document
        self._contents[document.id] = new.content
        self.jobs.append(document.id)
        return document

    @override
    async def document(self, document_id: str) -> Document | None:
        return self._documents.get(document_id)

    @override
    async def documents(self, scope: KnowledgeScope) -> list[Document]:
        found = [one for one in self._documents.values() if _within(one, scope)]
        return sorted(found, key=lambda one: (one.knowledge_base_id, one.name))

    @override
    async def content(self, document_id: str, revision: int) -> bytes | None:
        document = self._documents.get(document_id)
        if document is None or document.revision != revision:
            return None
        return self._contents.get(document_id)

    @override
    async def publish(
        self, document: Document, chunks: Sequence[EmbeddedChunk], *, model: str
    ) -> bool:
        if not self._leave_pending(
            document, status=DocumentStatus.READY, chunks=len(chunks), reason=""
        ):
            return False
        self._chunks += [
            _Stored(self._next_id(), document.id, embedded, model) for embedded in chunks
        ]
        return True

    @override
    async def fail(self, document: Document, reason: str) -> bool:
        return self._leave_pending(document, status=DocumentStatus.FAILED, chunks=0, reason=reason)

    @override
    async def delete(self, *, owner_id: str, document_id: str) -> bool:
        document = self._documents.get(document_id)
        if document is None or document.owner_id != owner_id:
            return False
        del self._documents[document_id]
        self._forget(document_id)
        return True

    @override
    async def search_words(self, query: str, *, scope: KnowledgeScope, limit: int) -> list[Hit]:
        chunks = self._in_scope(scope)
        terms = {term: sum(term in _terms(_text(one)) for one in chunks) for term in _terms(query)}
        scores = {
            one.chunk_id: sum(
                math.log(1 + (len(chunks) - found + 0.5) / (found + 0.5))
                for term, found in terms.items()
                if term in _terms(_text(one))
            )
            for one in chunks
        }
        best = sorted(chunks, key=lambda one: (-scores[one.chunk_id], one.chunk_id))
        return [self._hit(one) for one in best if scores[one.chunk_id] > 0][:limit]

    @override
    async def search_vector(
        self, vector: Vector, *, model: str, scope: KnowledgeScope, limit: int
    ) -> list[Hit]:
        near = [
            (-sum(a * b for a, b in zip(known, vector, strict=True)), one.chunk_id, one)
            for one in self._in_scope(scope)
            if one.model == model and (known := one.embedded.vector) is not None
        ]
        return [self._hit(one) for _, _, one in sorted(near, key=lambda it: it[:2])[:limit]]

    def _leave_pending(
        self, document: Document, *, status: DocumentStatus, chunks: int, reason: str
    ) -> bool:
        current = self._documents.get(document.id)
        if current is None or current.status is not DocumentStatus.PENDING:
            return False
        if current.revision != document.revision:
            return False
        self._documents[document.id] = replace(current, status=status, chunks=chunks, reason=reason)
        self._forget(document.id)
        return True

    def _forget(self, document_id: str) -> None:
        self._contents.pop(document_id, None)
        self._chunks = [one for one in self._chunks if one.document_id != document_id]

    def _in_scope(self, scope: KnowledgeScope) -> list[_Stored]:
        return [one for one in self._chunks if _within(self._documents[one.document_id], scope)]

    def _hit(self, stored: _Stored) -> Hit:
        chunk = stored.embedded.chunk
        name = self._documents[stored.document_id].name
        return Hit(chunk_id=stored.chunk_id, text=chunk.text, document=name, page=chunk.page)

    def _next_id(self) -> int:
        self._ids += 1
        return self._ids


class ScriptedSearch(KnowledgeSearch):
    """Answers with given hits; fails or hangs when told to."""

    def __init__(self, *, words: Sequence[Hit] = (), meaning: Sequence[Hit] = ()) -> None:
        self._words = list(words)
        self._meaning = list(meaning)
        self.words_error: Exception | None = None
        self.words_answer = asyncio.Event()
        self.words_answer.set()
        self.vectors = True
        self.asked: list[str] = []

    @override
    async def has_vectors(self) -> bool:
        return self.vectors

    @override
    async def search_words(self, query: str, *, scope: KnowledgeScope, limit: int) -> list[Hit]:
        self.asked.append(query)
        await self.words_answer.wait()
        if self.words_error is not None:
            raise self.words_error
        return self._words[:limit]

    @override
    async def search_vector(
        self, vector: Vector, *, model: str, scope: KnowledgeScope, limit: int
    ) -> list[Hit]:
        return self._meaning[:limit]


def _place(document: Document) -> tuple[str, str, str]:
    return document.owner_id, document.knowledge_base_id, document.name


def _within(document: Document, scope: KnowledgeScope) -> bool:
    return (
        document.owner_id == scope.owner_id
        and document.knowledge_base_id in scope.knowledge_base_ids
    )


def _text(stored: _Stored) -> str:
    return stored.embedded.chunk.text


def _terms(text: str) -> set[str]:
    """Words without the ends that stemmers take off."""
    return {re.sub(r"(ed|ing|s)$", "", word) for word in re.findall(r"\w+", text.lower())}
