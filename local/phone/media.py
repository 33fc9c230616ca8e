"""One RTP stream in each direction: sends a frame every 20 ms, records what comes."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, cast

from typing_extensions import override

from local.phone.hearing import CallEndedError, Hearing
from local.phone.rtp import (
    FRAME_S,
    FRAME_SAMPLES,
    SILENCE,
    Frame,
    RtpFormatError,
    RtpPacket,
    parse_rtp,
)
from local.phone.sdp import PCMU, TELEPHONE_EVENT, RemoteMedia
from local.phone.sip import HostPort


class Utterance:
    """Frames that go out one after another, each stamped when it went."""

    def __init__(self, frames: Sequence[Frame]) -> None:
        self.frames = frames
        self.sent_at: list[float] = []
        self.over = asyncio.Event()

    @property
    def is_sent(self) -> bool:
        """Whether all of it went out."""
        return len(self.sent_at) == len(self.frames)


class RtpPorts:
    """Hands out sockets on the even ports of a range, in turn, so that a port rests after a call."""

    def __init__(self, host: str, ports: range) -> None:
        self._host = host
        self._ports = deque(port for port in ports if port % 2 == 0)

    async def open(self, protocol: asyncio.DatagramProtocol) -> asyncio.DatagramTransport:
        """A socket on the next free port.

        Raises:
            OSError: every port of the range is taken.
        """
        loop = asyncio.get_running_loop()
        for _ in range(len(self._ports)):
            port = self._ports[0]
            self._ports.rotate(-1)
            try:
                transport, _ = await loop.create_datagram_endpoint(
                    lambda: protocol, local_addr=(self._host, port)
                )
            except OSError:
                continue
            return transport
        raise OSError("every RTP port is taken")


class Media(asyncio.DatagramProtocol):
    """The audio of one call."""

    def __init__(self) -> None:
        self.hearing = Hearing()
        self.latest_s = 0.0
        self._transport: asyncio.DatagramTransport | None = None
        self._remote: RemoteMedia | None = None
        self._utterances: deque[Utterance] = deque()
        self._closed = False
        self._sequence = secrets.randbits(15)
        self._timestamp = secrets.randbits(31)
        self._ssrc = secrets.randbits(32)

    async def open(self, ports: RtpPorts) -> None:
        """Listen.

        Raises:
            OSError: no free port.
        """
        self._transport = await ports.open(self)

    @property
    def address(self) -> HostPort:
        """Where we want to be sent audio."""
        return cast("HostPort", self._socket.get_extra_info("sockname")[:2])

    def connect(self, remote: RemoteMedia) -> None:
        """Send there from now on."""
        self._remote = remote

    async def run(self) -> None:
        """Send a frame every 20 ms, silence when there is nothing to say, until closed.

        A frame that is late does not delay those after it. `latest_s` keeps the worst lateness.
        """
        due = time.perf_counter()
        while not self._closed:
            self.latest_s = max(self.latest_s, time.perf_counter() - due)
            self._send(self._next_frame())
            due += FRAME_S
            await asyncio.sleep(max(0.0, due - time.perf_counter()))

    async def play(self, frames: Iterable[Frame]) -> Utterance:
        """Send these after what is already queued; returns when the last one went out.

        Cancelled, it stops in the middle.

        Raises:
            CallEndedError: the call ended before.
        """
        utterance = Utterance(list(frames))
        if not self._closed and utterance.frames:
            self._utterances.append(utterance)
            try:
                await utterance.over.wait()
            finally:
                if utterance in self._utterances:
                    self._utterances.remove(utterance)
        if not utterance.is_sent:
            sent = f"{len(utterance.sent_at)} of {len(utterance.frames)}"
            raise CallEndedError(f"the call ended after {sent} frames")
        return utterance

    def close(self) -> None:
        """Stop; what was heard stays."""
        self._closed = True
        for utterance in self._utterances:
            utterance.over.set()
        self.hearing.close()
        if self._transport is not None:
            self._transport.close()

    @override
    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        try:
            packet = parse_rtp(data)
        except RtpFormatError:
            return
        events = self._remote.telephone_event if self._remote else TELEPHONE_EVENT
        self.hearing.take(packet, payload_type=PCMU, event_type=events)

    @override
    def error_received(self, exc: Exception) -> None:
        """The other side closed its port a moment before its BYE came: nothing to do."""

    @property
    def _socket(self) -> asyncio.DatagramTransport:
        if self._transport is None:
            raise RuntimeError("not open")
        return self._transport

    def _next_frame(self) -> Frame:
        if not self._utterances:
            return Frame(SILENCE)
        utterance = self._utterances[0]
        frame = utterance.frames[len(utterance.sent_at)]
        utterance.sent_at.append(time.time())
        if utterance.is_sent:
            self._utterances.popleft()
            utterance.over.set()
        return frame

    def _send(self, frame: Frame) -> None:
        if self._remote is None:
            raise RuntimeError("not connected")
        payload_type = PCMU
        if frame.is_event:
            payload_type = self._remote.telephone_event or TELEPHONE_EVENT
        packet = RtpPacket(
            payload_type=payload_type,
            sequence=self._sequence,
            timestamp=self._timestamp - frame.age * FRAME_SAMPLES,
            ssrc=self._ssrc,
            payload=frame.payload,
            marker=frame.marker,
        )
        self._socket.sendto(packet.encode(), self._remote.address)
        self._sequence = (self._sequence + 1) & 0xFFFF
        self._timestamp += FRAME_SAMPLES
