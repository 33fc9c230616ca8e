"""What a stream of packets sounds like. Packets come when a test says so: time is real, but short."""

import asyncio

import numpy as np
import pytest

from local.phone.hearing import CallEndedError, Gap, Heard, Hearing, Sound
from local.phone.rtp import FRAME_SAMPLES, SILENCE, RtpPacket, digit_frames, encode_ulaw

LOUD = encode_ulaw(np.full(FRAME_SAMPLES, 5000, np.int16))


class Stream:
    """Sends packets to a listener."""

    def __init__(self) -> None:
        self.hearing = Hearing()
        self._sequence = 65530  # wraps on the way

    def send(self, *payloads: bytes, skip: int = 0) -> None:
        for payload in payloads:
            self._sequence += 1 + skip
            packet = RtpPacket(0, self._sequence & 0xFFFF, 0, 1, payload)
            self.hearing.take(packet, payload_type=0, event_type=101)

    def press(self, digits: str) -> None:
        begin = 0
        for frame in digit_frames(digits):
            begin += 160
            if frame.is_event:
                stamp = begin - 160 * frame.age
                event = RtpPacket(101, self._sequence & 0xFFFF, stamp, 1, frame.payload)
                self.hearing.take(event, payload_type=0, event_type=101)


async def test_waits_for_the_first_sound() -> None:
    stream = Stream()
    stream.send(SILENCE)
    waiting = asyncio.ensure_future(stream.hearing.first_sound(0.0))
    await asyncio.sleep(0)
    stream.send(SILENCE, LOUD, LOUD)
    assert await waiting == stream.hearing.packets[2].at


async def test_a_sound_before_the_moment_does_not_count() -> None:
    stream = Stream()
    stream.send(LOUD)
    since = stream.hearing.packets[0].at + 1e-6
    waiting = asyncio.ensure_future(stream.hearing.first_sound(since))
    await asyncio.sleep(0.001)
    assert not waiting.done()
    stream.send(LOUD)
    assert await waiting == stream.hearing.packets[1].at


async def test_the_end_of_the_call_ends_the_wait() -> None:
    stream = Stream()
    waiting = asyncio.ensure_future(stream.hearing.first_sound(0.0))
    await asyncio.sleep(0)
    stream.hearing.close()
    with pytest.raises(CallEndedError):
        await waiting


async def test_sound_that_came_before_the_end_is_still_found() -> None:
    stream = Stream()
    stream.send(LOUD)
    stream.hearing.close()
    assert await stream.hearing.first_sound(0.0) == stream.hearing.packets[0].at


async def test_a_pause_between_sentences_is_not_the_end() -> None:
    stream = Stream()
    stream.send(LOUD)
    waiting = asyncio.ensure_future(stream.hearing.quiet(1.0, 0.0))
    stream.send(*[SILENCE] * 45, LOUD, *[SILENCE] * 49)
    await asyncio.sleep(0)
    assert not waiting.done()
    stream.send(SILENCE)
    assert await waiting == stream.hearing.packets[46].at


async def test_a_sender_that_stops_sending_is_quiet() -> None:
    stream = Stream()
    stream.send(LOUD)
    assert await stream.hearing.quiet(0.02, 0.0) == stream.hearing.packets[0].at


async def test_quiet_from_the_beginning_ended_when_it_began() -> None:
    stream = Stream()
    stream.send(*[SILENCE] * 50)
    assert await stream.hearing.quiet(1.0, 12.5) == 12.5


def test_counts_lost_packets_across_the_wrap_but_not_late_ones() -> None:
    stream = Stream()
    stream.send(*[SILENCE] * 10)
    assert stream.hearing.lost == 0
    stream.send(SILENCE, skip=3)
    late = RtpPacket(0, 1, 0, 1, SILENCE)
    other_source = RtpPacket(0, 30000, 0, 2, SILENCE)
    other_kind = RtpPacket(111, 40000, 0, 1, SILENCE)
    for packet in (late, other_source, other_kind):
        stream.hearing.take(packet, payload_type=0, event_type=101)
    assert stream.hearing.lost == 3


def heard_at(*times: float) -> Hearing:
    """A listener whom one loud packet reached at each of these times."""
    hearing = Hearing()
    hearing.packets += [Heard(at, LOUD, is_loud=True) for at in times]
    return hearing


def test_finds_the_holes_in_the_stream() -> None:
    hearing = heard_at(10.0, 10.02, 10.125, 10.1875)
    assert hearing.gaps_over(0.1) == [Gap(ended_at=10.125, seconds=10.125 - 10.02)]
    assert len(hearing.gaps_over(0.06)) == 2


def test_short_pauses_do_not_part_a_sound() -> None:
    hearing = heard_at(10.0, 10.25, 10.75)
    assert hearing.sounds(0.0, 11.0, pause_s=0.3) == [Sound(10.0, 10.25), Sound(10.75, 10.75)]
    assert hearing.sounds(10.25, 10.5, pause_s=0.3) == [Sound(10.25, 10.25)]


def test_keeps_the_audio_between_two_times() -> None:
    stream = Stream()
    stream.send(LOUD, SILENCE)
    assert len(stream.hearing.pcm(0.0, float("inf"))) == 2 * FRAME_SAMPLES
    assert len(stream.hearing.pcm(0.0, 1.0)) == 0


async def test_each_digit_counts_once() -> None:
    stream = Stream()
    stream.press("55#")
    assert await stream.hearing.digit_count(3) == "55#"
