"""Nothing with a brace is spoken, and a stray brace never silences the agent."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from src.services.speech_gate import SpeechGate, gate

PIECES = st.sampled_from(
    [
        *("Hello", " ", ", ", "how are you", ". ", "!", "?\n", "नमस्ते", "你好。", "3.5%"),
        *("{", "}", "{{", "}}", "{{{", "{%", "%}", "{{ name }}", "{name}", "{{{x}}}", "{% if y %}"),
        *('{"a": {"b": 1}}', "{{ x | default: 'y' }}", "{" + "z" * 150, "w" * 120),
    ]
)
SPEECH = st.lists(PIECES | st.text(max_size=4), max_size=14).map("".join)


def spoken(text: str, cuts: list[int]) -> tuple[str, int]:
    """What a gate lets through of a text that comes cut at the given places."""
    speech = SpeechGate()
    edges = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    chunks = [text[start:end] for start, end in pairwise(edges)]
    return "".join(map(speech.feed, chunks)) + speech.flush(), speech.removed


@pytest.mark.parametrize(
    ("text", "clean", "removed"),
    [
        ("Hello {{name}}, how are you?", "Hello, how are you?", 1),
        ("Hello {name}!", "Hello!", 1),
        ("Hello {{{name}}} there", "Hello there", 1),
        ("{% if name %}Hi{% endif %} there", "Hi there", 2),
        ("{{name}}, good morning", "Good morning", 1),
        ('Say {"a": 1, "b": {"c": 2}} now', "Say now", 1),
        ("{a}{b}", "", 2),
        ("half { open", "half open", 1),
        ("half } open", "half open", 1),
        ("It costs {5 euros. See {price}.", "It costs 5 euros. See.", 2),
        ("{ never closed {{name}} goes on. Then more", "never closed goes on. Then more", 2),
        ("{{name", "name", 2),
        ("no braces ,  at all", "no braces ,  at all", 0),
        ("", "", 0),
    ],
)
def test_a_text_leaves_the_gate_without_braces(text: str, clean: str, removed: int) -> None:
    assert gate(text) == (clean, removed)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Hello {{name}}, how are you?", "Hello how are you?"),
        ("Hello, {{name}}, how are you?", "Hello, how are you?"),
        ("Hello {{name}} there", "Hello there"),
        ("{{name}}, good morning", "good morning"),
        ("{{a}} {{b}}, hi", "hi"),
        ("Hello\u00a0{{name}} there", "Hello\u00a0there"),
    ],
)
def test_speech_is_closed_up_after_a_gap(text: str, clean: str) -> None:
    assert spoken(text, [])[0] == clean


@given(SPEECH, st.lists(st.integers(min_value=0), max_size=12))
@settings(max_examples=300, deadline=None)
def test_how_speech_is_cut_does_not_matter(text: str, cuts: list[int]) -> None:
    whole, removed = spoken(text, [])
    assert spoken(text, cuts) == (whole, removed)
    assert spoken(text, list(range(len(text)))) == (whole, removed)
    assert not set("{}") & set(whole)
    assert removed == gate(text)[1]


@given(SPEECH)
@settings(max_examples=200, deadline=None)
def test_the_gate_has_nothing_to_do_a_second_time(text: str) -> None:
    clean, removed = gate(text)
    assert not set("{}") & set(clean)
    assert (removed > 0) == bool(set("{}") & set(text))
    assert gate(clean) == (clean, 0)


@given(st.lists(st.text().filter(lambda chunk: not set("{}") & set(chunk)), max_size=8))
@settings(max_examples=100, deadline=None)
def test_speech_without_braces_passes_at_once_and_unchanged(chunks: list[str]) -> None:
    speech = SpeechGate()
    assert [speech.feed(chunk) for chunk in chunks] == chunks
    assert (speech.flush(), speech.removed) == ("", 0)


@given(SPEECH)
@settings(max_examples=150, deadline=None)
def test_speech_is_never_held_back_for_long(text: str) -> None:
    speech = SpeechGate()
    silent = 0
    for character in text.replace("}", "") + "x" * 250:
        # Without a closing brace only the brace itself is lost, so silence is holding back.
        silent = 0 if speech.feed(character) else silent + 1
        assert silent <= 260


@given(SPEECH)
@settings(max_examples=150, deadline=None)
def test_a_brace_that_is_never_closed_takes_no_word_with_it(text: str) -> None:
    text = text.replace("}", "")
    said, _ = spoken(text, list(range(len(text))))
    assert re.findall(r"\w+", said) == re.findall(r"\w+", text.replace("{", ""))


def test_an_open_brace_ends_with_the_sentence() -> None:
    speech = SpeechGate()
    assert speech.feed("It is {open") == "It is "
    assert speech.feed(" now. And") == "open now. And"


def test_an_open_brace_ends_after_two_hundred_characters() -> None:
    speech = SpeechGate()
    assert speech.feed("{" + "a" * 200) == ""
    assert speech.feed("b") == "a" * 200 + "b"


def test_a_gate_serves_one_text_after_another() -> None:
    speech = SpeechGate()
    assert speech.feed("Wait {") + speech.flush() == "Wait "
    assert speech.feed("Wait {x}") + speech.flush() == "Wait "
    assert speech.feed(", and more}") == ", and more"
    assert (speech.flush(), speech.removed) == ("", 3)
