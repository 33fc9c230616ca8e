"""What identifies a person is masked, however it was said, and nothing else is."""

import sys
from collections.abc import Sequence, Set

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from src.services.person_names import allow_list
from src.services.privacy import find, redact
from src.services.spans import Span, merged
from src.services.spoken_forms import written_form

DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
HINDI = ["shunya", "ek", "do", "teen", "char", "paanch", "chhe", "saat", "aath", "nau"]
SOME_WORDS = (
    "my card number is four two double nine eight oh may the 12th of march 1981 at gmail dot com name john "
    "smith social ninety old years flat street 12 plus a i no uh sorry [PHONE] [NAME] pan zip aadhaar mera "
    "hai, 42 4111-1111 192.168.1.4 a@b.co www.x.org/y \u0664\u0662 नौ سنة dollars"
)
VOCABULARY = st.sampled_from(SOME_WORDS.split())


def masked(text: str, *, before: Sequence[str] = (), allowed: Set[str] = frozenset()) -> str:
    return redact(text, before=before, allowed=allowed).text


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("my number is four one five, uh, no, six five five two", "my number is [PHONE]"),
        ("My SSN is 078-05-1120.", "My SSN is [SSN]."),
        ("mera number nau aath saat do double nau hai", "mera number [PHONE] hai"),
        ("mail rob dot j at example dot com please", "mail [EMAIL] please"),
        ("born on the twelfth of march nineteen eighty one", "born on [DATE_OF_BIRTH]"),
        ("the surgery was on March 3rd, 2021", "the surgery was on [DATE]"),
        ("she is ninety four years old", "she is [AGE] years old"),
        ("send it to 482 Hanson Street, Apt 4B", "send it to [ADDRESS]"),
        ("My name is Priya Natarajan.", "My name is [NAME]."),
        (
            "last name is smith, s m i t h, that is the spelling",
            "last name is [NAME], that is the spelling",
        ),
        ("it shows one ninety two dot one sixty eight dot one dot four", "it shows [IP]"),
        ("GB29 NWBK 6016 1331 9268 19 is my IBAN", "[ACCOUNT] is my IBAN"),
        ("رقم هاتفي \u0660\u0665\u0665 ١٢٣ ٤٦٧٨", "رقم هاتفي [PHONE]"),
        ("मेरा आधार नंबर २३४५ ६७८९ ०१२३ है", "मेरा आधार नंबर [AADHAAR] है"),
        (
            "the last four of my social are one two three four",
            "the last four of my social are [SSN]",
        ),
    ],
)
def test_masks_the_words_that_were_said(text: str, result: str) -> None:
    assert masked(text) == result


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It costs twelve ninety nine, or 1,249.99 with shipping.",
        "I tried four or five times in ninety minutes.",
        "May I ask you to march on?",
        "I read nineteen eighty four.",
        "My card was declined and my phone is dead.",
        "Take five hundred milligrams twice a day.",
        "I'm Indian and this is Spanish.",
        "[NAME] called about [PHONE].",
        "He earns 2,500,000 rupees and she 85000 dollars.",
    ],
)
def test_leaves_other_words_alone(text: str) -> None:
    assert redact(text).text == text
    assert redact(text).found == {}


def test_counts_what_was_found_by_class() -> None:
    done = redact("I'm John Smith, call me at 415-555-2671 or 415-555-2672 x")

    assert done.found["NAME"] == 1
    assert done.found["PHONE"] >= 1
    assert not any(c.isdigit() for c in done.text)


def test_a_number_over_several_turns_is_masked_in_each() -> None:
    turns = ["my card number is 4 2 4 2", "4 2 4 2", "four two four two", "4242"]

    results = [masked(turn, before=turns[:place]) for place, turn in enumerate(turns)]

    assert results == ["my card number is [CARD]", "[CARD]", "[CARD]", "[CARD]"]


def test_an_announcement_in_the_turn_before_counts() -> None:
    assert masked("9 0 2 1 0", before=["and my zip code is"]) == "[POSTCODE]"
    assert masked("natarajan", before=["my last name is"]) == "[NAME]"
    assert masked("five or six", before=["and my zip code is"]) == "five or six"


def test_turns_before_that_were_masked_still_announce() -> None:
    assert masked("4 2 4 2", before=["my card number is [CARD]"]) == "[CARD]"


def test_only_the_current_turn_is_in_the_result() -> None:
    assert masked("thank you", before=["call me at 415 555 2671"]) == "thank you"


def test_allowed_terms_are_no_names() -> None:
    allowed = allow_list(["Parkinson's", "Lou Gehrig's disease", "Acme Health"])

    assert masked("it's John Smith from Acme Health", allowed=allowed).endswith("from Acme Health")
    assert masked("my name is Acme Health", allowed=allowed) == "my name is Acme Health"
    assert masked("my name is Gehrig", allowed=allowed) == "my name is [NAME]"


def test_allowed_terms_rule_over_a_recogniser() -> None:
    text = "I have Hashimoto's"
    span = Span(7, 16, "NAME")

    assert redact(text, recognised=[span]).text == "I have [NAME]'s"
    assert redact(text, recognised=[span], allowed=allow_list(["Hashimoto's"])).text == text


def test_overlaps_become_one_and_swallow_the_whole_word() -> None:
    text = "call 4155552671 now"

    assert merged(text, [Span(5, 9, "NUMBER"), Span(7, 12, "PHONE")]) == [Span(5, 15, "PHONE")]


def test_neighbours_of_one_class_become_one() -> None:
    assert merged("ann, bob", [Span(0, 3, "NAME"), Span(5, 8, "NAME")]) == [Span(0, 8, "NAME")]


@given(st.text(max_size=400) | st.lists(VOCABULARY, max_size=40).map(" ".join))
def test_spans_are_valid_and_apart(text: str) -> None:
    at = 0
    for span in find(text):
        assert at <= span.start < span.end <= len(text)
        at = span.end


@given(st.text(max_size=300) | st.lists(VOCABULARY, max_size=40).map(" ".join))
@example("my card number is 4 2 4 2 no 5 dollars 4 2 4 2 is my zip")
def test_redacting_again_changes_nothing(text: str) -> None:
    once = redact(text)

    assert redact(once.text).text == once.text
    assert redact(once.text).found == {}


@given(
    number=st.text("0123456789", min_size=7, max_size=16),
    style=st.sampled_from(["words", "hindi", "figures", "mixed", "double"]),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=6),
    gap=st.sampled_from([" ", ", ", " uh ", "-", " and then ", ". "]),
    carrier=st.sampled_from(
        ["my number is {}", "{} is what it says", "so um {} okay", "you can write down {} thanks"]
    ),
)
def test_no_digit_of_a_planted_number_is_left(
    number: str, style: str, sizes: list[int], gap: str, carrier: str
) -> None:
    groups: list[str] = []
    at = 0
    while at < len(number):
        size = sizes[len(groups) % len(sizes)]
        groups.append(said(number[at : at + size], style, len(groups)))
        at += size

    result = masked(carrier.format(gap.join(groups)))

    assert not [word.text for word in written_form(result) if word.kind == "digits"]


def said(group: str, style: str, place: int) -> str:
    if style == "figures" or (style == "mixed" and place % 2):
        return group
    words = HINDI if style == "hindi" else DIGITS
    if style == "double" and len(group) == 2 and group[0] == group[1]:
        return f"double {words[int(group[0])]}"
    return " ".join(words[int(digit)] for digit in group)


@pytest.mark.parametrize(
    "piece",
    [
        "my card four two a b at dot com street 12 may 9 slash ",
        "12 street ",
        "dot com slash ",
        "3/4/2020 ",
        "a b c d as in david ",
        "john smith ",
        "4 uh ",
        "x@y.",
    ],
)
def test_steps_grow_with_the_text_and_no_faster(piece: str) -> None:
    short, long = steps(piece * 100), steps(piece * 1000)

    assert long <= 12 * short


def steps(text: str) -> int:
    """Calls of functions: the same on every machine."""
    count = 0

    def step(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(step)
    try:
        find(text)
    finally:
        sys.setprofile(None)
    return count
