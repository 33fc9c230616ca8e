"""A call as a person has it: speak, listen, press keys, hang up."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from local.phone import sdp
from local.phone.dialog import Dialog
from local.phone.endpoint import ServerTransaction, SipEndpoint
from local.phone.hearing import Gap, Sound
from local.phone.media import Media
from local.phone.rtp import RATE_HZ, Pcm, digit_frames, voice_frames
from local.phone.sip import Response

Transcribe = Callable[[Pcm, int], Awaitable[str]]
"""Speech to text: samples and their rate."""

FOREVER = float("inf")
_MARGIN_S = 0.3  # a recogniser wants some quiet around the words


class CallRefusedError(Exception):
    """The other side did not take the call."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"{status} {reason}")
        self.status = status
        self.reason = reason


@dataclass(frozen=True)
class Answer:
    """What the other side said: `gap_s` is from the end of our words to its first sound."""

    text: str
    gap_s: float
    started_at: float
    ended_at: float


class Call(ABC):
    """One call, whoever made it. Times are `time.time()`: of a packet sent, or of one received.

    Attributes:
        number: The number that was called.
        caller: The number that calls; None if withheld.
        ringing_at: When 180 came or went out.
        answered_at: When 200 came or went out; 0 before.
        ended_at: When the call was over for this phone; 0 before.
        ended: Set at that moment.
        ended_by: Who ended it.
    """

    def __init__(
        self, endpoint: SipEndpoint, media: Media, *, number: str, caller: str | None
    ) -> None:
        self.number = number
        self.caller = caller
        self.ringing_at = 0.0
        self.answered_at = 0.0
        self.ended_at = 0.0
        self.ended = asyncio.Event()
        self.ended_by: Literal["here", "there"] | None = None
        self.bye_status: int | None = None
        self._endpoint = endpoint
        self._media = media
        self._dialog: Dialog | None = None

    # What one does in a call

    async def say(self, pcm: Pcm) -> tuple[float, float]:
        """Speak (8 kHz); returns when the first and the last loud packet went out.

        Cancelled, it stops in the middle of the word.

        Raises:
            CallEndedError: the call ended before the last of it.
            ValueError: there is no sound in it.
        """
        frames = voice_frames(pcm)
        loud = [index for index, frame in enumerate(frames) if frame.is_loud]
        if not loud:
            raise ValueError("nothing loud to say")
        sent_at = (await self._media.play(frames)).sent_at
        return sent_at[loud[0]], sent_at[loud[-1]]

    async def dtmf(self, digits: str) -> None:
        """Press keys; returns when the last was released.

        Raises:
            CallEndedError: the call ended before.
        """
        await self._media.play(digit_frames(digits))

    async def hear(self, since: float, timeout_s: float = 12.0) -> float:
        """When the first sound at or after `since` came.

        Raises:
            TimeoutError: none came in time.
            CallEndedError: none came before the call ended.
        """
        async with asyncio.timeout(timeout_s):
            return await self._media.hearing.first_sound(since)

    async def quiet(self, pause_s: float = 1.0, timeout_s: float = 30.0) -> float:
        """When the last sound ended, once it has been quiet for `pause_s`; the answer, if there was none.

        An agent pauses between sentences, so less than a second is not the end of its speech.

        Raises:
            TimeoutError: it did not become quiet in time.
            CallEndedError: the call ended before.
        """
        async with asyncio.timeout(timeout_s):
            return await self._media.hearing.quiet(pause_s, self.answered_at)

    async def listen(
        self, since: float, transcribe: Transcribe, *, pause_s: float = 1.0, timeout_s: float = 30.0
    ) -> Answer:
        """What is said from `since` on, until `pause_s` of quiet follow.

        Raises:
            TimeoutError: nothing began in time, or it did not end.
            CallEndedError: the call ended before.
        """
        started_at = await self.hear(since, timeout_s)
        ended_at = await self.quiet(pause_s, timeout_s)
        pcm = self.heard_pcm(started_at - _MARGIN_S, ended_at + _MARGIN_S)
        text = await transcribe(pcm, RATE_HZ)
        return Answer(text, started_at - since, started_at, ended_at)

    async def ask(
        self, pcm: Pcm, transcribe: Transcribe, *, pause_s: float = 1.0, timeout_s: float = 30.0
    ) -> Answer:
        """Speak, and hear the answer to its end; raises what `say` and `listen` raise."""
        _, last = await self.say(pcm)
        return await self.listen(last, transcribe, pause_s=pause_s, timeout_s=timeout_s)

    async def hang_up(self) -> None:
        """End the call and wait until the other side has confirmed it (`bye_status`)."""
        if self._dialog is None or self.ended.is_set():
            return
        bye = self._dialog.request("BYE", self._endpoint.new_via())
        confirmed = asyncio.Event()

        def take(response: Response) -> None:
            if response.status >= 200:
                self.bye_status = response.status
                confirmed.set()

        self._endpoint.start(bye, self._dialog.destination, take)
        self._end("here")
        await confirmed.wait()

    # What was heard

    def heard_pcm(self, since: float = 0.0, until: float = FOREVER) -> Pcm:
        """The audio (8 kHz) that came between two times."""
        return self._media.hearing.pcm(since, until)

    def sounds(
        self, since: float = 0.0, until: float = FOREVER, *, pause_s: float = 0.3
    ) -> list[Sound]:
        """The stretches of sound between two times; pauses shorter than `pause_s` do not part them."""
        return self._media.hearing.sounds(since, until, pause_s)

    def gaps_over(self, seconds: float) -> list[Gap]:
        """Where no audio packet came for longer than this."""
        return self._media.hearing.gaps_over(seconds)

    async def digits(self, count: int, timeout_s: float = 5.0) -> str:
        """The keys the other side pressed, once there are `count`.

        Raises:
            TimeoutError: there were fewer in time.
            CallEndedError: the call ended before.
        """
        async with asyncio.timeout(timeout_s):
            return await self._media.hearing.digit_count(count)

    @property
    def lost_packets(self) -> int:
        """Packets that never came, by their numbers."""
        return self._media.hearing.lost

    @property
    def latest_send_s(self) -> float:
        """The worst lateness of a packet of ours: large means that this process was starved."""
        return self._media.latest_s

    # What the phone tells it

    @abstractmethod
    def belongs(self, call_id: str, local_tag: str) -> bool:
        """Whether a request of the other side is meant for this call."""

    @abstractmethod
    async def abandon(self) -> None:
        """End it in whatever way its state asks for."""

    def cut(self) -> None:
        """End it without a word: the phone is switched off."""
        self._end("here")

    def take_bye(self, transaction: ServerTransaction) -> None:
        """The other side hung up."""
        transaction.respond(200)
        self._end("there")

    def take_reinvite(self, transaction: ServerTransaction) -> None:
        """The other side changes the call: its new address is taken, our side stays as it is."""
        remote = sdp.read(transaction.request.body)
        if remote is None:
            transaction.respond(488)
            return
        self._media.connect(remote)
        body = sdp.describe(self._media.address, telephone_event=remote.telephone_event)
        transaction.respond(200, body=body)

    # What its makers use

    def _start_media(self, remote: sdp.RemoteMedia) -> None:
        self._media.connect(remote)
        self._endpoint.tasks.spawn(self._media.run(), name="rtp")

    def _end(self, by: Literal["here", "there"]) -> None:
        if self.ended.is_set():
            return
        self.ended_at, self.ended_by = time.time(), by
        self._media.close()
        self.ended.set()
