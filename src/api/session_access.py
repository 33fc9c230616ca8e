"""Who may reach one web session: its owner's backend, or the page that holds its secret."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Header, Path, Request

from src.api.tenant import Requires, Tenant, services_of
from src.schemas.api_keys import Scope
from src.schemas.text import Text

SessionId = Annotated[Text, Path(alias="sessionId", min_length=1, max_length=200)]
SessionSecret = Annotated[
    str | None,
    Header(
        alias="X-Session-Secret",
        max_length=200,
        description="What the session was made with; a page needs it, a secret key does not.",
    ),
]
COOKIE = "familiar_session"


def secret_of(request: Request, given: str | None, session_id: str) -> str | None:
    """The session's secret: as it was sent, else from the cookie of a page on the API's own site."""
    if given is not None:
        return given
    kept_id, _, kept = request.cookies.get(COOKIE, "").partition(".")
    return kept if kept_id == session_id and kept else None


def session_gate(scope: Scope) -> Requires:
    """Lets secret keys with the scope through, and pages; see `require_session` for these."""
    return Requires(scope, pages=True)


async def require_session(
    request: Request, tenant: Tenant, session_id: str, secret: str | None
) -> None:
    """A page gets no further without the secret of its own session.

    Raises:
        NotFoundError: it has none, or another's.
        ContactStoreError: the store failed.
    """
    if tenant.is_page:
        await services_of(request).sessions.authorise(
            tenant.owner_id,
            session_id,
            secret_of(request, secret, session_id),
            trusted=False,
            agent_id=tenant.key.agent_id,
        )


def session_tenant(scope: Scope) -> Callable[..., Awaitable[Tenant]]:
    """A dependency: the tenant who may reach the session that the path names."""
    gate = session_gate(scope)

    async def check(
        request: Request,
        session_id: SessionId,
        secret: SessionSecret = None,
        # As a default: an annotation is read as text, and would not find the gate.
        tenant: Tenant = Depends(gate),  # noqa: B008
    ) -> Tenant:
        await require_session(request, tenant, session_id, secret)
        return tenant

    return check
