"""Knowledge bases for one suite: in memory, in PostgreSQL, and in one without pgvector."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from src.adapters.clock import SystemClock
from src.adapters.documents import FileParser
from src.adapters.migrate import migrate
from src.adapters.postgres import Connection, Postgres
from src.adapters.postgres_documents import PostgresDocuments
from src.adapters.postgres_jobs import INGEST_DOCUMENT, enqueue
from src.adapters.postgres_knowledge import PostgresKnowledge
from src.schemas.knowledge import Document, KnowledgeScope, NewDocument, Retrieved
from src.services.chunking import Chunker, ChunkPolicy
from src.services.ingestion import Ingestion
from src.services.knowledge_ports import DocumentStore, KnowledgeSearch
from src.services.retrieval import Retrieval
from tests.contract.databases import PostgresServer
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.knowledge import InMemoryKnowledge

PLENTY_MS = 20_000.0


def count_words(text: str) -> int:
    """Tokens, for these tests."""
    return len(text.split())


class Library:
    """Everything about knowledge bases over one store."""

    def __init__(
        self, store: DocumentStore, index: KnowledgeSearch, *, database: str | None = None
    ) -> None:
        self.store = store
        self.index = index
        self.database = database
        """URL; None for the store in memory."""
        self.embedder = FakeEmbedder()
        self.ingestion = Ingestion(
            store=store,
            parser=FileParser(),
            chunker=Chunker(count=count_words, policy=ChunkPolicy(max_tokens=12, overlap_tokens=0)),
            embedder=self.embedder,
        )
        self.retrieval = Retrieval(index=index, embedder=self.embedder, clock=SystemClock())

    async def add(
        self,
        text: str | bytes,
        *,
        name: str = "faq.txt",
        base: str = "kb",
        owner: str = "owner",
        language: str = "en",
    ) -> Document:
        """Take a file in; it is not indexed yet."""
        content = text.encode() if isinstance(text, str) else text
        return await self.ingestion.add_document(
            NewDocument(
                owner_id=owner,
                knowledge_base_id=base,
                name=name,
                content=content,
                language=language,
            )
        )

    async def learn(self, text: str | bytes, **fields: Any) -> Document:
        """Take a file in and index it."""
        document = await self.add(text, **fields)
        await self.ingestion.ingest(document.id)
        return await self.now(document)

    async def now(self, document: Document) -> Document:
        """The document as it is stored."""
        found = await self.store.document(document.id)
        assert found is not None
        return found

    async def ask(self, query: str, *bases: str, owner: str = "owner", limit: int = 4) -> Retrieved:
        """What a turn would get, without a hurry."""
        return await self.retrieval.retrieve_passages(
            query,
            owner_id=owner,
            knowledge_base_ids=bases or ("kb",),
            limit=limit,
            budget_ms=PLENTY_MS,
        )

    async def texts(self, query: str, *bases: str, owner: str = "owner") -> list[str]:
        """The passages' texts alone."""
        return [one.text for one in (await self.ask(query, *bases, owner=owner)).passages]

    async def everything(self, *bases: str, owner: str = "owner") -> list[str]:
        """Every chunk that any ranking could find, sorted."""
        scope = KnowledgeScope(owner_id=owner, knowledge_base_ids=bases or ("kb",))
        found = await self.index.search_words("wool refund shop", scope=scope, limit=1_000)
        if await self.index.has_vectors():
            (vector,) = await self.embedder.embed(["anything"])
            found += await self.index.search_vector(
                vector, model=self.embedder.model, scope=scope, limit=1_000
            )
        return sorted({hit.chunk_id: hit.text for hit in found}.values())


@pytest.fixture(scope="session")
def knowledge_urls(postgresql: PostgresServer) -> tuple[str, str]:
    """A migrated database with pgvector, and one without."""
    urls = (
        postgresql.url(postgresql.create_database()),
        postgresql.url(postgresql.create_database()),
    )
    with psycopg.connect(urls[1], autocommit=True) as connection:
        # As on a server where it is not installed: the extension cannot be created.
        connection.execute("CREATE TYPE vector AS (taken int)")
    for url in urls:
        migrate(url)
    return urls


def emptied(url: str) -> str:
    """The database with neither documents nor jobs."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("TRUNCATE knowledge_documents, procrastinate_jobs CASCADE")
    return url


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Library]:
    """A library without books."""
    postgres = Postgres(url=await asyncio.to_thread(emptied, url))
    index = PostgresKnowledge(postgres)

    async def ingest_later(connection: Connection, document_id: str) -> None:
        await enqueue(connection, INGEST_DOCUMENT, document_id)

    store = PostgresDocuments(postgres=postgres, index=index, enqueue=ingest_later)
    library = Library(store, index, database=url)
    yield library
    await library.retrieval.aclose()
    await postgres.aclose()


@pytest.fixture
async def knowledge_in_postgres(knowledge_urls: tuple[str, str]) -> AsyncIterator[Library]:
    async with opened(knowledge_urls[0]) as library:
        yield library


@pytest.fixture
async def knowledge_without_vectors(knowledge_urls: tuple[str, str]) -> AsyncIterator[Library]:
    async with opened(knowledge_urls[1]) as library:
        yield library


@pytest.fixture
async def knowledge_in_memory() -> AsyncIterator[Library]:
    knowledge = InMemoryKnowledge()
    library = Library(knowledge, knowledge)
    yield library
    await library.retrieval.aclose()


@pytest.fixture(
    params=["knowledge_in_memory", "knowledge_in_postgres", "knowledge_without_vectors"]
)
def library(request: pytest.FixtureRequest) -> Library:
    found: Library = request.getfixturevalue(request.param)
    return found
