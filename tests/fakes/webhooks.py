"""Deliveries in memory, and a network of receivers that answer as they are told."""

from collections.abc import Sequence
from datetime import datetime

from typing_extensions import override

from src.schemas.events import Event
from src.schemas.webhooks import Delivery, DeliveryStatus, SendResult, WebhookMessage
from src.services.owned import Position
from src.services.webhook_ports import Deliveries, DeliveryLog, EventSink, WebhookSender
from src.services.webhook_targets import url_problem
from tests.fakes.faults import Faults

PENDING = DeliveryStatus.PENDING
_OUTCOME = ["status", "attempts", "next_attempt_at", "last_status", "last_error", "finished_at"]


class InMemoryDeliveries(Deliveries, DeliveryLog):
    """`jobs` holds what was enqueued: delivery id and moment, None for at once."""

    def __init__(self) -> None:
        self.rows: dict[str, Delivery] = {}
        self.jobs: list[tuple[str, datetime | None]] = []
        self.faults = Faults()

    @override
    async def add(self, deliveries: Sequence[Delivery]) -> int:
        await self.faults.check()
        known = {(one.event_id, one.webhook_id) for one in self.rows.values()}
        new = [one for one in deliveries if (one.event_id, one.webhook_id) not in known]
        for one in new:
            self._put(one)
        return len(new)

    @override
    async def get(self, delivery_id: str) -> Delivery | None:
        await self.faults.check()
        return self.rows.get(delivery_id)

    @override
    async def record(self, delivery: Delivery) -> bool:
        await self.faults.check()
        stored = self.rows.get(delivery.delivery_id)
        if stored is None or stored.status is not PENDING:
            return False
        if stored.attempts != delivery.attempts - 1:
            return False
        outcome = {name: getattr(delivery, name) for name in _OUTCOME}
        self.rows[delivery.delivery_id] = stored.model_copy(update=outcome)
        if delivery.status is PENDING:
            self.jobs.append((delivery.delivery_id, delivery.next_attempt_at))
        return True

    @override
    async def requeue(self, *, before: datetime, at: datetime, limit: int) -> int:
        await self.faults.check()
        late = [
            one
            for one in self.rows.values()
            if one.status is PENDING and (one.next_attempt_at or at) < before
        ]
        late.sort(key=lambda one: one.next_attempt_at or at)
        for one in late[:limit]:
            self._put(one.model_copy(update={"next_attempt_at": at}))
        return len(late[:limit])

    @override
    async def purge(self, *, before: datetime) -> int:
        await self.faults.check()
        old = [one for one in self.rows.values() if one.finished_at and one.finished_at < before]
        return self._remove(old)

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
        await self.faults.check()
        found = [one for one in self._of(owner_id, webhook_id) if status in {None, one.status}]
        if after is not None:
            found = [one for one in found if _place(one) < (after.at, after.key)]
        return sorted(found, key=_place, reverse=True)[:limit]

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
        await self.faults.check()
        dead = [
            one
            for one in sorted(self._of(owner_id, webhook_id), key=_place)
            if one.status is DeliveryStatus.DEAD and delivery_id in {None, one.delivery_id}
        ][:limit]
        anew = {"status": PENDING, "attempts": 0, "next_attempt_at": at, "finished_at": None}
        for one in dead:
            self._put(one.model_copy(update=anew))
        return len(dead)

    @override
    async def drop(self, owner_id: str, webhook_id: str) -> int:
        await self.faults.check()
        return self._remove(self._of(owner_id, webhook_id))

    def _put(self, delivery: Delivery) -> None:
        self.rows[delivery.delivery_id] = delivery
        self.jobs.append((delivery.delivery_id, None))

    def _of(self, owner_id: str, webhook_id: str) -> list[Delivery]:
        whose = (owner_id, webhook_id)
        return [one for one in self.rows.values() if (one.owner_id, one.webhook_id) == whose]

    def _remove(self, rows: list[Delivery]) -> int:
        for one in rows:
            del self.rows[one.delivery_id]
        return len(rows)


class FakeWebhookSender(WebhookSender):
    """Every message arrives, except as the given results say, one per message."""

    def __init__(self, *results: SendResult) -> None:
        self.results = list(results)
        self.sent: list[WebhookMessage] = []

    @override
    async def problem(self, url: str) -> str | None:
        return url_problem(url)

    @override
    async def send(self, message: WebhookMessage) -> SendResult:
        self.sent.append(message)
        return self.results.pop(0) if self.results else SendResult(status=204)


class FakeEventSink(EventSink):
    """Notes what is published; the same event counts once."""

    def __init__(self) -> None:
        self.events: dict[str, Event] = {}
        self.faults = Faults()

    @override
    async def publish(self, event: Event) -> None:
        await self.faults.check()
        self.events.setdefault(event.id, event)


def _place(delivery: Delivery) -> tuple[datetime, str]:
    return delivery.created_at, delivery.delivery_id
