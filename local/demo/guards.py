"""Who may talk to the demo server: the page it served itself, in a browser on this machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler

_LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
_FETCHED_BY_US = frozenset({"same-origin", "none"})
"""`none`: typed into the address bar."""
_READS = frozenset({"GET", "HEAD"})
_PAGE = "/"


@web.middleware
async def only_own_page(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse what another site could have sent, even one whose name was made to resolve to us.

    Only the page itself may be opened from elsewhere: following a link to it is harmless.
    """
    host = request.headers.get("Host", "")
    if _name_of(host) not in _LOOPBACK_NAMES:
        raise web.HTTPForbidden(text="This server answers to loopback names only.")
    origin = request.headers.get("Origin")
    writes = request.method not in _READS
    if origin != f"http://{host}" and (writes or origin is not None):
        raise web.HTTPForbidden(text="This server answers its own page only.")
    fetched_from = request.headers.get("Sec-Fetch-Site", "none")
    if fetched_from not in _FETCHED_BY_US and (writes or request.path != _PAGE):
        raise web.HTTPForbidden(text="This server answers its own page only.")
    return await handler(request)


def _name_of(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def security_headers(
    livekit_url: str,
) -> Callable[[web.Request, web.StreamResponse], Awaitable[None]]:
    """A signal handler that lets the page reach this server and LiveKit, and nothing else."""
    server = urlsplit(livekit_url).netloc
    policy = "; ".join(
        [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self'",
            "media-src 'self'",
            f"connect-src 'self' ws://{server} wss://{server} http://{server} https://{server}",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ]
    )
    headers = {
        "Content-Security-Policy": policy,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "microphone=(self), camera=(), geolocation=(), display-capture=()",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }

    async def add(_request: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(headers)
        response.headers.setdefault("Cache-Control", "no-cache")

    return add
