"""Finds phrases in a stream of sound: where speech begins, pauses, resumes and ends.

A recogniser that takes a phrase as a whole must not be handed half of one, and must not be handed
it late. So a short lull already offers the phrase: the recogniser may start on it, and if nothing
more is said until the pause is long enough, its result is the phrase's result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from local.providers.audio import Pcm

FRAME_MS = 20
LEAD_FRAMES = 15  # kept before the first loud frame, so that soft onsets survive
ONSET_FRAMES = 3  # loud frames in a row that make speech; fewer are a click
LULL_FRAMES = 7
PROGRESS_FRAMES = 40
LONG_FRAMES = 600  # from here on a phrase is cut at the next quiet frame
LONGEST_FRAMES = 750  # and here without one


@dataclass(frozen=True)
class Phrase:
    """Sound of one phrase, with the stream times of its speech."""

    pcm: Pcm
    starts_s: float
    ends_s: float


@dataclass(frozen=True)
class SpeechStarted:
    """Somebody began to speak."""

    at_s: float


@dataclass(frozen=True)
class SpeechGoesOn:
    """The phrase so far, offered now and then while it is spoken."""

    phrase: Phrase


@dataclass(frozen=True)
class Lull:
    """A short silence: the phrase may be complete."""

    phrase: Phrase


@dataclass(frozen=True)
class Resumed:
    """Speech went on after a lull: the phrase was not complete."""


@dataclass(frozen=True)
class PhraseEnded:
    """A whole phrase."""

    phrase: Phrase
    by_pause: bool
    """False when it was cut for its length."""


@dataclass(frozen=True)
class LongSilence:
    """No speech for the asked-for gap after the last phrase."""

    last_speech_s: float


Event = SpeechStarted | SpeechGoesOn | Lull | Resumed | PhraseEnded | LongSilence


@dataclass
class SpeechGate:
    """Tells speech from silence against a slowly rising noise floor."""

    floor: float = 50.0

    def opens(self, frame: Pcm) -> bool:
        """Whether the frame is loud enough to be speech."""
        level = float(np.sqrt(np.mean(np.square(frame.astype(np.float32)))))
        self.floor = min(max(level, 20.0), self.floor * 1.01)
        return level > max(150.0, 4 * self.floor)


@dataclass
class PhraseFinder:
    """Fed with sound, yields what happens in it. Time is the stream's own: samples, not seconds."""

    rate: int
    pause_ms: int
    gap_ms: int | None = None
    """Silence after a phrase that yields `LongSilence`; None for never."""
    _gate: SpeechGate = field(default_factory=SpeechGate)
    _rest: bytes = b""
    _frames: list[Pcm] = field(default_factory=list)
    _heard: int = 0
    _loud_run: int = 0
    _silent: int = 0
    _speaking: bool = False
    _lulled: bool = False
    _gap_owed: bool = False
    _offered: int = 0
    _starts: int = 0
    _ends: int = 0

    def feed(self, data: bytes) -> Iterator[Event]:
        """Take little-endian 16-bit samples, in pieces of any size."""
        size = self.rate * FRAME_MS // 1000 * 2
        data = self._rest + data
        whole = len(data) // size * size
        self._rest = data[whole:]
        for at in range(0, whole, size):
            yield from self._step(np.frombuffer(data[at : at + size], "<i2"))

    def flush(self) -> Phrase | None:
        """End the phrase being spoken, if any, wherever it is."""
        if not self._speaking:
            return None
        phrase = self._phrase()
        self._end(keep=0)
        return phrase

    @property
    def heard_s(self) -> float:
        """Sound taken so far, in seconds."""
        return self._seconds(self._heard)

    def _step(self, frame: Pcm) -> Iterator[Event]:
        loud = self._gate.opens(frame)
        self._heard += 1
        self._silent = 0 if loud else self._silent + 1
        self._loud_run = self._loud_run + 1 if loud else 0
        self._frames.append(frame)
        if self._speaking:
            yield from self._spoken(loud=loud)
        else:
            yield from self._waited()

    def _waited(self) -> Iterator[Event]:
        del self._frames[: -LEAD_FRAMES - ONSET_FRAMES]
        if self._loud_run >= ONSET_FRAMES:
            self._speaking, self._lulled, self._gap_owed = True, False, False
            self._starts, self._ends = self._heard - ONSET_FRAMES, self._heard
            self._offered = self._heard
            yield SpeechStarted(self._seconds(self._starts))
        elif self._gap_owed and self.gap_ms and self._silent * FRAME_MS >= self.gap_ms:
            self._gap_owed = False
            yield LongSilence(self._seconds(self._ends))

    def _spoken(self, *, loud: bool) -> Iterator[Event]:
        if loud:
            self._ends = self._heard
            if self._lulled:
                self._lulled = False
                yield Resumed()
        length = len(self._frames)
        if self._silent * FRAME_MS >= self.pause_ms:
            phrase = self._phrase()
            self._end(keep=LEAD_FRAMES)
            yield PhraseEnded(phrase, by_pause=True)
        elif length >= LONGEST_FRAMES or (length >= LONG_FRAMES and not loud):
            phrase = self._phrase()
            # The rest of the sentence is still to come: it begins as a phrase of its own.
            self._frames, self._starts, self._lulled = [], self._heard, False
            yield PhraseEnded(phrase, by_pause=False)
        elif self._silent == LULL_FRAMES:
            self._lulled = True
            yield Lull(self._phrase())
        elif self._heard - self._offered >= PROGRESS_FRAMES and loud:
            self._offered = self._heard
            yield SpeechGoesOn(self._phrase())

    def _phrase(self) -> Phrase:
        frames = self._frames or [np.zeros(0, np.int16)]
        return Phrase(
            np.concatenate(frames), self._seconds(self._starts), self._seconds(self._ends)
        )

    def _end(self, *, keep: int) -> None:
        self._frames = self._frames[-keep:] if keep else []
        self._speaking, self._lulled, self._gap_owed = False, False, True
        self._loud_run = 0

    @staticmethod
    def _seconds(frames: int) -> float:
        return frames * FRAME_MS / 1000
