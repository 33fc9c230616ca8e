"""The queue of jobs: procrastinate's own schema, as the installed version brings it.

A later version's changes become revisions of their own, from its `SchemaManager.get_migrations_path()`;
write them so that they also run where this revision has already created the newer schema.
"""

from __future__ import annotations

import re

from alembic import op
from procrastinate.schema import SchemaManager

revision = "0003_queue"
down_revision = "0002_knowledge"

# Drivers that prepare statements take one at a time; PostgreSQL itself takes them all.
_AT_ONCE = "DO $outer$ BEGIN EXECUTE $inner${}$inner$; END $outer$"
_DROP = """
DO $outer$
DECLARE
    statement text;
BEGIN
    FOR statement IN
        SELECT format('DROP FUNCTION %s CASCADE', oid::regprocedure) FROM pg_proc
        WHERE proname LIKE 'procrastinate\\_%' AND pronamespace = current_schema()::regnamespace
        UNION ALL
        SELECT format('DROP TABLE %s CASCADE', oid::regclass) FROM pg_class
        WHERE relname LIKE 'procrastinate\\_%' AND relkind = 'r'
            AND relnamespace = current_schema()::regnamespace
        UNION ALL
        SELECT format('DROP TYPE %s', oid::regtype) FROM pg_type
        WHERE typname LIKE 'procrastinate\\_%' AND typnamespace = current_schema()::regnamespace
            AND (typtype = 'e' OR typrelid IN (SELECT oid FROM pg_class WHERE relkind = 'c'))
    LOOP
        EXECUTE statement;
    END LOOP;
END
$outer$
"""


def upgrade() -> None:
    """Create what the queue consists of."""
    schema = SchemaManager.get_schema()
    # Alembic would take `:word` for a parameter.
    op.execute(_AT_ONCE.format(re.sub(r"(?<![:\w]):(?=\w)", r"\\:", schema)))


def downgrade() -> None:
    """Drop it, with the jobs that wait."""
    op.execute(_DROP)
