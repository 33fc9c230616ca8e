"""SIP transactions over one UDP socket (RFC 3261, section 17).

Requests are sent again until they are answered, final responses to INVITE until they are
acknowledged; what comes twice is answered with what was said before. Transactions are kept until
the endpoint closes: a phone of a test does not live long enough to forget.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from typing_extensions import override

from local.phone.sip import (
    HostPort,
    Request,
    Response,
    SipFormatError,
    parameter,
    parse,
    reason_of,
    respond,
)
from local.phone.tasks import OwnedTasks

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Timers:
    """The timers of RFC 3261: T1 is the round trip that is assumed, T2 the longest wait between two sends."""

    t1_s: float = 0.5
    t2_s: float = 4.0

    @property
    def give_up_s(self) -> float:
        """How long nothing may come until nothing is expected any more."""
        return 64 * self.t1_s

    def waits(self, longest_s: float) -> Iterator[float]:
        """How long to wait after each send, doubling up to the longest, until it is given up."""
        wait, left = self.t1_s, self.give_up_s
        while left > 0:
            yield min(wait, left)
            left -= wait
            wait = min(2 * wait, longest_s)


@dataclass(frozen=True)
class Traced:
    """A message that went or came."""

    at: float
    sent: bool
    line: str


class ClientTransaction:
    """A request of ours and what is answered to it; each response is told once."""

    def __init__(self, request: Request, peer: HostPort, tell: Callable[[Response], None]) -> None:
        self.request = request
        self.peer = peer
        self.ack: Request | None = None
        self.answered = asyncio.Event()  # by anything
        self.completed = asyncio.Event()  # by a final response
        self._tell = tell

    def take(self, response: Response) -> Request | None:
        """A response has come; returns the ACK to send."""
        self.answered.set()
        if not self.completed.is_set():
            if response.status >= 200:
                self.completed.set()
                if self.request.method == "INVITE" and response.status >= 300:
                    self.ack = self._refusal_ack(response)
            self._tell(response)
        return self.ack if response.status >= 200 else None

    def give_up(self) -> None:
        """Nothing came: the same as 408."""
        if not self.completed.is_set():
            self.completed.set()
            self._tell(Response(headers=self.request.headers, status=408, reason=reason_of(408)))

    def _refusal_ack(self, response: Response) -> Request:
        # RFC 3261 17.1.1.3: the INVITE's own URI, Via, From and Call-ID, the To of the response.
        headers = [("Via", self.request.header("via")), ("From", self.request.header("from"))]
        headers += [("To", response.header("to")), ("Call-ID", self.request.call_id)]
        headers += [("CSeq", f"{self.request.sequence} ACK"), ("Max-Forwards", "70")]
        headers += [("Route", route) for route in self.request.values("route")]
        return Request(headers=tuple(headers), method="ACK", uri=self.request.uri)


class ServerTransaction:
    """A request of the other side and our answer to it."""

    def __init__(self, endpoint: SipEndpoint, request: Request, peer: HostPort) -> None:
        self.request = request
        self.peer = peer
        self.tag = secrets.token_hex(4)
        self.last: Response | None = None
        self.acknowledged = asyncio.Event()
        self._endpoint = endpoint

    @property
    def is_completed(self) -> bool:
        """Whether a final response went out."""
        return self.last is not None and self.last.status >= 200

    def respond(self, status: int, *, user: str = "phone", body: str = "") -> None:
        """Answer; a final response to INVITE is sent until it is acknowledged."""
        contact = self._endpoint.contact(user)
        self.last = respond(self.request, status, tag=self.tag, contact=contact, body=body)
        self.repeat()
        if self.request.method == "INVITE" and status >= 200:
            self._endpoint.tasks.spawn(self._until_acknowledged(), name="sip response")

    def repeat(self) -> None:
        """The request came again: so does the answer."""
        if self.last is not None:
            self._endpoint.send(self.last, self.peer)

    async def _until_acknowledged(self) -> None:
        for wait in self._endpoint.timers.waits(self._endpoint.timers.t2_s):
            try:
                async with asyncio.timeout(wait):
                    await self.acknowledged.wait()
            except TimeoutError:
                self.repeat()
            else:
                return


class SipEndpoint(asyncio.DatagramProtocol):
    """One SIP port. New requests of the other side go to `on_request`."""

    def __init__(
        self, *, on_request: Callable[[ServerTransaction], None], tasks: OwnedTasks, timers: Timers
    ) -> None:
        self.tasks = tasks
        self.timers = timers
        self.trace: list[Traced] = []
        self._on_request = on_request
        self._transport: asyncio.DatagramTransport | None = None
        self._sent: dict[tuple[str, str], ClientTransaction] = {}
        self._received: dict[tuple[str, str, str], ServerTransaction] = {}

    async def open(self, port: int) -> None:
        """Listen; port 0 takes any.

        Raises:
            OSError: the port is taken.
        """
        loop = asyncio.get_running_loop()
        await loop.create_datagram_endpoint(lambda: self, local_addr=(HOST, port))

    def close(self) -> None:
        """Stop listening."""
        if self._transport is not None:
            self._transport.close()

    @property
    def port(self) -> int:
        """The port in use."""
        return cast("int", self._socket.get_extra_info("sockname")[1])

    def contact(self, user: str) -> str:
        """Our URI."""
        return f"sip:{user}@{HOST}:{self.port}"

    def new_via(self) -> str:
        """A Via with a fresh branch: the beginning of a transaction."""
        return f"SIP/2.0/UDP {HOST}:{self.port};branch=z9hG4bK{secrets.token_hex(8)};rport"

    def send(self, message: Request | Response, peer: HostPort) -> None:
        """One datagram, without a transaction."""
        self._note(message.start_line, sent=True)
        self._socket.sendto(message.encode(), peer)

    def start(
        self, request: Request, peer: HostPort, tell: Callable[[Response], None]
    ) -> ClientTransaction:
        """Send a request until it is answered; each response, or a 408 of our own, is told to `tell`."""
        transaction = ClientTransaction(request, peer, tell)
        self._sent[request.branch, request.method] = transaction
        self.send(request, peer)
        self.tasks.spawn(self._until_answered(transaction), name=f"sip {request.method}")
        return transaction

    def invite_of(self, cancel: Request) -> ServerTransaction | None:
        """The INVITE that a CANCEL means."""
        return self._received.get(self._key(cancel, "INVITE"))

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    @override
    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        try:
            message = parse(data)
        except SipFormatError as error:
            # Keep-alives are empty lines; anything else is worth a look in the trace.
            if data.strip(b"\r\n\0 "):
                self._note(f"ignored: {error}", sent=False)
            return
        self._note(message.start_line, sent=False)
        if isinstance(message, Response):
            self._take_response(message)
        elif message.method == "ACK":
            self._take_ack(message)
        else:
            self._take_request(message, (addr[0], addr[1]))

    @override
    def error_received(self, exc: Exception) -> None:
        """Nobody listens there (ICMP): the timers decide, as they do for silence."""

    @property
    def _socket(self) -> asyncio.DatagramTransport:
        if self._transport is None:
            raise RuntimeError("not open")
        return self._transport

    def _note(self, line: str, *, sent: bool) -> None:
        self.trace.append(Traced(at=time.time(), sent=sent, line=line))

    def _take_response(self, response: Response) -> None:
        transaction = self._sent.get((response.branch, response.sequence_method))
        if transaction is not None and (ack := transaction.take(response)) is not None:
            self.send(ack, transaction.peer)

    def _take_ack(self, ack: Request) -> None:
        # The ACK of a 2xx has a branch of its own, so it is matched by what all ACKs share.
        for transaction in self._received.values():
            invite = transaction.request
            if invite.method == "INVITE" and (
                (invite.call_id, invite.sequence, invite.sender.tag)
                == (ack.call_id, ack.sequence, ack.sender.tag)
            ):
                transaction.acknowledged.set()

    def _take_request(self, request: Request, peer: HostPort) -> None:
        key = self._key(request, request.method)
        if known := self._received.get(key):
            known.repeat()
            return
        transaction = ServerTransaction(self, request, peer)
        self._received[key] = transaction
        self._on_request(transaction)

    @staticmethod
    def _key(request: Request, method: str) -> tuple[str, str, str]:
        via = request.header("via")
        sent_by = via.split(";")[0].split()[-1]
        return parameter(via, "branch"), sent_by, method

    async def _until_answered(self, transaction: ClientTransaction) -> None:
        is_invite = transaction.request.method == "INVITE"
        enough = transaction.answered if is_invite else transaction.completed
        for wait in self.timers.waits(float("inf") if is_invite else self.timers.t2_s):
            try:
                async with asyncio.timeout(wait):
                    await enough.wait()
            except TimeoutError:
                self.send(transaction.request, transaction.peer)
            else:
                return
        transaction.give_up()
