"""The record of conversations, and what is kept of a person."""

from __future__ import annotations

from alembic import op

revision = "0001_memory"
down_revision = None

_UPGRADE = (
    # The last columns follow from the messages. They are kept so that looking for work, or for what
    # is overdue, reads conversations only.
    """
    CREATE TABLE conversations (
        session_id text PRIMARY KEY,
        user_id text NOT NULL DEFAULT '',
        owner_id text NOT NULL DEFAULT '',
        agent_id text NOT NULL DEFAULT '',
        language text NOT NULL DEFAULT '',
        created_at timestamptz NOT NULL,
        summary text,
        summary_through bigint NOT NULL DEFAULT 0,
        last_sequence bigint NOT NULL DEFAULT 0,
        message_through bigint NOT NULL DEFAULT 0,
        last_message_at timestamptz,
        oldest_at timestamptz
    )
    """,
    """
    CREATE INDEX conversations_of_person
        ON conversations (user_id, last_message_at DESC) WHERE user_id <> ''
    """,
    """
    CREATE INDEX conversations_unsummarised
        ON conversations (last_message_at, session_id) WHERE message_through > summary_through
    """,
    "CREATE INDEX conversations_by_age ON conversations (oldest_at)",
    """
    CREATE TABLE conversation_entries (
        session_id text NOT NULL REFERENCES conversations ON DELETE CASCADE,
        id text NOT NULL,
        sequence bigint NOT NULL,
        user_id text NOT NULL,
        timestamp timestamptz NOT NULL,
        role text NOT NULL,
        content text NOT NULL,
        mode text NOT NULL,
        language text NOT NULL,
        detected_language text NOT NULL,
        language_switched boolean NOT NULL,
        retrieved_passages text[] NOT NULL,
        sources jsonb NOT NULL,
        latency_ms double precision,
        stages_ms jsonb NOT NULL,
        degradations text[] NOT NULL,
        phi_detected boolean NOT NULL,
        interrupted boolean NOT NULL,
        PRIMARY KEY (session_id, id)
    )
    """,
    """
    CREATE INDEX conversation_entries_in_order
        ON conversation_entries (session_id, sequence, timestamp, id)
    """,
    "CREATE INDEX conversation_entries_of_person ON conversation_entries (user_id)",
    """
    CREATE TABLE conversation_events (
        session_id text NOT NULL REFERENCES conversations ON DELETE CASCADE,
        id text NOT NULL,
        sequence bigint NOT NULL,
        user_id text NOT NULL,
        timestamp timestamptz NOT NULL,
        event_type text NOT NULL,
        data jsonb NOT NULL,
        PRIMARY KEY (session_id, id)
    )
    """,
    "CREATE INDEX conversation_events_of_person ON conversation_events (user_id)",
    """
    CREATE TABLE memory_settings (
        user_id text PRIMARY KEY,
        enabled boolean NOT NULL,
        retention_days integer NOT NULL CHECK (retention_days BETWEEN 1 AND 3650),
        cross_session boolean NOT NULL,
        save_voice_transcripts boolean NOT NULL,
        save_rag_context boolean NOT NULL,
        anonymize_phi boolean NOT NULL
    )
    """,
    """
    CREATE TABLE memory_preferences (
        user_id text NOT NULL,
        name text NOT NULL,
        value jsonb NOT NULL,
        PRIMARY KEY (user_id, name)
    )
    """,
    # What was said in these spans of time is never stored again. Survives what it tells of.
    """
    CREATE TABLE memory_deletions (
        pseudonym text NOT NULL,
        since timestamptz NOT NULL,
        until timestamptz NOT NULL,
        PRIMARY KEY (pseudonym, since)
    )
    """,
)
_TABLES = (
    "memory_deletions",
    "memory_preferences",
    "memory_settings",
    "conversation_events",
    "conversation_entries",
    "conversations",
)


def upgrade() -> None:
    """Build what this revision adds."""
    for statement in _UPGRADE:
        op.execute(statement)


def downgrade() -> None:
    """Take it away again, with what is in it."""
    for table in _TABLES:
        op.execute(f"DROP TABLE {table}")
