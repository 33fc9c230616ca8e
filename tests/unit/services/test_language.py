"""The language of a conversation: when it changes, and when it must not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from src.services.language import LanguagePolicy, LanguageSwitch, is_short

SUPPORTED = ("en-US", "hi", "es-ES", "es-MX", "fr")


def policy(current: str | None = None) -> LanguagePolicy:
    return LanguagePolicy(SUPPORTED, current=current)


def spoken(policy: LanguagePolicy, *languages: str) -> list[LanguageSwitch | None]:
    return [policy.observe("some more words", detected=language) for language in languages]


def test_it_starts_in_the_agents_first_language_or_in_the_persons() -> None:
    assert policy().current == "en-US"
    assert policy("hi").current == "hi"
    assert policy("hi-IN").current == "hi"
    assert policy("de").current == "en-US"
    assert policy("").current == "en-US"
    with pytest.raises(ValueError, match="at least one"):
        LanguagePolicy(())


def test_two_turns_in_a_row_in_another_language_change_it() -> None:
    here = policy()
    assert spoken(here, "es", "es") == [None, LanguageSwitch("en-US", "es-ES", "auto_detected")]
    assert here.current == "es-ES"
    assert spoken(here, "es", "en", "en") == [
        None,
        None,
        LanguageSwitch("es-ES", "en-US", "auto_detected"),
    ]


@pytest.mark.parametrize("between", ["en", "fr", "de"])
def test_turns_that_are_not_consistent_change_nothing(between: str) -> None:
    assert spoken(policy(), "es", between, "es") == [None, None, None]


@pytest.mark.parametrize(
    ("text", "detected", "confidence"),
    [
        ("ok", "en", 1.0),
        ("hola", "fr", 1.0),
        ("", "en", 1.0),
        ("one two three", "en", 0.5),
        ("one two three", None, 1.0),
    ],
)
def test_short_or_unsure_turns_neither_count_nor_reset(
    text: str, detected: str | None, confidence: float
) -> None:
    here = policy()
    spoken(here, "es")
    assert here.observe(text, detected=detected, confidence=confidence) is None
    assert spoken(here, "es") == [LanguageSwitch("en-US", "es-ES", "auto_detected")]
    alone = policy()
    for _ in range(5):
        assert alone.observe(text, detected="es" if detected else None, confidence=0.5) is None


def test_another_region_is_no_other_language() -> None:
    here = policy("es-MX")
    assert spoken(here, "es-AR", "es-ES") == [None, None]
    assert here.set("es-ES") is None
    assert here.current == "es-MX"
    assert policy().set("es-MX") == LanguageSwitch("en-US", "es-MX", "explicit_setting")


def test_what_is_asked_for_is_done_at_once() -> None:
    here = policy()
    assert here.observe("can we speak Hindi", detected="en") == LanguageSwitch(
        "en-US", "hi", "user_request"
    )
    assert here.observe("can we speak Hindi", detected="en") is None
    assert here.request("fr-CA") == LanguageSwitch("hi", "fr", "user_request")
    assert here.set("EN_us") == LanguageSwitch("fr", "en-US", "explicit_setting")


def test_a_request_starts_the_count_anew() -> None:
    here = policy()
    spoken(here, "es")
    here.request("hi")
    assert spoken(here, "es") == [None]


@pytest.mark.parametrize("language", ["de", "", "zz-ZZ", "english", "e"])
def test_a_language_the_agent_does_not_have_is_never_chosen(language: str) -> None:
    here = policy()
    assert here.request(language) is None
    assert here.set(language) is None
    assert spoken(here, language, language, language) == [None, None, None]
    assert here.observe("please speak German") is None
    assert here.current == "en-US"


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("hola", True),
        ("12 34", True),
        ("…", True),
        ("buenos días", False),
        ("मुझे कल", False),
        ("你好", True),
        ("我想预约明天", False),
        ("予約したいです", False),
    ],
)
def test_short_texts_tell_no_language(text: str, short: bool) -> None:
    assert is_short(text) is short


TAGS = st.sampled_from(["en-US", "en-GB", "hi", "es", "es-MX", "fr", "de", "zh", ""])
TURNS = st.lists(
    st.tuples(
        st.sampled_from(["observe", "observe", "observe", "request", "set"]),
        TAGS,
        st.sampled_from(["some more words", "ok", "parlez français", "speak German please"]),
        st.sampled_from([0.2, 0.9]),
    ),
    max_size=30,
)


@given(turns=TURNS)
def test_it_never_leaves_the_agents_languages(turns: list[tuple[str, str, str, float]]) -> None:
    here = policy()
    for kind, tag, text, confidence in turns:
        before = here.current
        if kind == "observe":
            switch = here.observe(text, detected=tag or None, confidence=confidence)
        else:
            switch = here.request(tag) if kind == "request" else here.set(tag)
        assert here.current in SUPPORTED
        assert (switch is None) == (here.current == before)
        if switch:
            assert (switch.from_language, switch.to_language) == (before, here.current)
            assert before[:2] != here.current[:2]


@given(odd=TAGS, before=st.integers(0, 4), after=st.integers(1, 4))
def test_a_single_odd_turn_never_changes_it(odd: str, before: int, after: int) -> None:
    here = policy()
    heard = spoken(here, *["en"] * before, odd or "en", *["en"] * after)
    assert not any(heard)
    assert here.current == "en-US"
