"""The SIP bridge against a real livekit-server; the phones are bare UDP sockets."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest
from google.protobuf.duration_pb2 import Duration
from livekit import api
from typing_extensions import override

from local.bring_up import bring_up
from local.parts import select
from local.ports import HOST, LIVEKIT_API_KEY, LIVEKIT_API_SECRET, Stack
from local.provision import provision
from local.tear_down import tear_down
from src.adapters.livekit_server import delete_room, participants

pytestmark = pytest.mark.integration
OUR_NUMBER = "+15105550100"
SDP = (
    "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
    "m=audio {port} RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\n"
)


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    stack = Stack.named("spare")
    tear_down(stack, erase=True)
    try:
        bring_up(stack, select("redis,livekit,bridge"))
        asyncio.run(provision(stack, [OUR_NUMBER]))
        yield stack
    finally:
        tear_down(stack)


@pytest.fixture
async def livekit(stack: Stack) -> AsyncIterator[api.LiveKitAPI]:
    async with api.LiveKitAPI(stack.livekit_url, LIVEKIT_API_KEY, LIVEKIT_API_SECRET) as client:
        yield client


async def test_provisioning_again_keeps_every_id(stack: Stack, livekit: api.LiveKitAPI) -> None:
    before = await provision(stack, [OUR_NUMBER])
    assert list(before) == list(stack.phone_ports)
    rules = await livekit.sip.list_dispatch_rule(api.ListSIPDispatchRuleRequest())

    assert await provision(stack, [OUR_NUMBER]) == before
    assert await livekit.sip.list_dispatch_rule(api.ListSIPDispatchRuleRequest()) == rules
    assert len(rules.items) == 1


async def test_provisioning_other_numbers_replaces_the_old_ones(
    stack: Stack, livekit: api.LiveKitAPI
) -> None:
    await provision(stack, [OUR_NUMBER, "+15105550101"])
    trunks = await livekit.sip.list_inbound_trunk(api.ListSIPInboundTrunkRequest())
    assert [list(trunk.numbers) for trunk in trunks.items] == [[OUR_NUMBER, "+15105550101"]]


class Wire(asyncio.DatagramProtocol):
    """A UDP socket that keeps what it gets."""

    def __init__(self) -> None:
        self.got: asyncio.Queue[str] = asyncio.Queue()
        self.transport: asyncio.DatagramTransport

    @override
    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]  # datagram
        self.transport = transport

    @override
    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.got.put_nowait(data.decode())
        self.peer = addr

    @property
    def port(self) -> int:
        return int(self.transport.get_extra_info("sockname")[1])

    async def expect(self, pattern: str, *, within_s: float = 5.0) -> str:
        """The next message whose first line matches; earlier ones are dropped."""
        async with asyncio.timeout(within_s):
            while True:
                message = await self.got.get()
                if re.match(pattern, message):
                    return message

    def answer(self, request: str, status: str) -> None:
        """Respond to a request."""
        kept = re.findall(r"^(?:Via|From|To|Call-ID|CSeq): .*$", request, re.MULTILINE)
        head = "\r\n".join(line.strip() for line in kept)
        head = re.sub(r"^(To: [^;\r]*)$", r"\1;tag=phone", head, flags=re.MULTILINE)
        text = f"SIP/2.0 {status}\r\n{head}\r\nContent-Length: 0\r\n\r\n"
        self.transport.sendto(text.encode(), self.peer)


@asynccontextmanager
async def wire() -> AsyncIterator[Wire]:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_datagram_endpoint(
        Wire, local_addr=(HOST, 0), family=socket.AF_INET
    )
    try:
        yield protocol
    finally:
        transport.close()


def request(method: str, stack: Stack, phone: Wire, caller: str, call_id: str) -> str:
    body = SDP.format(port=phone.port) if method == "INVITE" else ""
    return (
        f"{method} sip:{OUR_NUMBER}@{HOST}:{stack.sip} SIP/2.0\r\n"
        f"Via: SIP/2.0/UDP {HOST}:{phone.port};branch=z9hG4bK{call_id}\r\n"
        f"From: {caller};tag=caller\r\nTo: <sip:{OUR_NUMBER}@{HOST}:{stack.sip}>\r\n"
        f"Call-ID: {call_id}\r\nCSeq: 1 {method}\r\nMax-Forwards: 70\r\n"
        f"Contact: <sip:{HOST}:{phone.port}>\r\nContent-Type: application/sdp\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    )


async def call_in(stack: Stack, phone: Wire, caller: str) -> str:
    """Ring; the id of the call."""
    call_id = uuid4().hex
    message = request("INVITE", stack, phone, caller, call_id)
    phone.transport.sendto(message.encode(), (HOST, stack.sip))
    await phone.expect("SIP/2.0 180")
    return call_id


async def hang_up_while_ringing(stack: Stack, phone: Wire, caller: str, call_id: str) -> None:
    message = request("CANCEL", stack, phone, caller, call_id)
    phone.transport.sendto(message.encode(), (HOST, stack.sip))
    await phone.expect("SIP/2.0 487")
    message = request("ACK", stack, phone, caller, call_id)
    phone.transport.sendto(message.encode(), (HOST, stack.sip))


async def phones_in_rooms(livekit: api.LiveKitAPI) -> list[api.ParticipantInfo]:
    found = []
    for room in (await livekit.room.list_rooms(api.ListRoomsRequest())).rooms:
        there = await participants(livekit, room.name)
        found += [p for p in there if p.kind == api.ParticipantInfo.Kind.SIP]
    return found


async def until_phones_are(livekit: api.LiveKitAPI, count: int) -> list[api.ParticipantInfo]:
    async with asyncio.timeout(5):
        while True:
            if len(found := await phones_in_rooms(livekit)) == count:
                return found
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("caller", "number"),
    [
        ('"Maria" <sip:+15551234567@127.0.0.1>', "+15551234567"),
        ('"Anonymous" <sip:anonymous@anonymous.invalid>', "anonymous"),
        ("<sip:anonymous.invalid>", ""),
    ],
)
async def test_a_caller_who_gives_up_leaves_at_once(
    stack: Stack, livekit: api.LiveKitAPI, caller: str, number: str
) -> None:
    async with wire() as phone:
        call_id = await call_in(stack, phone, caller)
        (participant,) = await until_phones_are(livekit, 1)
        assert participant.attributes.get("sip.phoneNumber", "") == number
        assert participant.attributes["sip.trunkPhoneNumber"] == OUR_NUMBER
        assert participant.attributes["sip.callStatus"] == "ringing"

        began = time.monotonic()
        await hang_up_while_ringing(stack, phone, caller, call_id)
        await until_phones_are(livekit, 0)
        assert time.monotonic() - began < 1.5


async def test_a_number_that_is_not_ours_is_not_found(stack: Stack) -> None:
    async with wire() as phone:
        message = request("INVITE", stack, phone, "<sip:+15551234567@127.0.0.1>", uuid4().hex)
        stranger = message.replace(OUR_NUMBER, "+15105559999")
        phone.transport.sendto(stranger.encode(), (HOST, stack.sip))
        await phone.expect("SIP/2.0 40[34]")


async def test_a_deleted_room_stops_the_ringing(stack: Stack, livekit: api.LiveKitAPI) -> None:
    async with wire() as phone:
        await call_in(stack, phone, "<sip:+15551234567@127.0.0.1>")
        await until_phones_are(livekit, 1)
        for room in (await livekit.room.list_rooms(api.ListRoomsRequest())).rooms:
            await delete_room(livekit, room.name)
        await phone.expect("SIP/2.0 480")


async def dial(livekit: api.LiveKitAPI, phone: Wire, *, ring_s: int) -> None:
    await livekit.sip.create_sip_participant(
        api.CreateSIPParticipantRequest(
            trunk=api.SIPOutboundConfig(hostname=f"{HOST}:{phone.port}"),
            sip_number=OUR_NUMBER,
            sip_call_to="+15551234567",
            room_name=f"out-{uuid4().hex}",
            participant_identity="callee",
            wait_until_answered=True,
            ringing_timeout=Duration(seconds=ring_s),
        )
    )


@pytest.mark.parametrize(
    "status", ["486 Busy Here", "480 Temporarily Unavailable", "404 Not Found", "603 Decline"]
)
async def test_a_refusal_keeps_the_code_of_the_phone(livekit: api.LiveKitAPI, status: str) -> None:
    async with wire() as phone, asyncio.TaskGroup() as tasks:
        call = tasks.create_task(_failure(dial(livekit, phone, ring_s=10)))
        invite = await phone.expect("INVITE")
        phone.answer(invite, status)
        await phone.expect("ACK")
        failure = await call
    assert isinstance(failure, api.SipCallError)
    assert failure.sip_status_code == int(status[:3])


@pytest.mark.parametrize("says", ["180 Ringing", None])
async def test_a_phone_that_does_not_answer_is_given_up(
    livekit: api.LiveKitAPI, says: str | None
) -> None:
    began = time.monotonic()
    async with wire() as phone, asyncio.TaskGroup() as tasks:
        call = tasks.create_task(_failure(dial(livekit, phone, ring_s=1)))
        invite = await phone.expect("INVITE")
        if says is not None:
            phone.answer(invite, says)
            phone.answer(await phone.expect("CANCEL"), "200 OK")
            phone.answer(invite, "487 Request Terminated")
        failure = await call
    assert isinstance(failure, api.ServerError)
    assert "timed out" in str(failure)
    assert 0.9 < time.monotonic() - began < 4


async def _failure(call: Awaitable[None]) -> Exception | None:
    try:
        await call
    except Exception as error:  # noqa: BLE001 - the error is what is looked at
        return error
    return None
