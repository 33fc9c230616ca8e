"""What a phone has heard: every packet with the time it came."""

from __future__ import annotations

import asyncio
import itertools
import time
from dataclasses import dataclass

from local.phone.rtp import (
    LOUD_RMS,
    RATE_HZ,
    Pcm,
    RtpPacket,
    decode_ulaw,
    finished_digit,
    rms,
)

_NO_PACKETS_S = 0.5  # a sender that goes silent by sending nothing


class CallEndedError(Exception):
    """The call ended before what was waited for came."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A packet of audio."""

    at: float
    payload: bytes
    is_loud: bool


@dataclass(frozen=True)
class Sound:
    """A stretch of sound, by the times of its first and last loud packet."""

    started_at: float
    ended_at: float


@dataclass(frozen=True)
class Gap:
    """A hole in the stream: no packet for `seconds` until `ended_at`."""

    ended_at: float
    seconds: float


class Hearing:
    """Records a stream of packets and lets others wait for sound and for quiet."""

    def __init__(self) -> None:
        self.packets: list[Heard] = []
        self.digits = ""
        self.lost = 0
        self._quiet_samples = 0
        self._last_event: int | None = None
        self._last_sequence: dict[int, int] = {}  # of each source
        self._changed = asyncio.Event()
        self._closed = False

    def take(self, packet: RtpPacket, *, payload_type: int, event_type: int | None) -> None:
        """One packet has come; what is neither audio nor an event is none of this call's."""
        if packet.payload_type in {payload_type, event_type}:
            self._count_lost(packet)
        if packet.payload_type == payload_type:
            is_loud = rms(decode_ulaw(packet.payload)) > LOUD_RMS
            self._quiet_samples = 0 if is_loud else self._quiet_samples + len(packet.payload)
            self.packets.append(Heard(time.time(), packet.payload, is_loud))
            self._wake()
        elif packet.payload_type == event_type:
            digit = finished_digit(packet.payload)
            # The end of an event is sent three times, each with the event's own timestamp.
            if digit and packet.timestamp != self._last_event:
                self._last_event = packet.timestamp
                self.digits += digit
                self._wake()

    def close(self) -> None:
        """No more will come: who waits is told."""
        self._closed = True
        self._wake()

    async def first_sound(self, since: float) -> float:
        """When the first sound at or after `since` came.

        Raises:
            CallEndedError: the call ended and there was none.
        """
        seen = 0
        while True:
            for packet in self.packets[seen:]:
                if packet.is_loud and packet.at >= since:
                    return packet.at
            seen = len(self.packets)
            await self._next(f"no sound since {since:.3f}")

    async def quiet(self, pause_s: float, begin: float) -> float:
        """When the last sound ended (`begin` if there was none), once `pause_s` of quiet followed.

        Quiet is counted in packets, so a listener that was held up does not mistake that for quiet.

        Raises:
            CallEndedError: the call ended before.
        """
        while self._quiet_samples < pause_s * RATE_HZ:
            try:
                async with asyncio.timeout(pause_s + _NO_PACKETS_S):
                    await self._next(f"no quiet of {pause_s} s")
            except TimeoutError:
                break
        return next((packet.at for packet in reversed(self.packets) if packet.is_loud), begin)

    async def digit_count(self, count: int) -> str:
        """The digits so far, once there are `count` of them.

        Raises:
            CallEndedError: the call ended before.
        """
        while len(self.digits) < count:
            await self._next(f"digits {self.digits!r}, not {count}")
        return self.digits

    def pcm(self, since: float, until: float) -> Pcm:
        """The audio between two times, in order of arrival; holes are not filled."""
        return decode_ulaw(b"".join(p.payload for p in self.packets if since <= p.at <= until))

    def sounds(self, since: float, until: float, pause_s: float) -> list[Sound]:
        """The stretches of sound between two times; shorter pauses do not part them."""
        found: list[Sound] = []
        for packet in self.packets:
            if not packet.is_loud or not since <= packet.at <= until:
                continue
            if found and packet.at - found[-1].ended_at < pause_s:
                found[-1] = Sound(found[-1].started_at, packet.at)
            else:
                found.append(Sound(packet.at, packet.at))
        return found

    def gaps_over(self, seconds: float) -> list[Gap]:
        """Where longer than this passed between two packets."""
        return [
            Gap(ended_at=later.at, seconds=later.at - earlier.at)
            for earlier, later in itertools.pairwise(self.packets)
            if later.at - earlier.at > seconds
        ]

    def _count_lost(self, packet: RtpPacket) -> None:
        last = self._last_sequence.get(packet.ssrc)
        if last is not None:
            step = (packet.sequence - last) & 0xFFFF
            # A step of more than half the number space is a late or doubled packet, not a loss.
            if step >= 0x8000 or step == 0:
                return
            self.lost += step - 1
        self._last_sequence[packet.ssrc] = packet.sequence

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _next(self, missing: str) -> None:
        if self._closed:
            raise CallEndedError(f"the call ended: {missing}")
        await self._changed.wait()
