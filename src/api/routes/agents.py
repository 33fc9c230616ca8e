"""Agents: created, read, replaced, deleted; what is odd about them; what a caller would hear."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Query, Request, Response
from pydantic import TypeAdapter, ValidationError

from src.api.etags import IfMatch, etag_of, version_of
from src.api.pagination import Cursor, Limit, Page, next_cursor, position_of
from src.api.problems import problem_responses
from src.api.routing import PREFIX, resource_router
from src.api.tenant import Requires, Tenant, services_of
from src.schemas.agent_document import Agent, AgentDocument, Warnings
from src.schemas.api_keys import Scope
from src.schemas.contact import CallDirection
from src.schemas.errors import FieldProblem, InvalidInputError
from src.schemas.preview import Preview, PreviewDirection, PreviewRequest, PreviewVariables
from src.schemas.text import Text
from src.services.agent_documents import AgentDocuments
from src.services.owned import Position

router = resource_router("agents")

Reader = Annotated[Tenant, Depends(Requires(Scope.AGENTS_READ))]
Writer = Annotated[Tenant, Depends(Requires(Scope.AGENTS_WRITE))]
CallReader = Annotated[Tenant, Depends(Requires(Scope.CONTACTS_READ))]
AgentId = Annotated[Text, Path(min_length=1, max_length=200)]
Phone = Annotated[
    Text,
    Query(
        min_length=1,
        max_length=256,
        description="In any form; national numbers are read in your `defaultRegion`.",
        examples=["+919876543210"],
    ),
]
Variables = Annotated[
    str | None,
    Query(
        max_length=8000,
        description="Values that the call would have of its own, as a JSON object of texts.",
        examples=['{"name": "Daivik"}'],
    ),
]
_VARIABLES = TypeAdapter(PreviewVariables)


def _agents(request: Request) -> AgentDocuments:
    return services_of(request).agents


Service = Annotated[AgentDocuments, Depends(_agents)]


@router.post(
    "/agents",
    status_code=201,
    operation_id="createAgent",
    responses=problem_responses(409),
    response_model_exclude_none=True,
)
async def create(
    document: AgentDocument, tenant: Writer, agents: Service, response: Response
) -> Agent:
    """Create an agent; what is left out takes its default.

    Both memory features are off unless `historyContext` turns them on. Agents that are linked must be
    your own. `warnings` name what is allowed and probably not meant.
    """
    agent = await agents.create(tenant.owner_id, document)
    response.headers["Location"] = f"{PREFIX}/agents/{agent.agent_id}"
    response.headers["ETag"] = etag_of(agent.version)
    return agent


@router.get("/agents", operation_id="listAgents", response_model_exclude_none=True)
async def find(
    tenant: Reader, agents: Service, cursor: Cursor = None, limit: Limit = 50
) -> Page[Agent]:
    """Your agents, newest first, without warnings."""
    found = await agents.page(tenant.owner_id, after=position_of(cursor), limit=limit)
    places = [Position(one.created_at, one.agent_id) for one in found if one.created_at is not None]
    return Page(items=found, nextCursor=next_cursor(places, limit))


@router.get(
    "/agents/{agentId}",
    operation_id="getAgent",
    responses=problem_responses(404),
    response_model_exclude_none=True,
)
async def get(agentId: AgentId, tenant: Reader, agents: Service, response: Response) -> Agent:  # noqa: N803
    """One agent; its `ETag` is for `If-Match` of an update."""
    agent = await agents.get(tenant.owner_id, agentId)
    response.headers["ETag"] = etag_of(agent.version)
    return agent


@router.put(
    "/agents/{agentId}",
    operation_id="replaceAgent",
    responses=problem_responses(404, 409, 412),
    response_model_exclude_none=True,
)
async def replace(
    agentId: AgentId,  # noqa: N803
    document: AgentDocument,
    tenant: Writer,
    agents: Service,
    response: Response,
    if_match: IfMatch = None,
) -> Agent:
    """Replace an agent as a whole: what is left out goes back to its default.

    The fields that only answers have (`agentId`, `version`, …) are refused, as all that is unknown.
    Calls that go on are not changed.
    """
    version = version_of(if_match)
    agent = await agents.replace(tenant.owner_id, agentId, document, if_version=version)
    response.headers["ETag"] = etag_of(agent.version)
    return agent


@router.delete(
    "/agents/{agentId}",
    status_code=204,
    operation_id="deleteAgent",
    responses=problem_responses(404, 409),
)
async def delete(agentId: AgentId, tenant: Writer, agents: Service) -> None:  # noqa: N803
    """Delete an agent that answers no phone number.

    Its call records stay, and agents linked to it go on remembering those calls; their next update has
    to leave the link out.
    """
    await agents.delete(tenant.owner_id, agentId)


@router.post(
    "/agents/{agentId}/lint",
    operation_id="lintAgent",
    responses=problem_responses(404),
    response_model_exclude_none=True,
)
async def lint(agentId: AgentId, tenant: Reader, agents: Service) -> Warnings:  # noqa: N803
    """What is allowed and probably not meant in greetings and prompt.

    Variables without a default, and which of them only a campaign or the request can supply; braces that
    do not match; what is no placeholder; a prompt that looks like JSON.
    """
    return Warnings(warnings=await agents.lint(tenant.owner_id, agentId))


@router.get(
    "/agents/{agentId}/preview",
    operation_id="previewAgent",
    responses=problem_responses(404, 409),
    response_model_exclude_none=True,
)
async def preview(
    request: Request,
    agentId: AgentId,  # noqa: N803
    tenant: CallReader,
    phone: Phone,
    direction: PreviewDirection = CallDirection.INBOUND,
    dynamicVariables: Variables = None,  # noqa: N803
) -> Preview:
    """What somebody with this number would hear now, and what the agent would know of them.

    The look-ups and the words are those of a call. Nobody is called, and nothing is written.
    """
    asked = PreviewRequest(
        phone=phone, direction=direction, dynamic_variables=_values(dynamicVariables)
    )
    return await services_of(request).preview.preview(tenant.owner_id, agentId, asked)


def _values(written: str | None) -> dict[str, str]:
    try:
        return _VARIABLES.validate_json(written or "{}")
    except ValidationError:
        problem = FieldProblem(
            "query.dynamicVariables", "must be a JSON object of at most 50 texts"
        )
        raise InvalidInputError(problem) from None
