"""Pages on other sites may open sessions: which ones, their publishable key says."""

from __future__ import annotations

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from src.api.routing import PREFIX

_FOR_PAGES = f"{PREFIX}/sessions"


class PageCors:
    """Lets browsers ask what is below `/sessions`, with a key and without cookies.

    It stands before everything else, so that a page can read every refusal. The origin is checked with
    the key, which a preflight does not carry; what is not for pages is left to the browser's own rule.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._for_pages = CORSMiddleware(
            app,
            allow_origins=["*"],
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "X-Session-Secret"],
            expose_headers=["Retry-After", "X-Request-Id"],
            max_age=600,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        for_pages = scope["type"] == "http" and scope["path"].startswith(_FOR_PAGES)
        await (self._for_pages if for_pages else self._app)(scope, receive, send)
