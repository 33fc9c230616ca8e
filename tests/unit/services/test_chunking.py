"""Chunks: nothing lost, none too long, every one on its page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from src.adapters.tokens import O200kTokenCounter
from src.schemas.knowledge import Page
from src.services.chunking import Chunker, ChunkPolicy
from src.services.ports import TokenCounter

WORDS = st.sampled_from(
    [
        "yes",
        "refund",
        "No.",
        "Is it?",
        "é",
        "रुको।",
        "你好。",
        "x" * 70,
        "\n",
        "\n\n",
        "- item",
        "  ",
        "!",
    ]
)
TEXTS = st.lists(WORDS, max_size=120).map(" ".join) | st.text(max_size=400)
POLICIES = st.integers(1, 60).flatmap(
    lambda most: st.builds(
        ChunkPolicy,
        max_tokens=st.just(most),
        overlap_tokens=st.integers(0, most // 2),
    )
)


def by_characters(text: str) -> int:
    return len(text)


def by_words(text: str) -> int:
    return len(text.split())


COUNTERS = st.sampled_from([by_characters, by_words])


@given(TEXTS, POLICIES, COUNTERS)
def test_nothing_but_white_space_is_lost(
    text: str, policy: ChunkPolicy, count: TokenCounter
) -> None:
    spans = list(Chunker(count=count, policy=policy).spans(text))
    covered = 0
    for start, end in spans:
        assert start <= covered < end or not text[start:end].strip()
        covered = max(covered, end)
    assert covered == len(text)


@given(TEXTS, POLICIES, COUNTERS)
def test_no_chunk_is_longer_than_allowed(
    text: str, policy: ChunkPolicy, count: TokenCounter
) -> None:
    for chunk in Chunker(count=count, policy=policy)([Page(1, text)]):
        assert count(chunk.text) <= policy.max_tokens
        assert chunk.text == chunk.text.strip() != ""


@given(st.lists(TEXTS, max_size=5), POLICIES)
def test_every_chunk_is_text_of_its_page(texts: list[str], policy: ChunkPolicy) -> None:
    pages = [Page(number, text) for number, text in enumerate(texts, start=1)]
    chunks = Chunker(count=by_words, policy=policy)(pages)
    assert all(chunk.text in texts[(chunk.page or 0) - 1] for chunk in chunks)
    assert [chunk.page for chunk in chunks] == sorted(chunk.page or 0 for chunk in chunks)
    assert {chunk.page for chunk in chunks} == {page.number for page in pages if page.text.strip()}


@given(TEXTS)
def test_bounds_hold_for_the_models_tokens(text: str) -> None:
    count = O200kTokenCounter()
    policy = ChunkPolicy(max_tokens=12, overlap_tokens=4)
    for chunk in Chunker(count=count, policy=policy)([Page(None, text)]):
        assert count(chunk.text) <= policy.max_tokens


def test_chunks_begin_with_sentences_and_repeat_the_last_one() -> None:
    text = "One two three. Four five six. Seven eight nine. Ten eleven twelve."
    chunker = Chunker(count=by_words, policy=ChunkPolicy(max_tokens=6, overlap_tokens=3))
    assert [chunk.text for chunk in chunker([Page(None, text)])] == [
        "One two three. Four five six.",
        "Four five six. Seven eight nine.",
        "Seven eight nine. Ten eleven twelve.",
    ]


def test_a_short_page_is_one_chunk() -> None:
    text = "# Returns\n\nBlankets can be returned. Ask us.\n"
    (chunk,) = Chunker(count=by_words)([Page(None, text)])
    assert chunk.text == text.strip()


def test_a_sentence_without_an_end_is_cut_between_words() -> None:
    chunker = Chunker(count=by_words, policy=ChunkPolicy(max_tokens=3, overlap_tokens=0))
    (first, second) = chunker([Page(None, "one two three four five")])
    assert (first.text, second.text) == ("one two three", "four five")


def test_a_word_without_an_end_is_cut_within() -> None:
    chunker = Chunker(count=by_characters, policy=ChunkPolicy(max_tokens=10, overlap_tokens=0))
    assert "".join(chunk.text for chunk in chunker([Page(None, "x" * 1_001)])) == "x" * 1_001


@pytest.mark.parametrize(("most", "overlap"), [(0, 0), (10, 6), (10, -1)])
def test_impossible_sizes_are_refused(most: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="overlap_tokens"):
        ChunkPolicy(max_tokens=most, overlap_tokens=overlap)
