"""Puts jobs into the queue, in the transaction of what they are about."""

from __future__ import annotations

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


async def enqueue(
    connection: Connection, task: str, subject_id: str, *, at: datetime | None = None
) -> None:
    """Have `task` done with what `subject_id` names, once the connection's transaction is committed.

    Not before `at`, if that is given; while such a job waits, others of the same task and subject do.
    The id is all that a job holds: whatever is personal stays where it can be deleted.
    """
    await connection.execute(_ENQUEUE, QUEUE, task, subject_id, at)
