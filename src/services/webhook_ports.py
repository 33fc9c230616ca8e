"""What webhooks need from the outside world, and what the rest of the product needs from webhooks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from src.schemas.events import Event
from src.schemas.webhooks import Delivery, DeliveryStatus, SendResult, WebhookMessage
from src.services.owned import Position


class EventSink(Protocol):
    """Who is told of events."""

    async def publish(self, event: Event) -> None:
        """Take the event over, durably; one that was published before changes nothing.

        Raises:
            ContactStoreError, MemoryStoreError: a store failed; publish it again.
        """


class Deliveries(Protocol):
    """Deliveries and the jobs that make them: always written together.

    Every method raises `MemoryStoreError` when the store fails.
    """

    async def add(self, deliveries: Sequence[Delivery]) -> int:
        """Keep deliveries and enqueue them; the number of those whose event the webhook had not."""

    async def get(self, delivery_id: str) -> Delivery | None:
        """The delivery."""

    async def record(self, delivery: Delivery) -> bool:
        """Store what came of an attempt, and enqueue the next if `delivery` is still pending.

        False, and nothing is done, if the stored one is not pending with one attempt less.
        """

    async def requeue(self, *, before: datetime, at: datetime, limit: int) -> int:
        """Enqueue pending deliveries that were due `before`, as due `at`; at most `limit`."""

    async def purge(self, *, before: datetime) -> int:
        """Remove deliveries that were finished `before`; their number."""


class DeliveryLog(Protocol):
    """What owners see and do of deliveries. Every method raises `MemoryStoreError` on failure."""

    async def page(
        self,
        owner_id: str,
        webhook_id: str,
        *,
        status: DeliveryStatus | None = None,
        after: Position | None = None,
        limit: int = 50,
    ) -> Sequence[Delivery]:
        """At most `limit` deliveries after a position (created at, delivery id), newest first."""

    async def replay(
        self,
        owner_id: str,
        webhook_id: str,
        *,
        at: datetime,
        delivery_id: str | None = None,
        limit: int = 500,
    ) -> int:
        """Make dead letters pending and due `at`, and enqueue them; at most `limit`, oldest first."""

    async def drop(self, owner_id: str, webhook_id: str) -> int:
        """Remove every delivery of a webhook; their number."""


class WebhookSender(Protocol):
    """Sends signed messages, to the public internet alone unless it is told otherwise."""

    async def problem(self, url: str) -> str | None:
        """Why nothing may be sent to this URL; None if it may. A name that is not found may be."""

    async def send(self, message: WebhookMessage) -> SendResult:
        """Sign and send, once. Never raises for what the receiver or the network does."""
