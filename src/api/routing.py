"""How the routes of a resource are declared."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query
from fastapi.routing import APIRoute
from starlette.responses import Response
from typing_extensions import override

from src.api.idempotency import ReplayedError, attempt_of
from src.api.problems import problem_responses
from src.schemas.errors import FieldProblem, InvalidInputError

PREFIX = "/api/v2"
_ALWAYS = (400, 401, 403, 413, 415, 422, 429, 503)
"""What any route with a gate may answer."""


class ResourceRoute(APIRoute):
    """Refuses unknown query parameters; keeps what a request with an idempotency key was answered."""

    @override
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        known = {
            field.alias
            for field in get_flat_params(self.dependant)
            if isinstance(field.field_info, Query)
        }

        async def handle_once(request: Request) -> Response:
            # A filter that is misspelled would list everything.
            if unknown := sorted(set(request.query_params) - known):
                raise InvalidInputError(
                    *(FieldProblem(f"query.{name}", "unknown parameter") for name in unknown)
                )
            try:
                response = await handle(request)
            except ReplayedError as replayed:
                return replayed.response
            except BaseException:
                if attempt := attempt_of(request):
                    await attempt.abandon()
                raise
            if attempt := attempt_of(request):
                await attempt.end(response)
            return response

        return handle_once


def resource_router(tag: str) -> APIRouter:
    """A router below `PREFIX` whose POSTs heed `Idempotency-Key`."""
    return APIRouter(
        prefix=PREFIX,
        tags=[tag],
        route_class=ResourceRoute,
        responses=problem_responses(*_ALWAYS),
    )
