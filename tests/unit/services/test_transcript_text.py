"""Transcripts as text of bounded length."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from src.services.transcript_text import packed


@given(st.lists(st.text(alphabet="abc \u0939", max_size=60), max_size=40), st.integers(1, 50))
def test_packing_loses_nothing_and_keeps_the_bound(lines: list[str], max_chars: int) -> None:
    texts = packed(lines, max_chars)
    assert all(0 < len(text) <= max_chars for text in texts)
    assert "".join(texts).replace("\n", "") == "".join(lines)


@given(st.lists(st.text(alphabet="ab", min_size=1, max_size=20), max_size=40))
def test_lines_that_fit_stay_whole_and_fill_as_few_texts_as_they_can(lines: list[str]) -> None:
    texts = packed(lines, 20)
    assert [line for text in texts for line in text.split("\n")] == lines
    ends = [len(text) + 1 + len(after.split("\n")[0]) for text, after in pairwise(texts)]
    assert all(end > 20 for end in ends)
