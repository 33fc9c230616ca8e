"""${message}."""

from __future__ import annotations

from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    """Build what this revision adds."""
    op.execute("")


def downgrade() -> None:
    """Take it away again, with what is in it."""
    op.execute("")
