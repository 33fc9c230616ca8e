"""Search in knowledge bases: PostgreSQL's full text, and pgvector where it is installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from src.adapters.postgres import Postgres
from src.schemas.knowledge import Hit, KnowledgeScope, Vector
from src.services.knowledge_ports import KnowledgeSearch

IN_SCOPE = "owner_id = $1 AND knowledge_base_id = ANY($2::text[])"
"""What a search may see. Every statement that reads for a caller has it, with the arguments of
`scope_of` first."""

# Each word of the question is looked up by itself: a spoken question shares some words with the answer,
# hardly ever all. What a shared word is worth is its inverse document frequency, as in BM25 (Robertson,
# Zaragoza: The Probabilistic Relevance Framework, 2009), for `ts_rank` would take "the" for as telling
# as "refund". The question is reduced to stems in every way that the documents in scope were.
_SEARCH_WORDS = f"""
WITH used AS (
    SELECT config, (sum(sum(chunk_count)) OVER ())::float8 AS total
    FROM knowledge_documents WHERE {IN_SCOPE} GROUP BY config
), terms AS MATERIALIZED (
    SELECT config, total, term,
        ('''' || replace(replace(term, '\\', '\\\\'), '''', '''''') || '''')::tsquery AS query
    FROM used, unnest(tsvector_to_array(to_tsvector(config, $3))) AS term
    LIMIT 64
), found AS (
    SELECT chunk.id, terms.config, terms.term, terms.total,
        (count(*) OVER (PARTITION BY terms.config, terms.term))::float8 AS chunks
    FROM terms JOIN knowledge_chunks AS chunk
        ON {IN_SCOPE} AND chunk.config = terms.config AND chunk.search @@ terms.query
), scores AS (
    SELECT id, sum(ln(1 + (greatest(total, chunks) - chunks + 0.5) / (chunks + 0.5))) AS score
    FROM found GROUP BY id ORDER BY score DESC, id LIMIT $4
)
SELECT chunk.id, chunk.text, document.name, chunk.page
FROM scores
JOIN knowledge_chunks AS chunk USING (id)
JOIN knowledge_documents AS document ON document.id = chunk.document_id
ORDER BY score DESC, chunk.id
"""  # noqa: S608 - constants only

# Every vector in scope is compared: exact, and a few milliseconds for thousands of chunks. An index
# over all owners' vectors (hnsw) would find the nearest of everybody first and lose most to the scope.
_SEARCH_VECTORS = f"""
SELECT chunk.id, chunk.text, document.name, chunk.page
FROM (
    SELECT id, embedding <=> $3::text::vector AS distance
    FROM knowledge_chunks JOIN knowledge_vectors ON chunk_id = id
    WHERE {IN_SCOPE} AND model = $4 AND vector_dims(embedding) = $5
    ORDER BY distance, id LIMIT $6
) AS nearest
JOIN knowledge_chunks AS chunk USING (id)
JOIN knowledge_documents AS document ON document.id = chunk.document_id
ORDER BY distance, chunk.id
"""  # noqa: S608 - constants only

_HAS_VECTORS = "SELECT to_regclass('knowledge_vectors') IS NOT NULL"


class PostgresKnowledge(KnowledgeSearch):
    """Whether vectors can be compared is looked up once per process."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres
        self._vectors: bool | None = None

    @override
    async def has_vectors(self) -> bool:
        if self._vectors is None:
            async with self._postgres.transaction() as connection:
                self._vectors = bool(await connection.fetchval(_HAS_VECTORS))
        return self._vectors

    @override
    async def search_words(self, query: str, *, scope: KnowledgeScope, limit: int) -> list[Hit]:
        arguments = [*scope_of(scope), query.replace("\x00", " "), limit]
        return await self._hits(_SEARCH_WORDS, arguments)

    @override
    async def search_vector(
        self, vector: Vector, *, model: str, scope: KnowledgeScope, limit: int
    ) -> list[Hit]:
        arguments = [*scope_of(scope), vector_text(vector), model, len(vector), limit]
        return await self._hits(_SEARCH_VECTORS, arguments)

    async def _hits(self, statement: str, arguments: Sequence[Any]) -> list[Hit]:
        async with self._postgres.transaction() as connection:
            rows = await connection.fetch(statement, *arguments)
        return [
            Hit(chunk_id=row["id"], text=row["text"], document=row["name"], page=row["page"])
            for row in rows
        ]


def scope_of(scope: KnowledgeScope) -> tuple[str, list[str]]:
    """The arguments of `IN_SCOPE`."""
    return scope.owner_id, list(scope.knowledge_base_ids)


def vector_text(vector: Vector) -> str:
    """As pgvector reads it."""
    return f"[{','.join(map(str, vector))}]"
