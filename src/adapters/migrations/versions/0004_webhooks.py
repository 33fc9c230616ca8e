"""Deliveries of webhooks."""

from __future__ import annotations

from alembic import op

revision = "0004_webhooks"
down_revision = "0003_queue"

# The body is text, since its signature is over its bytes: jsonb would write them anew.
_DELIVERIES = """
CREATE TABLE webhook_deliveries (
    id text PRIMARY KEY,
    event_id text NOT NULL,
    webhook_id text NOT NULL,
    owner_id text NOT NULL,
    type text NOT NULL,
    body text NOT NULL,
    status text NOT NULL CHECK (status IN ('pending', 'delivered', 'dead')),
    attempts integer NOT NULL,
    next_attempt_at timestamptz,
    last_status integer,
    last_error text,
    created_at timestamptz NOT NULL,
    finished_at timestamptz,
    UNIQUE (event_id, webhook_id)
)
"""
_LISTED = """
CREATE INDEX webhook_deliveries_listed
ON webhook_deliveries (owner_id, webhook_id, created_at DESC, id DESC)
"""
_DUE = "CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_attempt_at) WHERE status = 'pending'"
_FINISHED = """
CREATE INDEX webhook_deliveries_finished
ON webhook_deliveries (finished_at) WHERE finished_at IS NOT NULL
"""


def upgrade() -> None:
    """Create the table."""
    for statement in (_DELIVERIES, _LISTED, _DUE, _FINISHED):
        op.execute(statement)


def downgrade() -> None:
    """Drop it, with what waits."""
    op.execute("DROP TABLE webhook_deliveries")
