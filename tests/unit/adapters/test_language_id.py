"""The language of typed texts."""

import threading

import pytest

from src.adapters.language_id import Py3LangidIdentifier
from src.services.language import MIN_CONFIDENCE

LANGUAGES = ("en-US", "hi-IN", "es", "fr", "de", "ar", "pt", "it")


@pytest.fixture(scope="module")
def identifier() -> Py3LangidIdentifier:
    identifier = Py3LangidIdentifier()
    identifier.load()
    return identifier


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I want to book an appointment", "en-US"),
        ("can you tell me when you open", "en-US"),
        ("CAN YOU TELL ME WHEN YOU OPEN", "en-US"),
        ("quiero una cita para mañana", "es"),
        ("je voudrais un rendez-vous", "fr"),
        ("das ist gut", "de"),
        ("quero marcar uma consulta amanhã", "pt"),
        ("vorrei prenotare per domani", "it"),
        ("मुझे कल डॉक्टर से मिलना है", "hi-IN"),
        ("مرحبا أريد موعدا", "ar"),
    ],
)
def test_a_sentence_tells_its_language(
    identifier: Py3LangidIdentifier, text: str, language: str
) -> None:
    found = identifier.identify(text, LANGUAGES)
    assert found is not None
    assert found[0] == language
    assert MIN_CONFIDENCE < found[1] <= 1.0


@pytest.mark.parametrize(
    "text",
    [
        "mujhe kal doctor se milna hai",
        "kya aap mujhe appointment de sakte ho",
        "haan theek hai kal subah aaunga",
        "mera naam Rohan hai",
        "main kal clinic aa raha hoon",
        "aap log kitne baje open karte ho",
        "bahut accha dhanyavaad",
        "Do aur do kitne hote hain",
        "I want an appointment kal subah",
        "please book karo my appointment",
    ],
)
@pytest.mark.parametrize("languages", [LANGUAGES, ("en", "hi"), ("es", "en", "hi")])
def test_hindi_in_latin_letters_is_taken_for_hindi_or_english_only(
    identifier: Py3LangidIdentifier, text: str, languages: tuple[str, ...]
) -> None:
    found = identifier.identify(text, languages)
    assert found is not None
    assert found[0][:2] in {"en", "hi"}


def test_hindi_in_latin_letters_is_not_hindi_for_an_agent_without_it(
    identifier: Py3LangidIdentifier,
) -> None:
    assert identifier.identify("bahut accha dhanyavaad", ("en",)) == ("en", 1.0)


@pytest.mark.parametrize("text", ["", "ok", "hola", "12:30", "👍"])
def test_short_texts_are_not_guessed_at(identifier: Py3LangidIdentifier, text: str) -> None:
    assert identifier.identify(text, LANGUAGES) is None


def test_ambiguous_texts_are_unsure(identifier: Py3LangidIdentifier) -> None:
    found = identifier.identify("hola Maria", ("es", "pt", "it"))
    assert found is None or found[1] < 0.9


def test_a_language_the_model_does_not_know_is_passed_over(
    identifier: Py3LangidIdentifier,
) -> None:
    assert identifier.identify("some english words", ("xx",)) is None
    found = identifier.identify("some english words", ("xx", "en-GB", "en-US", "de"))
    assert found is not None
    assert found[0] == "en-GB"


def test_a_long_text_takes_no_longer(identifier: Py3LangidIdentifier) -> None:
    found = identifier.identify("we would like to come tomorrow " * 100_000, LANGUAGES)
    assert found is not None
    assert found[0] == "en-US"


def test_threads_with_different_languages_do_not_disturb_each_other(
    identifier: Py3LangidIdentifier,
) -> None:
    text, wrong = "quiero una cita para mañana", list[object]()

    def work(languages: tuple[str, ...]) -> None:
        expected = identifier.identify(text, languages)
        wrong.extend(1 for _ in range(200) if identifier.identify(text, languages) != expected)

    threads = [
        threading.Thread(target=work, args=(languages,)) for languages in (LANGUAGES, ("en", "de"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
