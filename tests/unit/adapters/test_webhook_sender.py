"""Messages are signed, sent once, and stay away from private addresses whatever a name says."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.test_utils import TestServer
from standardwebhooks import Webhook, WebhookVerificationError
from typing_extensions import override

from src.adapters.clock import SystemClock
from src.adapters.webhook_sender import HttpWebhookSender
from src.schemas.webhooks import DeliveryError, SendResult, WebhookMessage

pytestmark = pytest.mark.integration

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - for tests
OTHER = "whsec_b3RoZXItc2VjcmV0LW9mLXRlc3Rz"
BODY = '{"id":"e1","text":"grüß"}'
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Receiver:
    """A server of a customer; answers as `answer` does."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.answer: Answer = ok
        self.server = TestServer(self._app())

    def url(self, path: str = "/hook", *, host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.server.port}{path}"

    def _app(self) -> web.Application:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._take)
        return app

    async def _take(self, request: web.Request) -> web.StreamResponse:
        self.requests.append((dict(request.headers), await request.read()))
        return await self.answer(request)


class Names(AbstractResolver):
    """Each look-up of any name gives the next of the addresses; the last one stays."""

    def __init__(self, *answers: list[str]) -> None:
        self._answers = list(answers)

    @override
    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if not found:
            raise OSError("not found")
        return [
            ResolveResult(
                hostname=host,
                host=one,
                port=port,
                family=socket.AF_INET6 if ":" in one else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for one in found
        ]

    @override
    async def close(self) -> None:
        """Nothing is open."""


class Silent(Names):
    """A name server that does not answer."""

    @override
    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        await asyncio.Event().wait()
        raise AssertionError


async def ok(_request: web.Request) -> web.StreamResponse:
    return web.Response()


def status(code: int) -> Answer:
    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=code)

    return answer


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    async with receiver.server:
        yield receiver


def message(url: str, *secrets: str) -> WebhookMessage:
    return WebhookMessage(
        url=url,
        secrets=secrets or (SECRET,),
        message_id="e1",
        at=SystemClock().now(),
        body=BODY,
    )


def allowed(timeout_s: float = 30.0) -> HttpWebhookSender:
    return HttpWebhookSender(allow_private=True, timeout_s=timeout_s)


async def test_the_receiver_can_verify_what_it_gets(receiver: Receiver) -> None:
    assert await allowed().send(message(receiver.url())) == SendResult(status=200)
    ((headers, body),) = receiver.requests
    assert body == BODY.encode()
    assert Webhook(SECRET).verify(body, headers)["id"] == "e1"
    assert headers["Content-Type"] == "application/json"
    with pytest.raises(WebhookVerificationError):
        Webhook(OTHER).verify(body, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(body + b" ", headers)


async def test_every_secret_signs(receiver: Receiver) -> None:
    await allowed().send(message(receiver.url(), SECRET, OTHER))
    ((headers, body),) = receiver.requests
    for secret in (SECRET, OTHER):
        Webhook(secret).verify(body, headers)


@pytest.mark.parametrize("code", [200, 202, 204, 299])
async def test_any_2xx_is_an_arrival(receiver: Receiver, code: int) -> None:
    receiver.answer = status(code)
    assert await allowed().send(message(receiver.url())) == SendResult(status=code)


@pytest.mark.parametrize("code", [304, 400, 404, 410, 429, 500, 503])
async def test_any_other_status_is_none(receiver: Receiver, code: int) -> None:
    receiver.answer = status(code)
    expected = SendResult(status=code, error=DeliveryError.STATUS)
    assert await allowed().send(message(receiver.url())) == expected


async def test_redirects_are_not_followed(receiver: Receiver) -> None:
    async def elsewhere(_request: web.Request) -> web.StreamResponse:
        raise web.HTTPTemporaryRedirect(receiver.url("/elsewhere"))

    receiver.answer = elsewhere
    result = await allowed().send(message(receiver.url()))
    assert result == SendResult(status=307, error=DeliveryError.STATUS)
    assert len(receiver.requests) == 1


async def test_a_server_that_does_not_answer_is_left(receiver: Receiver) -> None:
    left = asyncio.Event()

    async def never(_request: web.Request) -> web.StreamResponse:
        await left.wait()
        return web.Response()

    receiver.answer = never
    result = await allowed(timeout_s=0.2).send(message(receiver.url()))
    left.set()
    assert result == SendResult(error=DeliveryError.TIMEOUT)


async def test_a_body_without_end_is_not_read(receiver: Receiver) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-encoding": "gzip"})
        await response.prepare(request)
        while True:
            await response.write(b"\0" * 65_536)

    receiver.answer = endless
    assert await allowed().send(message(receiver.url())) == SendResult(status=200)


async def test_a_server_that_hangs_up_or_talks_nonsense_has_not_answered() -> None:
    async def nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"SSH-2.0-OpenSSH\r\n")
        writer.close()

    server = await asyncio.start_server(nonsense, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        result = await allowed().send(message(f"http://127.0.0.1:{port}/"))
        assert result == SendResult(error=DeliveryError.CONNECTION)
    result = await allowed().send(message(f"http://127.0.0.1:{port}/"))  # closed by now
    assert result == SendResult(error=DeliveryError.CONNECTION)


async def test_a_server_without_tls_is_named_so(receiver: Receiver) -> None:
    result = await allowed().send(message(receiver.url(scheme="https")))
    assert result == SendResult(error=DeliveryError.TLS)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"])
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_private_targets_are_refused(receiver: Receiver, host: str, scheme: str) -> None:
    url = receiver.url(host=host, scheme=scheme)
    assert await HttpWebhookSender().problem(url)
    result = await HttpWebhookSender().send(message(url))
    assert result == SendResult(error=DeliveryError.TARGET_REFUSED)
    assert await allowed().problem(url) is None


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "0177.0.0.1", "127.1"])
async def test_other_spellings_of_addresses_are_refused(receiver: Receiver, host: str) -> None:
    url = receiver.url(host=host)
    for sender in (HttpWebhookSender(), allowed()):
        assert await sender.problem(url)
        result = await sender.send(message(url))
        assert result == SendResult(error=DeliveryError.TARGET_REFUSED)
    assert receiver.requests == []


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1"])
async def test_a_name_that_leads_to_a_private_address_is_refused(
    receiver: Receiver, address: str
) -> None:
    sender = HttpWebhookSender(resolver=Names([address]))
    url = receiver.url(host="example.com", scheme="https")
    assert await sender.problem(url)
    assert await sender.send(message(url)) == SendResult(error=DeliveryError.TARGET_REFUSED)


async def test_a_name_that_leads_elsewhere_after_it_was_checked_is_refused(
    receiver: Receiver,
) -> None:
    sender = HttpWebhookSender(resolver=Names(["8.8.8.8"], ["127.0.0.1", "127.0.0.2"]))
    url = receiver.url(host="rebind.example.com", scheme="https")
    assert await sender.problem(url) is None
    assert await sender.send(message(url)) == SendResult(error=DeliveryError.TARGET_REFUSED)
    assert receiver.requests == []


async def test_a_name_with_one_private_address_among_others_is_refused() -> None:
    sender = HttpWebhookSender(resolver=Names(["8.8.8.8", "10.0.0.1"]))
    assert await sender.problem("https://example.com/")


@pytest.mark.parametrize("names", [Names([]), Silent()])
async def test_a_name_that_is_not_found_may_be_found_later(names: Names) -> None:
    sender = HttpWebhookSender(resolver=names, timeout_s=0.05)
    assert await sender.problem("https://example.com/") is None
    result = await sender.send(message("https://example.com/"))
    assert result.error in {DeliveryError.CONNECTION, DeliveryError.TIMEOUT}


async def test_cookies_are_not_kept(receiver: Receiver) -> None:
    async def sets_cookie(_request: web.Request) -> web.StreamResponse:
        response = web.Response()
        response.set_cookie("tracking", "1")
        return response

    receiver.answer = sets_cookie
    sender = allowed()
    for _ in range(2):
        await sender.send(message(receiver.url()))
    assert all("Cookie" not in headers for headers, _ in receiver.requests)
