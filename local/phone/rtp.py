"""RTP packets (RFC 3550), G.711 u-law, and digits as telephone events (RFC 4733)."""

from __future__ import annotations

import functools
import struct
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Pcm = npt.NDArray[np.int16]

RATE_HZ: Final = 8000
FRAME_SAMPLES: Final = 160
FRAME_S: Final = FRAME_SAMPLES / RATE_HZ
SILENCE: Final = b"\xff" * FRAME_SAMPLES
LOUD_RMS: Final = 200.0  # of a frame: below it a listener would call it silence
DIGITS: Final = "0123456789*#ABCD"

_HEADER: Final = struct.Struct("!BBHII")
_EVENT: Final = struct.Struct("!BBH")
_EVENT_END: Final = 0x80
_EVENT_VOLUME: Final = 10  # -10 dBm0
_EVENT_FRAMES: Final = 5  # 100 ms of tone
_EVENT_END_REPEATS: Final = 3
_PAUSE_FRAMES: Final = 4  # 80 ms between digits


class RtpFormatError(ValueError):
    """The datagram is not an RTP packet."""


@dataclass(frozen=True, slots=True)
class RtpPacket:
    """One packet."""

    payload_type: int
    sequence: int
    timestamp: int
    ssrc: int
    payload: bytes
    marker: bool = False

    def encode(self) -> bytes:
        """The datagram."""
        second = self.payload_type | (0x80 if self.marker else 0)
        sequence, timestamp = self.sequence & 0xFFFF, self.timestamp & 0xFFFFFFFF
        return _HEADER.pack(0x80, second, sequence, timestamp, self.ssrc) + self.payload


def parse_rtp(data: bytes) -> RtpPacket:
    """Read one datagram: contributing sources, header extension and padding are skipped.

    Raises:
        RtpFormatError: it is too short or of another version.
    """
    if len(data) < _HEADER.size or data[0] >> 6 != 2:
        raise RtpFormatError("not RTP")
    first, second, sequence, timestamp, ssrc = _HEADER.unpack_from(data)
    begin = _HEADER.size + 4 * (first & 0x0F)
    if first & 0x10:
        if len(data) < begin + 4:
            raise RtpFormatError("truncated header extension")
        begin += 4 + 4 * int.from_bytes(data[begin + 2 : begin + 4], "big")
    end = len(data) - (data[-1] if first & 0x20 else 0)
    if end < begin:
        raise RtpFormatError("truncated packet")
    return RtpPacket(
        payload_type=second & 0x7F,
        sequence=sequence,
        timestamp=timestamp,
        ssrc=ssrc,
        payload=data[begin:end],
        marker=bool(second & 0x80),
    )


def encode_ulaw(pcm: Pcm) -> bytes:
    """One byte a sample."""
    return bytes(_encoding()[pcm.astype(np.int32) + 32768])


def decode_ulaw(data: bytes) -> Pcm:
    """One sample a byte."""
    return _decoding()[np.frombuffer(data, np.uint8)]


def rms(pcm: Pcm) -> float:
    """Root mean square; 0 of nothing."""
    return float(np.sqrt(np.mean(np.square(pcm, dtype=np.float64)))) if len(pcm) else 0.0


@dataclass(frozen=True, slots=True)
class Frame:
    """What goes out in one 20 ms slot.

    An event keeps the timestamp of its beginning: `age` says how many slots ago that was.
    """

    payload: bytes
    is_event: bool = False
    marker: bool = False
    age: int = 0

    @property
    def is_loud(self) -> bool:
        """Whether a listener would call it sound."""
        return not self.is_event and rms(decode_ulaw(self.payload)) > LOUD_RMS


def voice_frames(pcm: Pcm) -> list[Frame]:
    """Audio in 20 ms frames; the last is filled up with silence."""
    data = encode_ulaw(pcm)
    data += SILENCE[: -len(data) % FRAME_SAMPLES]
    return [
        Frame(data[begin : begin + FRAME_SAMPLES]) for begin in range(0, len(data), FRAME_SAMPLES)
    ]


def digit_frames(digits: str) -> list[Frame]:
    """Each digit as a 100 ms event whose end is sent three times, with pauses between.

    Raises:
        ValueError: a character that no telephone sends.
    """
    frames: list[Frame] = []
    for digit in digits:
        code = DIGITS.index(digit)
        for slot in range(_EVENT_FRAMES + _EVENT_END_REPEATS - 1):
            ended = slot + 1 >= _EVENT_FRAMES
            duration = min(slot + 1, _EVENT_FRAMES) * FRAME_SAMPLES
            flags = _EVENT_VOLUME | (_EVENT_END if ended else 0)
            payload = _EVENT.pack(code, flags, duration)
            frames.append(Frame(payload, is_event=True, marker=slot == 0, age=slot))
        frames += [Frame(SILENCE)] * _PAUSE_FRAMES
    return frames


def finished_digit(payload: bytes) -> str:
    """The digit of an event packet that says the event is over, else nothing."""
    if len(payload) < _EVENT.size:
        return ""
    code, flags, _ = _EVENT.unpack_from(payload)
    return DIGITS[code] if flags & _EVENT_END and code < len(DIGITS) else ""


@functools.cache
def _encoding() -> npt.NDArray[np.uint8]:
    linear = np.arange(-32768, 32768)
    magnitude = np.minimum(np.abs(linear), 32635) + 132
    exponent = np.floor(np.log2(magnitude)).astype(np.int64) - 7
    mantissa = (magnitude >> (exponent + 3)) & 0x0F
    sign = np.where(linear < 0, 0x80, 0)
    table: npt.NDArray[np.uint8] = (~(sign | exponent << 4 | mantissa) & 0xFF).astype(np.uint8)
    return table


@functools.cache
def _decoding() -> Pcm:
    code = ~np.arange(256) & 0xFF
    magnitude = (((code & 0x0F) << 3) + 132 << ((code >> 4) & 0x07)) - 132
    return np.where(code & 0x80, -magnitude, magnitude).astype(np.int16)
