"""What knowledge bases need from the outside world. Adapters and fakes implement these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from src.schemas.knowledge import (
    Document,
    DocumentKind,
    EmbeddedChunk,
    Hit,
    KnowledgeScope,
    NewDocument,
    Page,
    Vector,
)


class Embedder(Protocol):
    """Vectors of texts; texts of one meaning point one way."""

    @property
    def model(self) -> str:
        """Name of the vector space: vectors of different models are never compared."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector per text, in order, all of one dimension.

        Raises:
            EmbeddingError: the model failed, did not answer in time, or answered with nothing usable.
        """


class KnowledgeSearch(Protocol):
    """Reads of the index. A hit is always of the scope; every method raises `MemoryStoreError`."""

    async def has_vectors(self) -> bool:
        """Whether the store can compare vectors."""

    async def search_words(self, query: str, *, scope: KnowledgeScope, limit: int) -> list[Hit]:
        """Chunks that share words with `query`, best first; rare words count more than common ones."""

    async def search_vector(
        self, vector: Vector, *, model: str, scope: KnowledgeScope, limit: int
    ) -> list[Hit]:
        """Chunks whose vector of this model is nearest to `vector`, nearest first."""


class DocumentStore(Protocol):
    """Documents and their chunks. Every method raises `MemoryStoreError` when the store fails."""

    async def has_vectors(self) -> bool:
        """Whether the store can keep vectors."""

    async def add(self, new: NewDocument, kind: DocumentKind) -> Document:
        """Keep a file and the job that will index it: both or neither.

        A document of the same name in the same knowledge base is replaced under its id; its chunks are
        found until the new ones are.
        """

    async def document(self, document_id: str) -> Document | None:
        """The document; None if there is none."""

    async def documents(self, scope: KnowledgeScope) -> list[Document]:
        """The documents of a scope by knowledge base and name."""

    async def content(self, document_id: str, revision: int) -> bytes | None:
        """The file; None if this revision is indexed, failed, replaced or deleted."""

    async def publish(
        self, document: Document, chunks: Sequence[EmbeddedChunk], *, model: str
    ) -> bool:
        """Put `chunks` in the place of the document's former ones, and forget the file.

        In one transaction, and only if the revision is still waiting for it: False otherwise.
        """

    async def fail(self, document: Document, reason: str) -> bool:
        """Note that this revision cannot be indexed, and forget its file and any former chunks.

        False if the revision does not wait any more.
        """

    async def delete(self, *, owner_id: str, document_id: str) -> bool:
        """Delete a document and its chunks; False if the owner has no such document."""


class DocumentParser(Protocol):
    """Reads files. Blocks while it computes: called off the event loop."""

    def __call__(self, content: bytes, kind: DocumentKind) -> list[Page]:
        """The text, by page where the format has pages; pages without text are left out.

        Raises:
            DocumentError: the file cannot be read, or holds no text.
        """
