import asyncio
import time
from typing import Any

import numpy as np
import pytest
from typing_extensions import override

from local.phone.endpoint import Timers
from local.phone.media import Media, RtpPorts
from local.phone.rtp import RtpPacket, parse_rtp, voice_frames
from local.phone.sdp import RemoteMedia
from local.phone.tasks import OwnedTasks

PORTS = range(29300, 29400)


class Sink(asyncio.DatagramProtocol):
    """Gathers packets until there are enough."""

    def __init__(self, enough: int) -> None:
        self.packets: list[RtpPacket] = []
        self.done = asyncio.Event()
        self._enough = enough

    @override
    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        self.packets.append(parse_rtp(data))
        if len(self.packets) == self._enough:
            self.done.set()


async def test_a_held_up_sender_catches_up_and_keeps_its_clock() -> None:
    sink, media, tasks = Sink(enough=40), Media(), OwnedTasks()
    ports = RtpPorts("127.0.0.1", PORTS)
    transport = await ports.open(sink)
    await media.open(ports)
    media.connect(RemoteMedia(transport.get_extra_info("sockname"), None))
    begin = time.perf_counter()

    tasks.spawn(media.run(), name="rtp")
    await asyncio.sleep(0.05)
    time.sleep(0.6)  # noqa: ASYNC251 - holds up the sender on purpose
    await asyncio.wait_for(sink.done.wait(), 5)
    took_s = time.perf_counter() - begin
    media.close()
    await tasks.close()
    transport.close()

    # 39 intervals of 20 ms; without catching up the 0.6 s would come on top.
    assert 0.77 <= took_s < 1.3
    assert media.latest_s > 0.5
    assert np.diff([p.timestamp for p in sink.packets]).tolist() == [160] * (len(sink.packets) - 1)
    assert set(np.diff([p.sequence for p in sink.packets]) & 0xFFFF) == {1}


async def test_what_is_cancelled_is_not_said_to_its_end() -> None:
    media = Media()
    speech = asyncio.ensure_future(media.play(voice_frames(np.full(8000, 5000, np.int16))))
    await asyncio.sleep(0)
    speech.cancel()
    with pytest.raises(asyncio.CancelledError):
        await speech
    assert not media._utterances


async def test_a_taken_port_is_passed_over_and_a_full_range_refused() -> None:
    first = await RtpPorts("127.0.0.1", PORTS).open(asyncio.DatagramProtocol())
    taken = first.get_extra_info("sockname")[1]

    second = await RtpPorts("127.0.0.1", range(taken, taken + 100)).open(asyncio.DatagramProtocol())
    with pytest.raises(OSError, match="taken"):
        await RtpPorts("127.0.0.1", range(taken, taken + 2)).open(asyncio.DatagramProtocol())

    assert second.get_extra_info("sockname")[1] != taken
    first.close()
    second.close()
    await asyncio.sleep(0)


def test_waits_double_up_to_the_longest_for_64_t1_in_all() -> None:
    waits = list(Timers(t1_s=0.5, t2_s=4.0).waits(4.0))
    assert waits[:5] == [0.5, 1, 2, 4, 4]
    assert sum(waits) == 32
    assert list(Timers().waits(float("inf")))[-2:] == [16, 0.5]


async def test_a_task_that_failed_is_remembered() -> None:
    async def fail() -> None:
        raise ValueError("broken")

    tasks = OwnedTasks()
    tasks.spawn(fail(), name="fails")
    await asyncio.sleep(0)
    await tasks.close()
    assert isinstance(tasks.failure, ValueError)
