"""What was said, as it would be written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from src.services.spoken_forms import written_form


def said(text: str, language: str = "en") -> list[str]:
    return [word.text for word in written_form(text, language=language)]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("four one five double nine oh", ["4", "1", "5", "99", "0"]),
        ("triple zero eight", ["000", "8"]),
        ("double b seven", ["bb", "7"]),
        ("forty two nineteen eighty one", ["42", "19", "81"]),
        ("two thousand and five", ["2005"]),
        ("four hundred twelve", ["412"]),
        ("a hundred and two", ["102"]),
        ("the twenty first of march", ["the", "21", "of", "march"]),
        ("d as in david e for echo x as in x-ray", ["d", "e", "x"]),
        ("oh I see", ["oh", "i", "see"]),
        ("do you do it", ["do", "you", "do", "it"]),
        ("char do teen", ["4", "2", "3"]),
        ("double nau aath", ["99", "8"]),
        ("नौ आठ ९८", ["9", "8", "98"]),
        ("ثلاثة وتسعون ٤٢", ["93", "42"]),
        ("[PHONE] four", ["[phone]", "4"]),
        ("Sjögren's O\u2019Brien", ["sjögren's", "o'brien"]),
        ("", []),
    ],
)
def test_reads_numbers_and_letters_as_they_are_said(text: str, written: list[str]) -> None:
    assert said(text) == written


def test_hindi_settles_words_that_are_english_as_well() -> None:
    assert said("do baje", "hi") == ["2", "baje"]


@given(st.text(max_size=300))
def test_words_are_in_order_and_inside_the_text(text: str) -> None:
    at = 0
    for word in written_form(text):
        assert at <= word.start < word.end <= len(text)
        at = word.end


@given(st.integers(0, 999_999))
def test_a_number_in_words_reads_as_its_figures(number: int) -> None:
    assert said(in_words(number)) == [str(number)]


ONES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
TEENS = [
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def in_words(number: int) -> str:
    if number < 20:
        return [*ONES, *TEENS][number]
    if number < 100:
        return TENS[number // 10 - 2] + (f" {ONES[number % 10]}" if number % 10 else "")
    unit, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    rest = f" {in_words(number % unit)}" if number % unit else ""
    return f"{in_words(number // unit)} {name}{rest}"
