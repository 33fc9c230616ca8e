"""Whose request it is, and what it may do: the one gate of every route below `/api`.

A route gets its owner from nowhere but the `Tenant` that `Requires` yields; `require_gates` refuses
to start an application in which a route has no gate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import FastAPI, Request, Security
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from src.api import idempotency
from src.api.problems import ApiError
from src.api.services import ApiServices
from src.schemas.api_keys import ApiKey, KeyKind, Scope
from src.services.api_ports import Rate

API_PREFIX = "/api/"
_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="apiKey",
    description="An API key: `fam_sk_…` in an owner's backend, `fam_pk_…` in a page.",
)
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]
_CHALLENGE = {"WWW-Authenticate": "Bearer"}


@dataclass(frozen=True)
class Tenant:
    """Who asks; every read and write of the request is theirs."""

    owner_id: str
    key: ApiKey

    @property
    def is_page(self) -> bool:
        """Whether a publishable key asks: anybody may be behind it."""
        return self.key.kind is KeyKind.PUBLISHABLE


def services_of(request: Request) -> ApiServices:
    """What this application was created with."""
    found: ApiServices = request.app.state.services
    return found


class Requires:
    """Lets a request through that has a valid key with a scope.

    With `pages`, a publishable key opens the route as well, from its origins.
    """

    def __init__(self, scope: Scope, *, pages: bool = False) -> None:
        self.scope = scope
        self.pages = pages

    async def __call__(self, request: Request, credentials: Credentials = None) -> Tenant:
        """Who asks.

        Raises:
            ApiError: 401 without a valid key, 403 if it does not allow this, 429 if it asks too often.
            ContactStoreError: it cannot be looked up.
        """
        services = services_of(request)
        token = credentials.credentials if credentials else ""
        key = await services.keys.recognise(token) if token else None
        if key is None:
            await self._limit(
                services, f"address:{address_of(request)}", services.rates.per_address
            )
            raise ApiError(401, "a valid API key is needed", headers=_CHALLENGE)
        if key.kind is KeyKind.PUBLISHABLE:
            self._check_page(request, key)
            limit = (f"page:{address_of(request)}", services.rates.per_address)
            await self._limit(services, *limit)
        elif self.scope not in key.scopes:
            raise ApiError(403, f"the key lacks the scope {self.scope}", code="scope_missing")
        await self._limit(services, f"key:{key.key_id}", services.rates.per_key)
        await idempotency.begin(request, services.answers, key_id=key.key_id, token=token)
        return Tenant(key.owner_id, key)

    def _check_page(self, request: Request, key: ApiKey) -> None:
        if not self.pages:
            raise ApiError(403, "a publishable key does not allow this", code="scope_missing")
        if _origin_of(request) not in key.allowed_origins:
            raise ApiError(403, "the key is not for this origin", code="origin_refused")

    async def _limit(self, services: ApiServices, name: str, rate: Rate) -> None:
        wait_s = await services.limiter.wait_s(name, rate)
        if wait_s:
            raise ApiError(429, "too many requests", headers={"Retry-After": str(wait_s)})


def address_of(request: Request) -> str:
    """The other end's address; behind a trusted proxy, the one that it names (see `serve.py`)."""
    return request.client.host if request.client else "unknown"


def _origin_of(request: Request) -> str | None:
    """The origin of the page that asks; browsers do not name it where a page reads from its own site."""
    given, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    if given is None and site == "same-origin":
        return f"{request.scope['scheme']}://{request.headers.get('host')}"
    return given


def gate_of(route: APIRoute) -> Requires | None:
    """The gate of a route."""
    return _gate(route.dependant)


def _gate(dependant: Dependant) -> Requires | None:
    if isinstance(dependant.call, Requires):
        return dependant.call
    return next(filter(None, map(_gate, dependant.dependencies)), None)


def resource_routes(app: FastAPI) -> list[APIRoute]:
    """Every route below `/api`."""
    found = [one.original_route for one in iter_route_contexts(app.routes)]
    return [one for one in found if isinstance(one, APIRoute) and one.path.startswith(API_PREFIX)]


def require_gates(app: FastAPI) -> None:
    """Check that no route below `/api` forgot to ask who is there.

    Raises:
        RuntimeError: one did.
    """
    open_routes = [route.path for route in resource_routes(app) if gate_of(route) is None]
    if open_routes:
        raise RuntimeError(f"these routes are open to everybody: {', '.join(open_routes)}")
