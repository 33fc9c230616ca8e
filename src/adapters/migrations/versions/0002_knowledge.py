"""Documents of knowledge bases, their chunks, and vectors where pgvector can be had."""

from __future__ import annotations

from alembic import op

revision = "0002_knowledge"
down_revision = "0001_memory"

_DOCUMENTS = """
CREATE TABLE knowledge_documents (
    id text PRIMARY KEY,
    owner_id text NOT NULL,
    knowledge_base_id text NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    language text NOT NULL,
    config regconfig NOT NULL,
    content bytea,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'ready', 'failed')),
    reason text NOT NULL DEFAULT '',
    revision integer NOT NULL DEFAULT 1,
    chunk_count integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (owner_id, knowledge_base_id, name)
)
"""
# A search reads every chunk in its scope, so that the row holds what it looks at: words without their
# positions, and nothing moved out of the row (which is why a page's size is the limit for that). Read
# elsewhere, each comparison would take ten times as long. An index over the words of all owners (gin)
# was not used by the planner, and made publishing slow.
_CHUNKS = """
CREATE TABLE knowledge_chunks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document_id text NOT NULL REFERENCES knowledge_documents ON DELETE CASCADE,
    owner_id text NOT NULL,
    knowledge_base_id text NOT NULL,
    config regconfig NOT NULL,
    position integer NOT NULL,
    page integer,
    text text NOT NULL,
    search tsvector NOT NULL GENERATED ALWAYS AS (strip(to_tsvector(config, text))) STORED,
    UNIQUE (document_id, position)
) WITH (toast_tuple_target = 8160)
"""
_CHUNKS_SCOPE = "CREATE INDEX ON knowledge_chunks (owner_id, knowledge_base_id)"

# The extension may not be installed, or not be ours to create; full text does without it. No dimension,
# since that is the model's; so no index either, and one is not wanted: see the search. Vectors stay in
# their rows as words do.
_VECTORS = """
DO $$
BEGIN
    BEGIN
        CREATE EXTENSION IF NOT EXISTS vector;
    EXCEPTION WHEN OTHERS THEN
        RAISE NOTICE 'pgvector is not available: %', SQLERRM;
    END;
    IF EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'vector') THEN
        CREATE TABLE knowledge_vectors (
            chunk_id bigint PRIMARY KEY REFERENCES knowledge_chunks ON DELETE CASCADE,
            model text NOT NULL,
            embedding vector NOT NULL
        ) WITH (toast_tuple_target = 8160);
        ALTER TABLE knowledge_vectors ALTER COLUMN embedding SET STORAGE MAIN;
    END IF;
END
$$
"""


def upgrade() -> None:
    """Create the tables."""
    for statement in (_DOCUMENTS, _CHUNKS, _CHUNKS_SCOPE, _VECTORS):
        op.execute(statement)


def downgrade() -> None:
    """Drop them; the extension stays, since others may use it."""
    for table in ("knowledge_vectors", "knowledge_chunks", "knowledge_documents"):
        op.execute(f"DROP TABLE IF EXISTS {table}")
