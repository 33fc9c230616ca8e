"""Masking with Presidio beside our rules."""

import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typing_extensions import override

from src.adapters.presidio import MAX_CHARS, PresidioRedactor
from src.services.lexicons import load_lexicons
from src.services.spans import Span

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def redactor() -> PresidioRedactor:
    built = PresidioRedactor(allowed=load_lexicons(ROOT / "data").terms)
    built.load()
    return built


def test_finds_names_that_no_rule_announces(redactor: PresidioRedactor) -> None:
    done = redactor.redact("We talked with Margaret Thornton about it yesterday.")

    assert done.text == "We talked with [NAME] about it yesterday."
    assert done.found == {"NAME": 1}


def test_finds_spoken_and_written_forms(redactor: PresidioRedactor) -> None:
    text = "I'm at four one five five five five two six seven one, card 4111 1111 1111 1111."

    assert redactor.redact(text).text == "I'm at [PHONE], card [CARD]."


def test_joins_turns(redactor: PresidioRedactor) -> None:
    done = redactor.redact("4 2 4 2", before=["my card number is 4 2 4 2"])

    assert done.text == "[CARD]"


@pytest.mark.parametrize(
    "text",
    [
        "They gave me Tylenol and Benadryl for Hashimoto's.",
        "Metformin twice a day, and Lipitor at night.",
        "It's Monday and it costs 350 dollars.",
        "ok.so that works",
    ],
)
def test_leaves_terms_of_the_field_alone(redactor: PresidioRedactor, text: str) -> None:
    assert redactor.redact(text).text == text


def test_takes_no_names_from_an_english_model_in_other_languages(
    redactor: PresidioRedactor,
) -> None:
    text = "Kal Subah Mumbai Aana Hai"

    assert redactor.redact(text, language="hi").text == text


def test_masks_everything_when_reading_fails(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(PresidioRedactor):
        @override
        def _recognised(self, text: str, language: str) -> list[Span]:
            raise RuntimeError(text + language)

    broken = Broken()
    with caplog.at_level(logging.ERROR):
        done = broken.redact("my secret is 4155552671")

    assert done.text == "[REDACTED]"
    assert done.found == {"REDACTED": 1}
    assert broken.failures == 1
    assert "4155552671" not in caplog.text
    assert "secret" not in caplog.text


def test_what_is_too_long_to_read_is_masked(redactor: PresidioRedactor) -> None:
    done = redactor.redact("word " * (MAX_CHARS // 5) + "my number is 415 555 2671")

    assert done.text.endswith("word [REDACTED]")
    assert done.found["REDACTED"] == 1


def test_is_safe_from_several_threads(redactor: PresidioRedactor) -> None:
    texts = [f"I spoke to Margaret Thornton about {n} boxes" for n in range(40)]

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda text: redactor.redact(text).text, texts))

    assert results == [f"I spoke to [NAME] about {n} boxes" for n in range(40)]


def test_words_are_not_kept_in_the_vocabulary(redactor: PresidioRedactor) -> None:
    _, model = redactor._load()

    redactor.redact("my name is Zyxwvutsrq Qponmlkjih")

    assert "Zyxwvutsrq" not in model.vocab.strings


@given(st.text(max_size=200))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_never_raises(redactor: PresidioRedactor, text: str) -> None:
    before = redactor.failures

    redactor.redact(text, language="xx", before=[text])

    assert redactor.failures == before


PROBE = """
import socket, sys
def refuse(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        raise SystemExit(f"network: {event} {args}")
sys.addaudithook(refuse)
from src.adapters.presidio import PresidioRedactor
redactor = PresidioRedactor()
redactor.load()
assert redactor.redact("write to a.b@example.co.uk or www.example.org").text == "write to [EMAIL] or [URL]"
assert redactor.failures == 0
"""


def test_nothing_is_fetched(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-B", "-W", "error", "-c", PROBE],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert done.returncode == 0, done.stderr + done.stdout
    assert list(tmp_path.iterdir()) == []


def test_sums_and_counts_are_nothing_to_warn_of(
    redactor: PresidioRedactor, caplog: pytest.LogCaptureFixture
) -> None:
    redactor.redact("The first three cards cost twelve dollars, a third of them five percent more.")

    assert caplog.records == []
