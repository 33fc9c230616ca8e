"""Where phrases begin, pause and end in a stream of sound."""

from collections.abc import Iterable

import numpy as np
import pytest

from local.providers.phrases import (
    Event,
    LongSilence,
    Lull,
    Phrase,
    PhraseEnded,
    PhraseFinder,
    Resumed,
    SpeechGoesOn,
    SpeechStarted,
)

RATE = 8000


def quiet(seconds: float) -> bytes:
    return bytes(2 * round(RATE * seconds))


def loud(seconds: float) -> bytes:
    wave = 6000 * np.sin(np.arange(round(RATE * seconds)) / 5)
    return wave.astype("<i2").tobytes()


def finder(*, gap_ms: int | None = None) -> PhraseFinder:
    return PhraseFinder(RATE, pause_ms=300, gap_ms=gap_ms)


def events(*sound: bytes, step: int = 777, gap_ms: int | None = None) -> list[Event]:
    data, found = b"".join(sound), finder(gap_ms=gap_ms)
    pieces = (data[at : at + step] for at in range(0, len(data), step))
    return [event for piece in pieces for event in found.feed(piece)]


def kinds(found: Iterable[Event]) -> list[type[Event]]:
    return [type(event) for event in found]


def ended(found: Iterable[Event]) -> list[Phrase]:
    return [event.phrase for event in found if isinstance(event, PhraseEnded)]


def test_a_phrase_ends_after_the_pause_and_is_offered_before() -> None:
    found = events(quiet(0.5), loud(0.6), quiet(0.5))
    assert kinds(found) == [SpeechStarted, Lull, PhraseEnded]


def test_a_phrase_keeps_the_sound_around_its_speech_and_knows_its_times() -> None:
    [phrase] = ended(events(quiet(0.5), loud(0.6), quiet(0.5)))
    assert (phrase.starts_s, phrase.ends_s) == pytest.approx((0.5, 1.1), abs=0.021)
    assert len(phrase.pcm) / RATE == pytest.approx(0.3 + 0.6 + 0.3, abs=0.041)


def test_a_short_pause_does_not_end_the_phrase() -> None:
    found = events(quiet(0.5), loud(0.3), quiet(0.2), loud(0.3), quiet(0.5))
    assert kinds(found) == [SpeechStarted, Lull, Resumed, Lull, PhraseEnded]
    [phrase] = ended(found)
    assert (phrase.starts_s, phrase.ends_s) == pytest.approx((0.5, 1.3), abs=0.021)


def test_a_click_is_no_speech() -> None:
    assert events(quiet(0.5), loud(0.04), quiet(1)) == []


def test_the_size_of_the_pieces_does_not_matter() -> None:
    sound = (quiet(0.5), loud(0.6), quiet(0.5))
    one, other = events(*sound, step=13), events(*sound, step=100_000)
    assert kinds(one) == kinds(other)
    assert ended(one)[0].ends_s == ended(other)[0].ends_s


def test_long_speech_is_offered_as_it_goes_on() -> None:
    assert kinds(events(quiet(0.5), loud(2.0))) == [SpeechStarted, SpeechGoesOn, SpeechGoesOn]


def test_endless_speech_is_cut_without_losing_sound() -> None:
    found = finder()
    speech = (loud(0.36) + quiet(0.04)) * 50
    got = list(found.feed(quiet(0.5) + speech))
    cut = [event for event in got if isinstance(event, PhraseEnded)]
    rest = found.flush()
    assert [event.by_pause for event in cut] == [False]
    assert rest is not None
    assert rest.starts_s == pytest.approx(cut[0].phrase.ends_s, abs=0.021)
    assert len(cut[0].phrase.pcm) + len(rest.pcm) == pytest.approx(RATE * 20.3, abs=RATE * 0.1)


def test_a_long_silence_is_reported_once_and_only_after_speech() -> None:
    found = events(quiet(2), loud(0.5), quiet(3), gap_ms=1000)
    assert kinds(found) == [SpeechStarted, Lull, PhraseEnded, LongSilence]
    assert isinstance(found[-1], LongSilence)
    assert found[-1].last_speech_s == pytest.approx(2.5, abs=0.021)


def test_a_flush_ends_the_phrase_where_it_is() -> None:
    found = finder()
    assert kinds(found.feed(quiet(0.5) + loud(0.4))) == [SpeechStarted]
    phrase = found.flush()
    assert phrase is not None
    assert phrase.ends_s == pytest.approx(0.9, abs=0.021)
    assert found.flush() is None


def test_speech_over_steady_noise_is_told_from_it() -> None:
    noise = np.random.default_rng(1).normal(0, 100, RATE * 6)
    noise[RATE * 4 : RATE * 5] += np.frombuffer(loud(1), "<i2")
    [phrase] = ended(list(finder().feed(noise.astype("<i2").tobytes())))[-1:]
    assert (phrase.starts_s, phrase.ends_s) == pytest.approx((4.0, 5.0), abs=0.05)
