"""Puts jobs into the queue, in the transaction of what they are about."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from src.adapters.postgres import Connection

QUEUE = "familiar"
INGEST_DOCUMENT = "ingest_document"
DELIVER_WEBHOOK = "deliver_webhook"

# What procrastinate's own connector calls; it takes part in the transaction, and its trigger wakes the
# workers when that is committed. The lock keeps two jobs of one subject from running at once.
_ENQUEUE = """
SELECT procrastinate_defer_jobs_v1(ARRAY[
    ROW($1::text, $2::text, 0, $2::text || ':' || $3::text, NULL,
        jsonb_build_object('subject_id', $3::text), $4::timestamptz)::procrastinate_job_to_defer_v1
])
"""

_WITHOUT_JOB = """
SELECT subject FROM unnest($2::text[]) WITH ORDINALITY AS wanted (subject, position)
WHERE NOT EXISTS (
    SELECT FROM procrastinate_jobs
    WHERE lock = $1::text || ':' || subject AND status IN ('todo', 'doing')
)
ORDER BY position
"""


async def enqueue(
    connection: Connection, task: str, subject_id: str, *, at: datetime | None = None
) -> None:
    """Have `task` done with what `subject_id` names, once the connection's transaction is committed.

    Not before `at`, if that is given; while such a job waits, others of the same task and subject do.
    The id is all that a job holds: whatever is personal stays where it can be deleted.
    """
    await connection.execute(_ENQUEUE, QUEUE, task, subject_id, at)


async def without_job(connection: Connection, task: str, subject_ids: Sequence[str]) -> list[str]:
    """Those of the subjects for which no such job waits or is being done."""
    rows = await connection.fetch(_WITHOUT_JOB, task, list(subject_ids))
    return [str(row["subject"]) for row in rows]
