"""Errors, in the shape the provider of the path uses."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from aiohttp import ClientConnectionResetError, web

logger = logging.getLogger(__name__)

DEEPGRAM_PATHS = ("/v1/listen", "/v1/speak")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ProviderError(Exception):
    """A request is refused.

    Args:
        status: HTTP status.
        code: stable, for programs.
        message: for people.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


def bad_request(message: str, code: str = "invalid_value") -> ProviderError:
    """The request makes no sense."""
    return ProviderError(HTTPStatus.BAD_REQUEST, code, message)


def openai_error(error: ProviderError) -> web.Response:
    """`{"error": {"message", "type", "param", "code"}}`."""
    server = error.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    kinds = {401: "authentication_error", 429: "rate_limit_error"}
    kind = kinds.get(error.status, "server_error" if server else "invalid_request_error")
    body = {"message": error.message, "type": kind, "param": None, "code": error.code}
    return web.json_response({"error": body}, status=error.status)


def deepgram_error(error: ProviderError) -> web.Response:
    """`{"err_code", "err_msg", "request_id"}`."""
    body = {
        "err_code": error.code.upper(),
        "err_msg": error.message,
        "request_id": str(uuid.uuid4()),
    }
    return web.json_response(body, status=error.status)


@web.middleware
async def error_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Every refusal and every failure leaves as an answer a client of the provider understands."""
    try:
        return await handler(request)
    except ProviderError as raised:
        error = raised
    except web.HTTPException as raised:
        error = ProviderError(raised.status, "not_found", raised.reason)
    except ClientConnectionResetError:
        raise  # nobody is left to answer
    except Exception:
        logger.exception("request failed", extra={"path": request.path})
        error = ProviderError(HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", "request failed")
    shape = deepgram_error if request.path in DEEPGRAM_PATHS else openai_error
    return shape(error)


@web.middleware
async def auth_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Any key will do but none and `bad`, so that a refused key can be tried out."""
    if request.path.startswith("/v1/"):
        _, _, key = request.headers.get("Authorization", "").partition(" ")
        if key.strip() in ("", "bad"):
            deepgram = request.path in DEEPGRAM_PATHS
            code = "invalid_auth" if deepgram else "invalid_api_key"
            raise ProviderError(HTTPStatus.UNAUTHORIZED, code, "Invalid credentials.")
    return await handler(request)
