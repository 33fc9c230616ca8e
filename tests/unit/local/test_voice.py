import asyncio
from pathlib import Path

import numpy as np
import pytest

from local.voice import VoiceError, join, prepare, say_pcm, to_phone


def tone(hertz: float, rate_hz: int, seconds: float = 1.0) -> np.ndarray:
    at = np.arange(int(rate_hz * seconds)) / rate_hz
    return (10000 * np.sin(2 * np.pi * hertz * at)).astype(np.int16)


def strongest_hz(pcm: np.ndarray) -> float:
    return float(np.abs(np.fft.rfft(pcm)).argmax() * 8000 / len(pcm))


def test_a_phone_carries_speech_but_nothing_above_it() -> None:
    # 6 kHz would fold down to 2 kHz.
    both = tone(1000, 22050) // 2 + tone(6000, 22050) // 2
    heard = to_phone(both, 22050)
    spectrum = np.abs(np.fft.rfft(heard))
    at_2khz = spectrum[int(2000 * len(heard) / 8000)]
    assert strongest_hz(heard) == pytest.approx(1000, abs=2)
    assert at_2khz < spectrum.max() / 300
    assert len(heard) == pytest.approx(8000 + 2 * 400, abs=20)


def test_trims_the_quiet_around_the_words_but_leaves_an_edge() -> None:
    silence = np.zeros(22050, np.int16)
    heard = to_phone(np.concatenate([silence, tone(500, 22050), silence]), 22050)
    assert len(heard) == pytest.approx(8000 + 2 * 400, abs=20)


def test_a_pause_is_as_long_as_it_is_said_to_be() -> None:
    quiet = np.zeros(400, np.int16)
    piece = np.concatenate([quiet, np.full(800, 5000, np.int16), quiet])
    whole = join([piece, piece], pause_s=0.5, lead_s=0.25)
    loud = np.flatnonzero(whole > 300)
    assert loud[0] == 2000 + 400
    assert np.diff(loud).max() - 1 == 4000


async def test_speaks_once_and_remembers(tmp_path: Path) -> None:
    texts = ["When do you open?", "When  do you\nopen?", "Hello."]
    await asyncio.gather(prepare(texts, cache=tmp_path), prepare(texts[2:], cache=tmp_path))
    files = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}

    question = await say_pcm(texts[0], cache=tmp_path)
    hello = await say_pcm("Hello.", cache=tmp_path)

    assert len(files) == 2
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == files
    assert 0.6 * 8000 < len(question) < 2.5 * 8000
    assert len(hello) < len(question)
    assert 10000 < np.abs(question).max() <= 16000


async def test_says_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("local.voice._OPTIONS", ("--speaker", "none"))
    with pytest.raises(VoiceError, match="invalid int"):
        await say_pcm("Hello.", cache=tmp_path)
    with pytest.raises(ValueError, match="nothing to say"):
        await say_pcm(" \n", cache=tmp_path)
    assert not list(tmp_path.iterdir())
