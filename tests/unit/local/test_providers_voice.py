"""How a text is cut for the voice."""

import pytest

from local.providers.voice import clauses, whole_sentences


@pytest.mark.parametrize(
    ("text", "whole", "rest"),
    [
        ("Hello ", [], "Hello "),
        ("Hello there. How ", ["Hello there."], "How "),
        ("Dr. Smith ", [], "Dr. Smith "),
        ("One. Two! Three? Four", ["One.", "Two!", "Three?"], "Four"),
        ("", [], ""),
        (" ", [], " "),
    ],
)
def test_only_complete_sentences_are_spoken_while_text_still_comes(
    text: str, whole: list[str], rest: str
) -> None:
    assert whole_sentences(text) == (whole, rest)


def test_no_word_is_lost_when_text_comes_word_by_word() -> None:
    said, rest = [], ""
    for word in ["Hello ", "Ann. ", "How ", "are ", "you? ", "Fine"]:
        whole, rest = whole_sentences(rest + word)
        said += whole
    assert (said, rest) == (["Hello Ann.", "How are you?"], "Fine")


def test_the_first_clause_of_a_long_sentence_is_made_first() -> None:
    sentence = (
        "If your card was lost or stolen, please tell me at once, and I will block it for you."
    )
    sentence += " Nobody can use it then."
    first, second = clauses(sentence)
    assert first == "If your card was lost or stolen,"
    assert f"{first} {second}" == sentence


def test_a_short_sentence_is_made_in_one_piece() -> None:
    assert list(clauses("Yes, of course.")) == ["Yes, of course."]
