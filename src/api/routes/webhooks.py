"""Webhooks: where an owner is told of events, and what became of each message."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Query, Request

from src.api.pagination import Cursor, Limit, Page, next_cursor, position_of
from src.api.problems import problem_responses
from src.api.routing import resource_router
from src.api.tenant import Requires, Tenant, services_of
from src.schemas.api_keys import Scope
from src.schemas.webhooks import (
    DeliveryStatus,
    NewWebhook,
    Replayed,
    Webhook,
    WebhookDelivery,
    WebhookWithSecret,
)
from src.services.owned import Position
from src.services.webhooks import Webhooks

router = resource_router("webhooks")

Reader = Annotated[Tenant, Depends(Requires(Scope.WEBHOOKS_READ))]
Writer = Annotated[Tenant, Depends(Requires(Scope.WEBHOOKS_WRITE))]
_Id = Path(pattern=r"^[A-Za-z0-9_-]{1,64}$")
WebhookId = Annotated[str, _Id]
DeliveryId = Annotated[str, _Id]
Status = Annotated[DeliveryStatus | None, Query(description="Only deliveries that stand so.")]


def _webhooks(request: Request) -> Webhooks:
    return services_of(request).webhooks


Service = Annotated[Webhooks, Depends(_webhooks)]


@router.post(
    "/webhooks",
    status_code=201,
    operation_id="createWebhook",
    responses=problem_responses(409),
    response_model_exclude_none=True,
)
async def create(new: NewWebhook, tenant: Writer, webhooks: Service) -> WebhookWithSecret:
    """Be told of events from now on.

    Each event is sent by POST as `{"id", "type", "timestamp", "data"}`, signed as Standard Webhooks
    (https://www.standardwebhooks.com) says, with the secret that this answer shows once. Any answer
    with 2xx within ten seconds means that it has arrived; 410 disables the webhook. Everything else is
    tried ten times within about two days, and is then a dead letter. A message may arrive more than
    once, and not in order: its `webhook-id` stays the same.
    """
    return await webhooks.create(tenant.owner_id, new)


@router.get("/webhooks", operation_id="listWebhooks", response_model_exclude_none=True)
async def find(
    tenant: Reader, webhooks: Service, limit: Limit = 50, cursor: Cursor = None
) -> Page[Webhook]:
    """The webhooks, newest first."""
    found = await webhooks.page(tenant.owner_id, after=position_of(cursor), limit=limit)
    places = [Position(one.created_at, one.webhook_id) for one in found]
    return Page(items=found, nextCursor=next_cursor(places, limit))


@router.get(
    "/webhooks/{webhookId}",
    operation_id="getWebhook",
    responses=problem_responses(404),
    response_model_exclude_none=True,
)
async def get(webhookId: WebhookId, tenant: Reader, webhooks: Service) -> Webhook:  # noqa: N803
    """One webhook."""
    return await webhooks.get(tenant.owner_id, webhookId)


@router.delete(
    "/webhooks/{webhookId}",
    status_code=204,
    operation_id="deleteWebhook",
    responses=problem_responses(404),
)
async def delete(webhookId: WebhookId, tenant: Writer, webhooks: Service) -> None:  # noqa: N803
    """Be told no more; what was still to be sent is dropped."""
    await webhooks.delete(tenant.owner_id, webhookId)


@router.post(
    "/webhooks/{webhookId}/secret",
    operation_id="rotateWebhookSecret",
    responses=problem_responses(404, 409),
    response_model_exclude_none=True,
)
async def rotate_secret(
    webhookId: WebhookId,  # noqa: N803
    tenant: Writer,
    webhooks: Service,
) -> WebhookWithSecret:
    """A new secret, shown once; for a day, messages are signed with the former one as well."""
    return await webhooks.rotate_secret(tenant.owner_id, webhookId)


@router.post(
    "/webhooks/{webhookId}/enable",
    operation_id="enableWebhook",
    responses=problem_responses(404, 409),
    response_model_exclude_none=True,
)
async def enable(webhookId: WebhookId, tenant: Writer, webhooks: Service) -> Webhook:  # noqa: N803
    """Be told again, after the receiver had answered 410."""
    return await webhooks.enable(tenant.owner_id, webhookId)


@router.get(
    "/webhooks/{webhookId}/deliveries",
    operation_id="listWebhookDeliveries",
    responses=problem_responses(404),
    response_model_exclude_none=True,
)
async def find_deliveries(
    webhookId: WebhookId,  # noqa: N803
    tenant: Reader,
    webhooks: Service,
    status: Status = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[WebhookDelivery]:
    """What was sent, is to be sent or was given up, newest first; kept for 30 days after its end."""
    found = await webhooks.deliveries(
        tenant.owner_id, webhookId, status=status, after=position_of(cursor), limit=limit
    )
    places = [Position(one.created_at, one.delivery_id) for one in found]
    return Page(items=list(found), nextCursor=next_cursor(places, limit))


@router.post(
    "/webhooks/{webhookId}/replay",
    operation_id="replayWebhook",
    responses=problem_responses(404, 409),
)
async def replay(webhookId: WebhookId, tenant: Writer, webhooks: Service) -> Replayed:  # noqa: N803
    """Send the dead letters again, oldest first, 500 at most: ask again until none is left."""
    return Replayed(replayed=await webhooks.replay(tenant.owner_id, webhookId))


@router.post(
    "/webhooks/{webhookId}/deliveries/{deliveryId}/replay",
    operation_id="replayWebhookDelivery",
    responses=problem_responses(404, 409),
)
async def replay_one(
    webhookId: WebhookId,  # noqa: N803
    deliveryId: DeliveryId,  # noqa: N803
    tenant: Writer,
    webhooks: Service,
) -> Replayed:
    """Send one dead letter again."""
    replayed = await webhooks.replay(tenant.owner_id, webhookId, delivery_id=deliveryId)
    return Replayed(replayed=replayed)
