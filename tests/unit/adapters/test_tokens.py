"""Token counts as the language model's own."""

import pytest

from src.adapters.tokens import O200kTokenCounter


@pytest.fixture(scope="module")
def count() -> O200kTokenCounter:
    counter = O200kTokenCounter()
    counter.load()
    counter.load()
    return counter


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("hello world", 2), ("tokens!", 2), ("<|endoftext|>", 7)],
)
def test_counts(count: O200kTokenCounter, text: str, tokens: int) -> None:
    assert count(text) == tokens


def test_a_counter_that_was_not_loaded_loads_itself() -> None:
    assert O200kTokenCounter()("hello world") == 2
