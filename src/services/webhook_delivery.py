"""Tells webhooks of events: at least once each, over a day and a half if need be."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import SystemRandom
from typing import Any

from typing_extensions import override

from src.logs import get_logger
from src.schemas.events import Event
from src.schemas.webhooks import (
    Delivery,
    DeliveryError,
    DeliveryStatus,
    SendResult,
    WebhookEndpoint,
    WebhookMessage,
)
from src.services.owned import OwnedStore, Resource
from src.services.ports import Clock
from src.services.webhook_ports import Deliveries, EventSink, WebhookSender

logger = get_logger(__name__)

_chance = SystemRandom().random
_GONE = 410
_ALL_OF_AN_OWNER = 100


@dataclass(frozen=True, kw_only=True)
class DeliveryPolicy:
    """When deliveries are tried again, and how long they are kept."""

    retries_s: tuple[float, ...] = (5, 60, 300, 1_800, 7_200, 14_400, 28_800, 36_000, 43_200)
    """Pauses between attempts: ten attempts within 37 to 44 hours."""
    jitter: float = 0.2
    """By what share a pause may be longer, so that what failed together does not return together."""
    early: timedelta = timedelta(seconds=5)
    """How far the clocks of the queue's database and this machine may be apart."""
    overdue: timedelta = timedelta(minutes=15)
    """When a delivery's job is taken for lost; longer than the queue itself tries a job."""
    keep: timedelta = timedelta(days=30)
    """For what was delivered or given up."""
    batch: int = 500

    def pause(self, attempts: int, chance: float) -> timedelta | None:
        """After so many attempts, with `chance` within 0 and 1; None if that was the last."""
        if attempts > len(self.retries_s):
            return None
        return timedelta(seconds=self.retries_s[attempts - 1] * (1 + self.jitter * chance))


class WebhookDispatcher(EventSink):
    """Makes deliveries of events, and sends them.

    Every method raises `ContactStoreError` or `MemoryStoreError` when a store fails; all may be
    repeated.
    """

    def __init__(
        self,
        *,
        store: OwnedStore,
        deliveries: Deliveries,
        sender: WebhookSender,
        clock: Clock,
        policy: DeliveryPolicy | None = None,
        chance: Callable[[], float] = _chance,
    ) -> None:
        """`chance` gives numbers within 0 and 1, evenly."""
        self._store = store
        self._deliveries = deliveries
        self._sender = sender
        self._clock = clock
        self._policy = policy or DeliveryPolicy()
        self._chance = chance

    @override
    async def publish(self, event: Event) -> None:
        documents = self._store.of(event.owner_id, Resource.WEBHOOKS)
        found = [WebhookEndpoint.read(one) for one in await documents.page(limit=_ALL_OF_AN_OWNER)]
        now = self._clock.now()
        body = _body(event)
        wanted = [
            Delivery(
                delivery_id=f"dlv_{secrets.token_hex(12)}",
                event_id=event.id,
                webhook_id=endpoint.webhook_id,
                owner_id=event.owner_id,
                type=event.type,
                body=body,
                next_attempt_at=now,
                created_at=now,
            )
            for endpoint in found
            if endpoint.disabled_at is None and event.type in endpoint.events
        ]
        if wanted:
            await self._deliveries.add(wanted)

    async def deliver(self, delivery_id: str) -> None:
        """Make the attempt that is due, and see to the next if it fails."""
        delivery = await self._deliveries.get(delivery_id)
        if delivery is None or not self._is_due(delivery):
            return
        documents = self._store.of(delivery.owner_id, Resource.WEBHOOKS)
        document = await documents.get(delivery.webhook_id)
        endpoint = None if document is None else WebhookEndpoint.read(document)
        if endpoint is None or endpoint.disabled_at is not None:
            await self._record(delivery, SendResult(error=DeliveryError.DISABLED))
            return
        result = await self._sender.send(self._message(delivery, endpoint))
        if result.status == _GONE:
            await documents.update(delivery.webhook_id, {"disabledAt": self._clock.now()})
            result = SendResult(status=_GONE, error=DeliveryError.GONE)
        await self._record(delivery, result)

    async def give_up(self, delivery_id: str) -> None:
        """Leave the delivery to `requeue_overdue`: the stores failed, not the receiver."""
        logger.warning("webhook delivery waits for the stores", extra={"delivery": delivery_id})

    async def requeue_overdue(self) -> int:
        """Enqueue deliveries whose job was lost; their number."""
        now = self._clock.now()
        return await self._deliveries.requeue(
            before=now - self._policy.overdue, at=now, limit=self._policy.batch
        )

    async def purge(self) -> int:
        """Remove what was finished long ago; the number of deliveries."""
        return await self._deliveries.purge(before=self._clock.now() - self._policy.keep)

    def _is_due(self, delivery: Delivery) -> bool:
        """A job that is done twice finds that the attempt was made."""
        due = delivery.next_attempt_at
        return (
            delivery.status is DeliveryStatus.PENDING
            and due is not None
            and due <= self._clock.now() + self._policy.early
        )

    def _message(self, delivery: Delivery, endpoint: WebhookEndpoint) -> WebhookMessage:
        now = self._clock.now()
        signing = [endpoint.secret]
        until = endpoint.previous_secret_until
        if endpoint.previous_secret is not None and until is not None and now < until:
            signing.append(endpoint.previous_secret)
        return WebhookMessage(
            url=endpoint.url,
            secrets=tuple(signing),
            message_id=delivery.event_id,
            at=now,
            body=delivery.body,
        )

    async def _record(self, delivery: Delivery, result: SendResult) -> None:
        now = self._clock.now()
        attempts = delivery.attempts + 1
        status, pause = self._outcome(attempts, result)
        await self._deliveries.record(
            delivery.model_copy(
                update={
                    "status": status,
                    "attempts": attempts,
                    "next_attempt_at": None if pause is None else now + pause,
                    "last_status": result.status,
                    "last_error": result.error,
                    "finished_at": now if pause is None else None,
                }
            )
        )
        if status is DeliveryStatus.DEAD:
            what = {"delivery": delivery.delivery_id, "webhook": delivery.webhook_id}
            logger.warning("webhook delivery given up", extra={**what, "error": result.error})

    def _outcome(
        self, attempts: int, result: SendResult
    ) -> tuple[DeliveryStatus, timedelta | None]:
        """What becomes of the delivery, and after which pause it is tried again."""
        if result.error is None:
            return DeliveryStatus.DELIVERED, None
        if result.error in {DeliveryError.GONE, DeliveryError.DISABLED}:
            return DeliveryStatus.DEAD, None
        pause = self._policy.pause(attempts, self._chance())
        return (DeliveryStatus.DEAD if pause is None else DeliveryStatus.PENDING), pause


def _body(event: Event) -> str:
    content: dict[str, Any] = {
        "id": event.id,
        "type": event.type.value,
        "timestamp": _rfc3339(event.at),
        "data": event.data,
    }
    return json.dumps(content, separators=(",", ":"))


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
