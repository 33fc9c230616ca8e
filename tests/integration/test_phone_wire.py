"""What the phone does when datagrams are lost, doubled, or make no sense: told by a bare socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from typing_extensions import override

from local.phone import CallRefusedError, InboundCall, Phone, Timers
from local.phone.sdp import describe
from local.phone.sip import HostPort, Message, Request, Response, parse, parse_name_address, respond

pytestmark = pytest.mark.integration

PORTS = range(29200, 29300)
FAST = Timers(t1_s=0.02, t2_s=0.08)
NUMBER = "+15105550100"


class Peer(asyncio.DatagramProtocol):
    """A socket that says only what a test says."""

    def __init__(self) -> None:
        self._inbox: asyncio.Queue[Request | Response] = asyncio.Queue()
        self._transport: asyncio.DatagramTransport | None = None

    async def open(self) -> None:
        self._transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: self, local_addr=("127.0.0.1", 0)
        )

    def close(self) -> None:
        self.transport.close()

    @property
    def transport(self) -> asyncio.DatagramTransport:
        assert self._transport is not None
        return self._transport

    @property
    def address(self) -> HostPort:
        return ("127.0.0.1", self.transport.get_extra_info("sockname")[1])

    @override
    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        self._inbox.put_nowait(parse(data))

    def send(self, message: Message | bytes, to: Phone) -> None:
        data = message if isinstance(message, bytes) else message.encode()
        self.transport.sendto(data, to.address)

    async def request(self, method: str) -> Request:
        """The next request of this method; everything else is passed over."""
        while True:
            message = await asyncio.wait_for(self._inbox.get(), 5)
            if isinstance(message, Request) and message.method == method:
                return message

    async def response(self, status: int) -> Response:
        while True:
            message = await asyncio.wait_for(self._inbox.get(), 5)
            if isinstance(message, Response) and message.status == status:
                return message

    def make(self, method: str, *, branch: str, to_tag: str = "", sequence: int = 1) -> Request:
        host, port = self.address
        to = f"<sip:{NUMBER}@127.0.0.1>" + (f";tag={to_tag}" if to_tag else "")
        headers = [("Via", f"SIP/2.0/UDP {host}:{port};branch=z9hG4bK{branch}")]
        headers += [("From", f"<sip:+15551234567@{host}>;tag=peer"), ("To", to)]
        headers += [("Call-ID", "call-of-peer"), ("CSeq", f"{sequence} {method}")]
        headers += [("Contact", f"<sip:peer@{host}:{port}>")]
        body = describe((host, port)) if method == "INVITE" else ""
        uri = f"sip:{NUMBER}@127.0.0.1"
        return Request(headers=tuple(headers), body=body, method=method, uri=uri)


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    peer = Peer()
    await peer.open()
    yield peer
    peer.close()


@pytest.fixture
async def phone(peer: Peer) -> AsyncIterator[Phone]:
    async with Phone(rtp_ports=PORTS, server=peer.address, timers=FAST) as phone:
        yield phone


def answer(invite: Request, peer: Peer, status: int, body: str = "") -> Response:
    host, port = peer.address
    return respond(invite, status, tag="peer", contact=f"sip:peer@{host}:{port}", body=body)


async def ring_at(phone: Phone, peer: Peer) -> InboundCall:
    """A call of the peer that the phone has answered."""
    peer.send(peer.make("INVITE", branch="first"), phone)
    call = await phone.accept(ring_s=0)
    ok = await peer.response(200)
    peer.send(peer.make("ACK", branch="ack", to_tag=ok.recipient.tag), phone)
    return call


async def test_an_invite_that_was_lost_is_sent_again(phone: Phone, peer: Peer) -> None:
    call = await phone.start_dial(NUMBER)
    first, second = await peer.request("INVITE"), await peer.request("INVITE")
    assert first.encode() == second.encode()

    peer.send(answer(first, peer, 486), phone)
    peer.send(answer(first, peer, 486), phone)

    acks = [await peer.request("ACK"), await peer.request("ACK")]
    assert [(ack.branch, ack.sequence) for ack in acks] == [(first.branch, first.sequence)] * 2
    assert acks[0].header("to") == answer(first, peer, 486).header("to")
    assert acks[0].uri == first.uri
    for wait in (call.wait_ringing, call.wait_answered):
        with pytest.raises(CallRefusedError, match="486"):
            await wait()


async def test_a_call_to_nobody_times_out(phone: Phone) -> None:
    with pytest.raises(CallRefusedError, match="408"):
        await phone.dial(NUMBER)


async def test_an_answer_that_comes_twice_is_acknowledged_twice(phone: Phone, peer: Peer) -> None:
    call = await phone.start_dial(NUMBER)
    invite = await peer.request("INVITE")
    ok = answer(invite, peer, 200, describe(peer.address))
    peer.send(ok, phone)
    peer.send(ok, phone)

    first, second = await peer.request("ACK"), await peer.request("ACK")
    assert first.encode() == second.encode()
    assert first.branch != invite.branch
    assert first.uri == parse_name_address(ok.header("contact")).uri

    leaving = asyncio.ensure_future(call.hang_up())
    bye, again = await peer.request("BYE"), await peer.request("BYE")
    assert bye.encode() == again.encode()
    peer.send(answer(bye, peer, 200), phone)
    await leaving
    assert (call.bye_status, bye.sequence) == (200, invite.sequence + 1)


async def test_a_cancel_waits_for_the_first_sign_of_life(phone: Phone, peer: Peer) -> None:
    call = await phone.start_dial(NUMBER)
    invite = await peer.request("INVITE")
    cancelling = asyncio.ensure_future(call.cancel())
    await peer.request("INVITE")
    peer.send(answer(invite, peer, 180), phone)

    cancel = await peer.request("CANCEL")
    assert (cancel.branch, cancel.sequence) == (invite.branch, invite.sequence)
    peer.send(answer(cancel, peer, 200), phone)
    peer.send(answer(invite, peer, 487), phone)
    await peer.request("ACK")
    await cancelling


async def test_an_answer_that_crosses_the_cancel_is_hung_up(phone: Phone, peer: Peer) -> None:
    call = await phone.start_dial(NUMBER)
    invite = await peer.request("INVITE")
    peer.send(answer(invite, peer, 180), phone)
    await call.wait_ringing()
    cancelling = asyncio.ensure_future(call.cancel())
    await peer.request("CANCEL")
    peer.send(answer(invite, peer, 200, describe(peer.address)), phone)
    bye = await peer.request("BYE")
    peer.send(answer(bye, peer, 200), phone)
    await cancelling
    assert call.ended_by == "here"


async def test_requests_that_come_twice_are_answered_alike(phone: Phone, peer: Peer) -> None:
    invite = peer.make("INVITE", branch="1")
    peer.send(invite, phone)
    peer.send(invite, phone)
    call = await phone.accept(ring_s=0)
    ok = await peer.response(200)
    again = await peer.response(200)  # not acknowledged yet
    assert ok.encode() == again.encode()
    peer.send(peer.make("ACK", branch="2", to_tag=ok.recipient.tag), phone)

    bye = peer.make("BYE", branch="3", to_tag=ok.recipient.tag, sequence=2)
    peer.send(bye, phone)
    peer.send(bye, phone)
    byes = [await peer.response(200), await peer.response(200)]
    while byes[0].sequence_method != "BYE":
        byes = [byes[1], await peer.response(200)]
    assert byes[0].encode() == byes[1].encode()
    assert len(phone.calls) == 1
    assert call.is_acknowledged
    assert call.ended_by == "there"


@pytest.mark.parametrize(("method", "status"), [("BYE", 481), ("OPTIONS", 200), ("REFER", 405)])
async def test_requests_outside_a_call(phone: Phone, peer: Peer, method: str, status: int) -> None:
    peer.send(b"\r\n\r\n", phone)
    peer.send(b"nonsense", phone)
    peer.send(peer.make(method, branch="1", to_tag="unknown"), phone)
    assert (await peer.response(status)).sequence_method == method


async def test_an_offer_without_our_codec_is_refused(phone: Phone, peer: Peer) -> None:
    invite = peer.make("INVITE", branch="1")
    bare = Request(headers=invite.headers, method="INVITE", uri=invite.uri)
    peer.send(bare, phone)
    assert (await peer.response(488)).sequence_method == "INVITE"
    peer.send(peer.make("ACK", branch="1"), phone)


async def test_a_call_that_changes_goes_on_at_the_new_address(phone: Phone, peer: Peer) -> None:
    call = await ring_at(phone, peer)
    moved = Peer()
    await moved.open()
    again = peer.make("INVITE", branch="again", to_tag=call._invite.tag, sequence=2)
    there = Request(
        headers=again.headers, body=describe(moved.address), method="INVITE", uri=again.uri
    )
    peer.send(there, phone)
    while (await peer.response(200)).sequence != 2:
        pass
    peer.send(peer.make("ACK", branch="ack2", to_tag=call._invite.tag, sequence=2), phone)

    assert call._media._remote is not None
    assert call._media._remote.address == moved.address
    assert phone.calls == [call]
    moved.close()


async def test_requests_of_a_routed_call_go_by_its_route(phone: Phone, peer: Peer) -> None:
    proxy = Peer()
    await proxy.open()
    invite = peer.make("INVITE", branch="1")
    route = f"<sip:127.0.0.1:{proxy.address[1]};lr>"
    headers = (*invite.headers, ("Record-Route", f"{route}, <sip:127.0.0.1:9;lr>"))
    peer.send(Request(headers=headers, body=invite.body, method="INVITE", uri=invite.uri), phone)
    call = await phone.accept(ring_s=0)
    ok = await peer.response(200)
    peer.send(peer.make("ACK", branch="2", to_tag=ok.recipient.tag), phone)

    leaving = asyncio.ensure_future(call.hang_up())
    bye = await proxy.request("BYE")
    proxy.send(answer(bye, proxy, 200), phone)
    await leaving
    proxy.close()

    assert bye.values("route") == [route, "<sip:127.0.0.1:9;lr>"]
    assert bye.uri == parse_name_address(invite.header("contact")).uri


async def test_a_cancel_means_the_call_of_its_branch(phone: Phone, peer: Peer) -> None:
    peer.send(peer.make("CANCEL", branch="other"), phone)
    assert (await peer.response(481)).sequence_method == "CANCEL"
    peer.send(peer.make("INVITE", branch="1"), phone)
    peer.send(peer.make("CANCEL", branch="1"), phone)  # before it could ring
    assert (await peer.response(200)).sequence_method == "CANCEL"
    assert (await peer.response(487)).sequence_method == "INVITE"
    peer.send(peer.make("ACK", branch="1"), phone)
