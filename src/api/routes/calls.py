"""Outbound calls, one at a time."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request, Response

from src.api.problems import problem_responses
from src.api.routes.contacts import ContactUID
from src.api.routing import PREFIX, resource_router
from src.api.tenant import Requires, Tenant, services_of
from src.schemas.api_keys import Scope
from src.schemas.call_requests import CallRequest, CallView

router = resource_router("calls")

Reader = Annotated[Tenant, Depends(Requires(Scope.CONTACTS_READ))]
Writer = Annotated[Tenant, Depends(Requires(Scope.CALLS_WRITE))]


@router.post(
    "/calls",
    status_code=202,
    operation_id="placeCall",
    responses=problem_responses(409),
    response_model_exclude_none=True,
)
async def place(
    request: Request, wanted: CallRequest, tenant: Writer, response: Response
) -> CallView:
    """Call somebody now.

    The answer comes before the phone rings; `GET /api/v2/calls/{contactUID}` tells how it goes, and
    webhooks do. Send an `Idempotency-Key`, so that a request that is repeated calls nobody twice.
    """
    call = await services_of(request).calls.place(tenant.owner_id, wanted)
    response.headers["Location"] = f"{PREFIX}/calls/{call.contact_uid}"
    return call


@router.get(
    "/calls/{contactUID}",
    operation_id="getCall",
    responses=problem_responses(404),
    response_model_exclude_none=True,
)
async def status(request: Request, uid: ContactUID, tenant: Reader) -> CallView:
    """Where a placed call stands."""
    return await services_of(request).calls.status(tenant.owner_id, uid)


@router.post(
    "/calls/{contactUID}/hangup",
    status_code=202,
    operation_id="hangUpCall",
    responses=problem_responses(404, 409),
    response_model_exclude_none=True,
)
async def hang_up(request: Request, uid: ContactUID, tenant: Writer) -> CallView:
    """End a placed call, whether it rings or talks; may be asked again."""
    return await services_of(request).calls.hang_up(tenant.owner_id, uid)
