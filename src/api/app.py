"""The API as an application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any

from fastapi import APIRouter, FastAPI
from typing_extensions import override

from src.api import problems
from src.api.cors import PageCors
from src.api.idempotency import HEADER
from src.api.metrics import Metrics
from src.api.middleware import RequestGate
from src.api.problems import Problem
from src.api.routes import (
    agents,
    calls,
    contacts,
    health,
    memory,
    phone_numbers,
    sessions,
    settings,
    webhooks,
)
from src.api.services import ApiServices
from src.api.tenant import require_gates, resource_routes

MAX_BODY_BYTES = 1024 * 1024
ROUTERS: tuple[APIRouter, ...] = (
    agents.router,
    contacts.router,
    calls.router,
    phone_numbers.router,
    sessions.router,
    memory.router,
    webhooks.router,
    settings.router,
)
"""What is below `/api/v2`, resource by resource."""

_IDEMPOTENCY_KEY = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    "description": "Sent again with the same key, a request gets its first answer for a day.",
}


def create_app(
    services: ApiServices,
    *,
    routers: Sequence[APIRouter] = ROUTERS,
    running: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
) -> FastAPI:
    """The application. Does no I/O; `running` surrounds its life.

    Raises:
        RuntimeError: a route below `/api` has no gate.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with running():
            yield

    app = _Api(
        title="Familiar",
        version="2",
        summary="Voice agents that remember who is calling: agents, calls, sessions, memory.",
        lifespan=lifespan,
        docs_url=None,  # a page of it would load scripts from elsewhere
        redoc_url=None,
    )
    app.state.services = services
    app.state.metrics = Metrics()
    # Not by FastAPI's own limit, whose answer is plain text.
    app.add_middleware(RequestGate, metrics=app.state.metrics, max_body_bytes=MAX_BODY_BYTES)
    app.add_middleware(PageCors)  # the last is the first that a request passes
    problems.install(app)
    app.include_router(health.router)
    for router in routers:
        app.include_router(router)
    require_gates(app)
    return app


class _Api(FastAPI):
    @override
    def openapi(self) -> dict[str, Any]:
        """The document; with the parts that FastAPI does not know of."""
        if self.openapi_schema is not None:
            return self.openapi_schema
        document = super().openapi()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas.update(problem.pop("$defs", {}))
        schemas["Problem"] = problem
        for route in resource_routes(self):
            if "POST" in (route.methods or ()):
                operation = document["paths"][route.path_format]["post"]
                operation.setdefault("parameters", []).append(_IDEMPOTENCY_KEY)
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        return document
