"""Puts the jobs that follow calls into the queue."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from src.adapters.postgres import Postgres
from src.adapters.postgres_jobs import enqueue, without_job
from src.schemas.follow_up import FollowUp
from src.services.follow_up_ports import FollowUpQueue

SWEEP_S = 20.0
"""What the jobs of a whole sweep may take."""


class PostgresFollowUpQueue(FollowUpQueue):
    """Jobs of one call and kind are done one after the other, so that one too many finds nothing to do."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    @override
    async def enqueue(self, contact_uid: str, *wanted: FollowUp) -> None:
        async with self._postgres.transaction() as connection:
            for task in wanted:
                await enqueue(connection, task.value, contact_uid)

    @override
    async def enqueue_missing(self, wanted: FollowUp, contact_uids: Sequence[str]) -> int:
        async with self._postgres.transaction(deadline_s=SWEEP_S) as connection:
            missing = await without_job(connection, wanted.value, contact_uids)
            for contact_uid in missing:
                await enqueue(connection, wanted.value, contact_uid)
        return len(missing)
