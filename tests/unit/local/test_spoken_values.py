"""Numbers, money, days and times as they are said."""

import pytest

from local.providers.spoken_values import amounts, day, numbers, time


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("I called 3 times, or -2.5.", [3, -2.5]),
        ("It is 1,250.75 or 1,00,000", [1250.75, 100_000]),
        ("two hundred and fifty, then twenty-one", [250, 21]),
        ("three thousand four hundred five", [3405]),
        ("A4 on 10.0.0.1", []),
        ("Someone often atones", []),
    ],
)
def test_numbers(text: str, values: list[float]) -> None:
    assert list(numbers(text)) == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("I paid $40 and 1,250 euros for 3 hats.", [40, 1250]),
        ("It was forty dollars.", [40]),
        ("₹500 plus Rs. 20", [500, 20]),
        ("Call me at 5551234.", []),
        ("मैंने 500 रुपये दिए", [500]),
    ],
)
def test_amounts(text: str, values: list[float]) -> None:
    assert list(amounts(text)) == values


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("On Monday? No, next Friday please.", "next Friday"),
        ("On March 5th, 2027.", "March 5th, 2027"),
        ("the 5th of May", "the 5th of May"),
        ("2026-12-04 it is", "2026-12-04"),
        ("El 5 de mayo o el viernes", "el viernes"),
        ("सोमवार को", "सोमवार"),
        ("Never.", ""),
    ],
)
def test_days(text: str, found: str) -> None:
    assert day(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("at 3:30 pm", "3:30 pm"),
        ("At 10 am sharp", "10 am"),
        ("at half past three o'clock", "half past three o'clock"),
        ("at noon", "noon"),
        ("three hats", ""),
    ],
)
def test_times(text: str, found: str) -> None:
    assert time(text) == found
