"""Deliveries of webhooks in PostgreSQL, each written together with its job."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from typing_extensions import override

from src.adapters.postgres import Connection, Postgres, Row
from src.adapters.postgres_jobs import DELIVER_WEBHOOK, enqueue
from src.schemas.webhooks import Delivery, DeliveryStatus
from src.services.owned import Position
from src.services.webhook_ports import Deliveries, DeliveryLog

MANY_S = 15.0
"""What may be taken by operations on hundreds of deliveries."""

_ADD = """
INSERT INTO webhook_deliveries
    (id, event_id, webhook_id, owner_id, type, body, status, attempts, next_attempt_at, created_at)
VALUES ($1, $2, $3, $4, $5, $6, 'pending', 0, $7, $8)
ON CONFLICT (event_id, webhook_id) DO NOTHING
RETURNING id
"""
_ONE = "SELECT * FROM webhook_deliveries WHERE id = $1"
_RECORD = """
UPDATE webhook_deliveries
SET status = $2, attempts = $3, next_attempt_at = $4, last_status = $5, last_error = $6,
    finished_at = $7
WHERE id = $1 AND status = 'pending' AND attempts = $3 - 1
RETURNING id
"""
_REQUEUE = """
UPDATE webhook_deliveries SET next_attempt_at = $2
WHERE id IN (
    SELECT id FROM webhook_deliveries WHERE status = 'pending' AND next_attempt_at < $1
    ORDER BY next_attempt_at LIMIT $3 FOR UPDATE SKIP LOCKED
)
RETURNING id
"""
_PURGE = "DELETE FROM webhook_deliveries WHERE finished_at < $1"
_PAGE = """
SELECT * FROM webhook_deliveries
WHERE owner_id = $1 AND webhook_id = $2 AND ($3::text IS NULL OR status = $3)
    AND ($4::timestamptz IS NULL OR (created_at, id) < ($4, $5::text))
ORDER BY created_at DESC, id DESC
LIMIT $6
"""
_REPLAY = """
UPDATE webhook_deliveries
SET status = 'pending', attempts = 0, next_attempt_at = $3, finished_at = NULL
WHERE id IN (
    SELECT id FROM webhook_deliveries
    WHERE owner_id = $1 AND webhook_id = $2 AND status = 'dead' AND ($4::text IS NULL OR id = $4)
    ORDER BY created_at, id LIMIT $5 FOR UPDATE SKIP LOCKED
)
RETURNING id
"""
_DROP = "DELETE FROM webhook_deliveries WHERE owner_id = $1 AND webhook_id = $2"


class PostgresDeliveries(Deliveries, DeliveryLog):
    """The table `webhook_deliveries` and the queue's, in one transaction each time."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    @override
    async def add(self, deliveries: Sequence[Delivery]) -> int:
        added = 0
        async with self._postgres.transaction() as connection:
            for one in deliveries:
                names = (one.delivery_id, one.event_id, one.webhook_id, one.owner_id)
                what = (one.type.value, one.body, one.next_attempt_at, one.created_at)
                if await connection.fetchval(_ADD, *names, *what) is not None:
                    await enqueue(connection, DELIVER_WEBHOOK, one.delivery_id)
                    added += 1
        return added

    @override
    async def get(self, delivery_id: str) -> Delivery | None:
        async with self._postgres.transaction() as connection:
            row = await connection.fetchrow(_ONE, delivery_id)
        return None if row is None else _delivery(row)

    @override
    async def record(self, delivery: Delivery) -> bool:
        one = delivery
        error = None if one.last_error is None else one.last_error.value
        state = (one.status.value, one.attempts, one.next_attempt_at)
        async with self._postgres.transaction() as connection:
            found = await connection.fetchval(
                _RECORD, one.delivery_id, *state, one.last_status, error, one.finished_at
            )
            if found is None:
                return False
            if one.status is DeliveryStatus.PENDING:
                await enqueue(connection, DELIVER_WEBHOOK, one.delivery_id, at=one.next_attempt_at)
        return True

    @override
    async def requeue(self, *, before: datetime, at: datetime, limit: int) -> int:
        async with self._postgres.transaction(deadline_s=MANY_S) as connection:
            return await _enqueue_all(
                connection, await connection.fetch(_REQUEUE, before, at, limit)
            )

    @override
    async def purge(self, *, before: datetime) -> int:
        async with self._postgres.transaction(deadline_s=MANY_S) as connection:
            return _count(await connection.execute(_PURGE, before))

    @override
    async def page(
        self,
        owner_id: str,
        webhook_id: str,
        *,
        status: DeliveryStatus | None = None,
        after: Position | None = None,
        limit: int = 50,
    ) -> Sequence[Delivery]:
        place = (None, None) if after is None else (after.at, after.key)
        async with self._postgres.transaction() as connection:
            rows = await connection.fetch(
                _PAGE, owner_id, webhook_id, None if status is None else status.value, *place, limit
            )
        return [_delivery(row) for row in rows]

    @override
    async def replay(
        self,
        owner_id: str,
        webhook_id: str,
        *,
        at: datetime,
        delivery_id: str | None = None,
        limit: int = 500,
    ) -> int:
        async with self._postgres.transaction(deadline_s=MANY_S) as connection:
            rows = await connection.fetch(_REPLAY, owner_id, webhook_id, at, delivery_id, limit)
            return await _enqueue_all(connection, rows)

    @override
    async def drop(self, owner_id: str, webhook_id: str) -> int:
        async with self._postgres.transaction(deadline_s=MANY_S) as connection:
            return _count(await connection.execute(_DROP, owner_id, webhook_id))


async def _enqueue_all(connection: Connection, rows: Sequence[Row]) -> int:
    for row in rows:
        await enqueue(connection, DELIVER_WEBHOOK, row["id"])
    return len(rows)


def _count(tag: str) -> int:
    """Of a command's tag, such as `DELETE 3`."""
    return int(tag.rpartition(" ")[2])


def _delivery(row: Row) -> Delivery:
    fields: dict[str, Any] = dict(row)
    fields["delivery_id"] = fields.pop("id")
    return Delivery(**fields)
