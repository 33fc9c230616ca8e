"""Signs and sends webhooks, over aiohttp and with the library of Standard Webhooks.

Where a request may go is decided when its socket is made, by the very address that it is connected to:
a name that leads elsewhere than a moment before gains nothing. URLs are also looked at beforehand, for
answers that help.
"""

from __future__ import annotations

import asyncio
import socket
from http import HTTPStatus
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.resolver import ThreadedResolver
from standardwebhooks import Webhook
from typing_extensions import override

from src.schemas.webhooks import DeliveryError, SendResult, WebhookMessage
from src.services.webhook_ports import WebhookSender
from src.services.webhook_targets import NOT_PUBLIC, is_public, url_problem

TIMEOUT_S = 10.0
"""For a whole attempt, from the look-up of the name to the head of the answer."""
LOOKUP_S = 3.0
"""For the look-up of a name whose URL is only checked."""

# Family, type, protocol, canonical name, address: as `socket.getaddrinfo` gives them.
_AddressInfo = tuple[
    int, int, int, str, tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]
]


class HttpWebhookSender(WebhookSender):
    """A connection per message; no redirects, cookies or proxies. Bodies of answers are not read."""

    def __init__(
        self,
        *,
        allow_private: bool = False,
        timeout_s: float = TIMEOUT_S,
        resolver: AbstractResolver | None = None,
    ) -> None:
        """With `allow_private`, also to addresses that are not public, and over http."""
        self._allow_private = allow_private
        self._timeout_s = timeout_s
        self._resolver = resolver

    @override
    async def problem(self, url: str) -> str | None:
        problem = url_problem(url, allow_private=self._allow_private)
        if problem is not None or self._allow_private:
            return problem
        host = urlsplit(url).hostname or ""
        try:
            async with asyncio.timeout(min(LOOKUP_S, self._timeout_s)):
                found = await self._resolve().resolve(host, family=socket.AF_UNSPEC)
        except OSError:  # not found, or not in time: an attempt to send will tell
            return None
        return None if all(is_public(one["host"]) for one in found) else NOT_PUBLIC

    @override
    async def send(self, message: WebhookMessage) -> SendResult:
        if url_problem(message.url, allow_private=self._allow_private) is not None:
            return SendResult(error=DeliveryError.TARGET_REFUSED)
        try:
            async with asyncio.timeout(self._timeout_s):
                status = await self._post(message)
        except TimeoutError:
            return SendResult(error=DeliveryError.TIMEOUT)
        except (aiohttp.ClientError, OSError) as error:
            return SendResult(error=_kind(error))
        fine = HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES
        return SendResult(status=status, error=None if fine else DeliveryError.STATUS)

    async def _post(self, message: WebhookMessage) -> int:
        connector = aiohttp.TCPConnector(
            resolver=self._resolve(),
            use_dns_cache=False,
            force_close=True,
            socket_factory=self._socket,
        )
        async with (
            aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
            ) as session,
            session.post(
                message.url,
                data=message.body.encode(),
                headers=_headers(message),
                allow_redirects=False,
            ) as response,
        ):
            response.close()  # the status says it all, and the rest may have no end
            return response.status

    def _resolve(self) -> AbstractResolver:
        return self._resolver or ThreadedResolver()

    def _socket(self, info: _AddressInfo) -> socket.socket:
        family, kind, protocol, _, address = info
        if not (self._allow_private or is_public(str(address[0]))):
            raise _TargetRefusedError
        return socket.socket(family=family, type=kind, proto=protocol)


class _TargetRefusedError(OSError):
    """The address is not public."""


def _headers(message: WebhookMessage) -> dict[str, str]:
    signatures = [
        Webhook(secret).sign(msg_id=message.message_id, timestamp=message.at, data=message.body)
        for secret in message.secrets
    ]
    return {
        "content-type": "application/json",
        "user-agent": "Familiar-Webhooks/1",
        "webhook-id": message.message_id,
        "webhook-timestamp": str(int(message.at.timestamp())),
        "webhook-signature": " ".join(signatures),
    }


def _kind(error: Exception) -> DeliveryError:
    if isinstance(error, aiohttp.ClientSSLError):
        return DeliveryError.TLS
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, _TargetRefusedError):
        return DeliveryError.TARGET_REFUSED
    return DeliveryError.CONNECTION
