"""Web sessions: a page meets an agent, and goes on where it was after a refresh."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request, Response

from src.api.problems import problem_responses
from src.api.routing import PREFIX, resource_router
from src.api.session_access import COOKIE, SessionId, SessionSecret, secret_of
from src.api.tenant import Requires, Tenant, services_of
from src.schemas.api_keys import Scope
from src.schemas.errors import FieldProblem, InvalidInputError
from src.schemas.memory import SESSION_TTL_S
from src.schemas.web_sessions import (
    JoinRequest,
    WebInvitation,
    WebSessionRequest,
    WebSessionView,
)

router = resource_router("sessions")

Visitor = Annotated[Tenant, Depends(Requires(Scope.SESSIONS_WRITE, pages=True))]


@router.post("/sessions", status_code=201, operation_id="createSession")
async def create(
    request: Request, wanted: WebSessionRequest, tenant: Visitor, response: Response
) -> WebSessionView:
    """A new session with an agent, open for a day.

    A page asks with a publishable key; who its visitor is, only your backend may say, with a secret
    key. The `secret` opens the session; a page on the API's own site gets it as a cookie as well.
    """
    if tenant.is_page and wanted.agent_id != tenant.key.agent_id:
        raise InvalidInputError(FieldProblem("agentId", "no such agent"))
    session = await services_of(request).sessions.create(
        tenant.owner_id, wanted, trusted=not tenant.is_page
    )
    if tenant.is_page:
        response.set_cookie(
            COOKIE,
            f"{session.session_id}.{session.secret}",
            max_age=SESSION_TTL_S,
            path=f"{PREFIX}/sessions/{session.session_id}",
            secure=request.scope["scheme"] == "https",
            httponly=True,
            samesite="lax",
        )
    return session


@router.post(
    "/sessions/{sessionId}/join",
    status_code=201,
    operation_id="joinSession",
    responses=problem_responses(404),
)
async def join(
    request: Request, session_id: SessionId, wanted: JoinRequest, tenant: Visitor
) -> WebInvitation:
    """What a browser needs to meet the agent, once; after a refresh of the page, ask again."""
    secret = secret_of(request, wanted.secret, session_id) if tenant.is_page else wanted.secret
    return await services_of(request).sessions.join(
        tenant.owner_id,
        session_id,
        wanted.model_copy(update={"secret": secret}),
        trusted=not tenant.is_page,
        agent_id=tenant.key.agent_id,
    )


@router.delete(
    "/sessions/{sessionId}",
    status_code=204,
    operation_id="endSession",
    responses=problem_responses(404),
)
async def end(
    request: Request, session_id: SessionId, tenant: Visitor, secret: SessionSecret = None
) -> None:
    """Let nobody join any more, and close the room; what was said is kept."""
    await services_of(request).sessions.end(
        tenant.owner_id,
        session_id,
        secret_of(request, secret, session_id) if tenant.is_page else secret,
        trusted=not tenant.is_page,
        agent_id=tenant.key.agent_id,
    )
