"""The webhooks of an owner: created, listed, removed; their secrets and their dead letters."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Sequence
from datetime import timedelta

from src.schemas.errors import ConflictError, FieldProblem, InvalidInputError, NotFoundError
from src.schemas.webhooks import (
    DeliveryStatus,
    NewWebhook,
    Webhook,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookWithSecret,
)
from src.services.owned import OwnedDocuments, OwnedStore, Position, Resource
from src.services.ports import Clock
from src.services.webhook_ports import DeliveryLog, WebhookSender

MAX_WEBHOOKS = 20
"""Per owner: each event is sent to all of them."""
ROTATION = timedelta(hours=24)
"""How long a former secret signs as well, so that a receiver can take over the new one."""
_SECRET_BYTES = 32


class Webhooks:
    """What an owner does with webhooks.

    Every method raises `ContactStoreError` or `MemoryStoreError` when a store fails, and those with a
    webhook's id `NotFoundError` if the owner has no such webhook.
    """

    def __init__(
        self, *, store: OwnedStore, log: DeliveryLog, sender: WebhookSender, clock: Clock
    ) -> None:
        self._store = store
        self._log = log
        self._sender = sender
        self._clock = clock

    async def create(self, owner_id: str, new: NewWebhook) -> WebhookWithSecret:
        """A webhook that is told of events from now on, with its secret.

        Raises:
            InvalidInputError: nothing may be sent to the URL.
            ConflictError: the owner has `MAX_WEBHOOKS` already.
        """
        problem = await self._sender.problem(new.url)
        if problem is not None:
            raise InvalidInputError(FieldProblem("url", problem))
        documents = self._documents(owner_id)
        if len(await documents.page(limit=MAX_WEBHOOKS, fields=("webhookId",))) >= MAX_WEBHOOKS:
            raise ConflictError(f"there may be {MAX_WEBHOOKS} webhooks at most")
        endpoint = WebhookEndpoint(
            webhook_id=f"wh_{secrets.token_hex(12)}",
            url=new.url,
            events=new.events,
            description=new.description,
            created_at=self._clock.now(),
            secret=_new_secret(),
        )
        await documents.insert(endpoint.document())
        return endpoint.shown_once()

    async def page(
        self, owner_id: str, *, after: Position | None = None, limit: int = 50
    ) -> list[Webhook]:
        """At most `limit` webhooks after a position (created at, webhook id), newest first."""
        found = await self._documents(owner_id).page(after=after, limit=limit)
        return [WebhookEndpoint.read(one).shown() for one in found]

    async def get(self, owner_id: str, webhook_id: str) -> Webhook:
        """The webhook."""
        return (await self._endpoint(owner_id, webhook_id)).shown()

    async def delete(self, owner_id: str, webhook_id: str) -> None:
        """Remove the webhook, and what was to be sent to it."""
        if not await self._documents(owner_id).delete(webhook_id):
            raise _not_found()
        await self._log.drop(owner_id, webhook_id)

    async def rotate_secret(self, owner_id: str, webhook_id: str) -> WebhookWithSecret:
        """The webhook with a new secret; the former one signs as well for `ROTATION`."""
        former = await self._endpoint(owner_id, webhook_id)
        endpoint = former.model_copy(
            update={
                "secret": _new_secret(),
                "previous_secret": former.secret,
                "previous_secret_until": self._clock.now() + ROTATION,
            }
        )
        names = ("secret", "previousSecret", "previousSecretUntil")
        document = endpoint.document()
        fields = {name: document[name] for name in names}
        if not await self._documents(owner_id).update(
            webhook_id, fields, where={"secret": former.secret}
        ):
            raise ConflictError("the webhook was changed or removed at the same moment")
        return endpoint.shown_once()

    async def enable(self, owner_id: str, webhook_id: str) -> Webhook:
        """The webhook, told of events again after it was disabled."""
        if not await self._documents(owner_id).update(webhook_id, {"disabledAt": None}):
            raise _not_found()
        return await self.get(owner_id, webhook_id)

    async def deliveries(
        self,
        owner_id: str,
        webhook_id: str,
        *,
        status: DeliveryStatus | None = None,
        after: Position | None = None,
        limit: int = 50,
    ) -> Sequence[WebhookDelivery]:
        """At most `limit` deliveries after a position (created at, delivery id), newest first."""
        await self._endpoint(owner_id, webhook_id)
        found = await self._log.page(owner_id, webhook_id, status=status, after=after, limit=limit)
        return [one.shown() for one in found]

    async def replay(
        self, owner_id: str, webhook_id: str, *, delivery_id: str | None = None
    ) -> int:
        """Send one dead letter again, or all of them, in batches of some hundred; their number.

        Raises:
            NotFoundError: the named delivery is no dead letter of this webhook.
            ConflictError: the webhook is disabled.
        """
        endpoint = await self._endpoint(owner_id, webhook_id)
        if endpoint.disabled_at is not None:
            raise ConflictError("the webhook is disabled: enable it first")
        replayed = await self._log.replay(
            owner_id, webhook_id, at=self._clock.now(), delivery_id=delivery_id
        )
        if delivery_id is not None and replayed == 0:
            raise NotFoundError("the webhook has no such dead letter")
        return replayed

    def _documents(self, owner_id: str) -> OwnedDocuments:
        return self._store.of(owner_id, Resource.WEBHOOKS)

    async def _endpoint(self, owner_id: str, webhook_id: str) -> WebhookEndpoint:
        document = await self._documents(owner_id).get(webhook_id)
        if document is None:
            raise _not_found()
        return WebhookEndpoint.read(document)


def _new_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def _not_found() -> NotFoundError:
    return NotFoundError("there is no such webhook")
