"""PCM handling of the local providers."""

import numpy as np
import pytest

from local.providers.audio import Pcm, pcm_from_bytes, read_wav, resample, trim, wav_bytes


def tone(hz: float, rate: int, seconds: float = 0.5) -> Pcm:
    return (8000 * np.sin(2 * np.pi * hz * np.arange(round(rate * seconds)) / rate)).astype(
        np.int16
    )


def loudness(pcm: Pcm) -> float:
    return float(np.sqrt(np.mean(pcm.astype(float) ** 2)))


@pytest.mark.parametrize("target", [8000, 16000, 48000])
def test_resampling_keeps_length_and_pitch(target: int) -> None:
    pcm = resample(tone(440, 24000), 24000, target)
    spectrum = np.abs(np.fft.rfft(pcm))
    assert len(pcm) == target // 2
    assert np.argmax(spectrum) * target / len(pcm) == pytest.approx(440, abs=3)


def test_what_a_lower_rate_cannot_carry_is_gone_and_not_folded_back() -> None:
    assert loudness(resample(tone(7000, 24000), 24000, 8000)) < 0.05 * loudness(tone(7000, 24000))


def test_silence_around_speech_is_trimmed() -> None:
    silence = np.zeros(8000, np.int16)
    pcm = trim(np.concatenate([silence, tone(440, 8000), silence]), 8000)
    assert len(pcm) / 8000 == pytest.approx(0.03 + 0.5 + 0.2, abs=0.01)
    assert len(trim(silence, 8000)) == 0


def test_a_wav_file_is_read_as_it_was_written() -> None:
    pcm, rate = read_wav(wav_bytes(tone(440, 8000), 8000))
    assert rate == 8000
    assert np.array_equal(pcm, tone(440, 8000))


@pytest.mark.parametrize("data", [b"", b"ID3 not a wav", wav_bytes(tone(440, 8000), 8000)[:20]])
def test_what_is_no_wav_file_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="WAV"):
        read_wav(data)


def test_half_a_sample_is_dropped() -> None:
    assert pcm_from_bytes(b"\x01\x00\x02").tolist() == [1]
