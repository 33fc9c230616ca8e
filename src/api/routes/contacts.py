"""Call records: one per call and per visit of a page."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Query, Request

from src.api.pagination import Cursor, Limit, Page, cursor_of, position_of
from src.api.problems import problem_responses
from src.api.routing import resource_router
from src.api.tenant import Requires, Tenant, services_of
from src.schemas.api_keys import Scope
from src.schemas.call_records import CallRecordDetail, CallRecordFilter, CallRecordSummary
from src.schemas.contact import CallDirection, ContactStatus
from src.schemas.instants import Instant
from src.schemas.text import Text

router = resource_router("contacts")

Reader = Annotated[Tenant, Depends(Requires(Scope.CONTACTS_READ))]
Id = Annotated[Text, Query(min_length=1, max_length=200)]
ContactUID = Annotated[Text, Path(alias="contactUID", min_length=1, max_length=200)]


def wanted(  # noqa: PLR0913 - one per filter
    agent_id: Annotated[Id | None, Query(alias="agentId")] = None,
    phone: Annotated[
        Text | None, Query(min_length=1, max_length=64, description="In any format.")
    ] = None,
    direction: CallDirection | None = None,
    status: ContactStatus | None = None,
    campaign_id: Annotated[Id | None, Query(alias="campaignId")] = None,
    since: Annotated[
        Instant | None, Query(alias="from", description="Calls that started then or later.")
    ] = None,
    until: Annotated[
        Instant | None, Query(alias="to", description="Calls that started before.")
    ] = None,
) -> CallRecordFilter:
    """Which calls are asked for."""
    return CallRecordFilter(
        agent_id=agent_id,
        phone=phone,
        direction=direction,
        status=status,
        campaign_id=campaign_id,
        since=since,
        until=until,
    )


@router.get("/contacts", operation_id="listContacts", response_model_exclude_none=True)
async def find(
    request: Request,
    tenant: Reader,
    asked: Annotated[CallRecordFilter, Depends(wanted)],
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[CallRecordSummary]:
    """Calls, newest first."""
    page = await services_of(request).records.page(
        tenant.owner_id, asked, after=position_of(cursor), limit=limit
    )
    following = None if page.next is None else cursor_of(page.next)
    return Page(items=list(page.items), nextCursor=following)


@router.get(
    "/contacts/{contactUID}",
    operation_id="getContact",
    responses=problem_responses(404),
    response_model_exclude_none=True,
)
async def detail(request: Request, uid: ContactUID, tenant: Reader) -> CallRecordDetail:
    """One call: what was said, its analysis, latencies, the memory receipt and what happened when."""
    return await services_of(request).records.detail(tenant.owner_id, uid)
