"""How the routes of a resource are declared."""

from __future__ import annotations

from fastapi import APIRouter

from src.api.idempotency import IdempotentRoute
from src.api.problems import problem_responses

PREFIX = "/api/v2"
_ALWAYS = (400, 401, 403, 413, 415, 422, 429, 503)
"""What any route with a gate may answer."""


def resource_router(tag: str) -> APIRouter:
    """A router below `PREFIX` whose POSTs heed `Idempotency-Key`."""
    return APIRouter(
        prefix=PREFIX,
        tags=[tag],
        route_class=IdempotentRoute,
        responses=problem_responses(*_ALWAYS),
    )
