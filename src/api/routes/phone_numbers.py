"""Dialled numbers, and the agents that answer them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request

from src.api.pagination import Cursor, Limit, Page, next_cursor, position_of
from src.api.problems import problem_responses
from src.api.routing import resource_router
from src.api.tenant import Requires, Tenant, services_of
from src.schemas.api_keys import Scope
from src.schemas.phone_numbers_api import PhoneNumberDrift, PhoneNumberRequest, PhoneNumberView
from src.schemas.text import Text
from src.services.owned import Position

router = resource_router("phone numbers")

Reader = Annotated[Tenant, Depends(Requires(Scope.NUMBERS_READ))]
Writer = Annotated[Tenant, Depends(Requires(Scope.NUMBERS_WRITE))]
Number = Annotated[Text, Path(min_length=1, max_length=64, description="E.164")]


@router.post(
    "/phone-numbers",
    status_code=201,
    operation_id="bindPhoneNumber",
    responses=problem_responses(409),
    response_model_exclude_none=True,
)
async def bind(request: Request, wanted: PhoneNumberRequest, tenant: Writer) -> PhoneNumberView:
    """Let an agent answer calls to a number, from the next call on; binding it again changes the agent.

    The media server is told at once. With 503 the binding is stored, but the server was away: ask again.
    """
    return await services_of(request).numbers.bind(tenant.owner_id, wanted)


@router.get("/phone-numbers", operation_id="listPhoneNumbers", response_model_exclude_none=True)
async def find(
    request: Request, tenant: Reader, cursor: Cursor = None, limit: Limit = 50
) -> Page[PhoneNumberView]:
    """Bound numbers, newest first."""
    found = await services_of(request).numbers.page(
        tenant.owner_id, after=position_of(cursor), limit=limit
    )
    places = [Position(one.created_at, one.number) for one in found if one.created_at is not None]
    return Page(items=list(found), nextCursor=next_cursor(places, limit))


@router.get("/phone-numbers/drift", operation_id="getPhoneNumberDrift")
async def drift(request: Request, tenant: Reader) -> PhoneNumberDrift:
    """Where the media server differs from what is bound."""
    return await services_of(request).numbers.drift(tenant.owner_id)


@router.delete(
    "/phone-numbers/{number}",
    status_code=204,
    operation_id="unbindPhoneNumber",
    responses=problem_responses(404),
)
async def unbind(request: Request, number: Number, tenant: Writer) -> None:
    """Let nobody answer calls to a number any more."""
    await services_of(request).numbers.unbind(tenant.owner_id, number)
