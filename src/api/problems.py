"""Every error as RFC 9457 problem details, with a `code` that stays the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.encoders import jsonable_encoder
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute, iter_route_contexts
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from src.logs import get_logger, trace_of
from src.schemas.errors import (
    AgentNotFoundError,
    ConflictError,
    FamiliarError,
    FieldProblem,
    InvalidInputError,
    NotFoundError,
    StaleError,
)

logger = get_logger(__name__)

MEDIA_TYPE = "application/problem+json"
_RETRY_AFTER_S = 5
_STATUSES: Mapping[type[FamiliarError], int] = {
    NotFoundError: 404,
    AgentNotFoundError: 404,
    ConflictError: 409,
    StaleError: 412,
    InvalidInputError: 422,
}
_CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    412: "stale",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid_input",
    429: "rate_limited",
    503: "unavailable",
}


class ProblemField(BaseModel):
    """What is wrong with one field."""

    field: str = Field(
        description="Path with dots; begins with `query.`, `path.` or `header.` for what is not in the body."
    )
    message: str


class Problem(BaseModel):
    """An error, as RFC 9457 describes it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "Not Found",
                    "status": 404,
                    "code": "not_found",
                    "detail": "no such agent",
                    "requestId": "5f0c6f7e1c9b4d7b8f6a2d6f0f6b7d11",
                }
            ]
        }
    )

    type: str = "about:blank"
    title: str
    status: int
    code: str = Field(description="Stable; what a program decides by.")
    detail: str = ""
    errors: list[ProblemField] | None = None
    requestId: str | None = None  # noqa: N815 - the name on the wire


class ApiError(Exception):
    """An error of HTTP itself: who asks, how, and how often."""

    def __init__(
        self, status: int, detail: str, *, code: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.code = code or _CODES[status]
        self.headers = dict(headers or {})


def problem(
    request: Request,
    status: int,
    detail: str,
    *,
    code: str = "",
    errors: Sequence[FieldProblem] = (),
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """The answer that tells of an error."""
    content = Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        code=code or _CODES.get(status, "failed"),
        detail=detail,
        errors=[ProblemField(field=one.field, message=one.message) for one in errors] or None,
        requestId=getattr(request.state, "request_id", None),
    )
    return JSONResponse(
        jsonable_encoder(content, exclude_none=True),
        status,
        headers=dict(headers or {}),
        media_type=MEDIA_TYPE,
    )


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What a route says in the OpenAPI document of the errors it may answer with."""
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in statuses
    }


def install(app: FastAPI) -> None:
    """Answer every error of the application this way."""
    app.add_exception_handler(ApiError, _api_error)
    app.add_exception_handler(FamiliarError, _familiar_error)
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(HTTPException, _http_error)


async def _api_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)  # noqa: S101 - registered for this type alone
    return problem(request, error.status, error.detail, code=error.code, headers=error.headers)


async def _familiar_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, FamiliarError)  # noqa: S101 - as above
    if error.retryable:
        logger.warning("request failed for now", extra={"code": error.code})
        return problem(
            request,
            503,
            "a store or service is away; try again",
            code=error.code,
            headers={"Retry-After": str(_RETRY_AFTER_S)},
        )
    status = next((one for kind, one in _STATUSES.items() if isinstance(error, kind)), None)
    if status is None:
        logger.error("request failed", extra={"trace": trace_of(error)})
        return unforeseen(request)
    problems = error.problems if isinstance(error, InvalidInputError) else ()
    return problem(request, status, str(error), code=error.code, errors=problems)


async def _invalid_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - as above
    found = [FieldProblem(_path(one["loc"]), str(one["msg"])) for one in error.errors()]
    if any(one["type"] == "json_invalid" for one in error.errors()):
        return problem(request, 400, "the body is not JSON", code="invalid_json")
    detail = "; ".join(f"{one.field}: {one.message}" for one in found)
    return problem(request, 422, detail, errors=found)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - as above
    headers = {"Allow": _methods(request)} if error.status_code == 405 else error.headers
    return problem(request, error.status_code, error.detail, headers=headers)


def _methods(request: Request) -> str:
    """Every method of the path; the router itself names those of the first route that has it."""
    every = [one.original_route for one in iter_route_contexts(request.app.routes)]
    routes = [one for one in every if isinstance(one, APIRoute)]
    fits = (one for one in routes if one.matches(request.scope)[0] is not Match.NONE)
    path = next((one.path for one in fits), None)
    return ", ".join(sorted({m for one in routes if one.path == path for m in one.methods or ()}))


def unforeseen(request: Request) -> JSONResponse:
    """The answer to an error that nobody expected."""
    return problem(request, 500, "this is our fault and has been logged", code="internal_error")


def _path(place: Sequence[object]) -> str:
    parts = [str(part) for part in place]
    return ".".join(parts[1:] if parts[:1] == ["body"] and len(parts) > 1 else parts)
