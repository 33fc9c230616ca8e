"""PCM handling: 16-bit mono samples, resampled, trimmed, and in and out of WAV."""

from __future__ import annotations

import io
import wave

import numpy as np
from numpy.typing import NDArray

Pcm = NDArray[np.int16]

_LEAD_S = 0.03  # kept before the first loud sample, so that soft onsets survive
_TAIL_S = 0.2  # kept after the last one: the gap between two sentences
_LOUD = 400  # of 32767


def pcm_from_bytes(data: bytes) -> Pcm:
    """Samples of a little-endian 16-bit buffer; half a sample at its end is dropped."""
    return np.frombuffer(data[: len(data) & ~1], "<i2").astype(np.int16)


def trim(pcm: Pcm, rate: int) -> Pcm:
    """Cut the silence a voice puts around a sentence."""
    loud = np.flatnonzero(np.abs(pcm.astype(np.int32)) > _LOUD)
    if not len(loud):
        return pcm[:0]
    first, last = int(loud[0]), int(loud[-1])
    return pcm[max(0, first - round(rate * _LEAD_S)) : last + round(rate * _TAIL_S)]


def resample(pcm: Pcm, source: int, target: int) -> Pcm:
    """The same sound at another rate; what the new rate cannot carry is filtered out first."""
    if source == target or not len(pcm):
        return pcm
    samples = pcm.astype(np.float32)
    if target < source:
        samples = np.convolve(samples, _low_pass(0.46 * target / source), mode="same")
    at = np.arange(round(len(pcm) * target / source)) * (source / target)
    between = np.interp(at, np.arange(len(pcm)), samples)
    return np.asarray(np.clip(between, -32768, 32767), np.int16)


def _low_pass(cutoff: float, taps: int = 63) -> NDArray[np.float32]:
    """A windowed-sinc filter; `cutoff` as a share of the sample rate."""
    n = np.arange(taps) - (taps - 1) / 2
    kernel = np.sinc(2 * cutoff * n) * np.hamming(taps)
    return np.asarray(kernel / kernel.sum(), np.float32)


def read_wav(data: bytes) -> tuple[Pcm, int]:
    """Samples and rate of a WAV file; several channels become one.

    Raises:
        ValueError: not a WAV file of 16-bit PCM.
    """
    try:
        with wave.open(io.BytesIO(data)) as file:
            channels, width, rate = file.getnchannels(), file.getsampwidth(), file.getframerate()
            frames = file.readframes(file.getnframes())
    except (wave.Error, EOFError) as error:
        raise ValueError("not a PCM WAV file") from error
    if width != 2 or not rate:
        raise ValueError("only 16-bit PCM is supported")
    pcm = pcm_from_bytes(frames)
    if channels > 1:
        whole = pcm[: len(pcm) // channels * channels].reshape(-1, channels)
        pcm = whole.mean(axis=1).astype(np.int16)
    return pcm, rate


def wav_bytes(pcm: Pcm, rate: int) -> bytes:
    """A mono 16-bit WAV file."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(pcm.tobytes())
    return out.getvalue()
