"""Whether the process lives, whether it can work, and what it counts."""

from __future__ import annotations

import asyncio
from typing import Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel
from starlette.responses import Response

from src.api.metrics import Metrics
from src.api.tenant import services_of

router = APIRouter(tags=["health"])

_CHECK_S = 2.0


class Health(BaseModel):
    """The process lives."""

    status: Literal["ok"] = "ok"


class Readiness(BaseModel):
    """Whether each dependency answers."""

    ready: bool
    dependencies: dict[str, Literal["ok", "away"]]


@router.get("/healthz", operation_id="getHealth")
async def health() -> Health:
    """The process lives."""
    return Health()


@router.get(
    "/readyz",
    operation_id="getReadiness",
    response_model=Readiness,
    responses={503: {"model": Readiness, "description": "A dependency does not answer."}},
)
async def readiness(request: Request) -> JSONResponse:
    """Whether each dependency answers."""
    checks = services_of(request).checks

    async def works(name: str) -> bool:
        try:
            async with asyncio.timeout(_CHECK_S):
                await checks[name]()
        except Exception:  # noqa: BLE001 - whatever it is, the dependency does not work
            return False
        return True

    found = await asyncio.gather(*(works(name) for name in checks))
    state = Readiness(
        ready=all(found),
        dependencies={
            name: "ok" if one else "away" for name, one in zip(checks, found, strict=True)
        },
    )
    return JSONResponse(state.model_dump(), 200 if state.ready else 503)


@router.get("/metrics", operation_id="getMetrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Prometheus metrics of this process."""
    counted: Metrics = request.app.state.metrics
    return Response(counted.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
