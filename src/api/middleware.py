"""What every request passes before and after its route."""

from __future__ import annotations

import re
import time
import uuid

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from src.api.metrics import Metrics
from src.api.problems import problem, unforeseen
from src.logs import get_logger, trace_of

logger = get_logger(__name__)

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class RequestGate:
    """Request ids, JSON only, a limit on bodies, headers, one log line and metrics per request.

    The log line names the route, not the path: paths hold numbers and people's ids.
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics, max_body_bytes: int) -> None:
        self._app = app
        self._max_body_bytes = max_body_bytes
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        began, status = time.perf_counter(), 500

        async def respond(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                answered = MutableHeaders(scope=message)
                answered["X-Request-Id"] = request_id
                for name, value in _HEADERS.items():
                    answered.setdefault(name, value)
            await send(message)

        try:
            await self._serve(scope, headers, receive, respond)
        finally:
            took_s = time.perf_counter() - began
            route = getattr(scope.get("route"), "path", "unknown")
            self._metrics.request(scope["method"], route, status, took_s)
            logger.info(
                "request served",
                extra={
                    "method": scope["method"],
                    "route": route,
                    "status": status,
                    "request_id": request_id,
                    "took_ms": round(took_s * 1000, 1),
                },
            )

    async def _serve(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await problem(Request(scope), *refusal)(scope, receive, send)
            return
        started = False
        read = 0

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._max_body_bytes:  # sent in chunks, without a length
                raise HTTPException(413, self._too_large)
            return message

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, counted, watched)
        except Exception as error:  # noqa: BLE001 - the server would log what the error quotes
            logger.error("request failed", extra={"trace": trace_of(error)})  # noqa: TRY400 - as above
            if not started:
                await unforeseen(Request(scope))(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._max_body_bytes:
            return 413, self._too_large
        has_body = length not in ("", "0") or "transfer-encoding" in headers
        media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        if scope["method"] in _WITH_BODY and has_body and media_type != "application/json":
            return 415, "send application/json"
        return None

    @property
    def _too_large(self) -> str:
        return f"a body has at most {self._max_body_bytes} bytes"
