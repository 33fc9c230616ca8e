"""Passages for a turn: fused, in time, and honest about what is missing."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from src.schemas.errors import MemoryStoreError
from src.schemas.knowledge import Hit, Retrieved
from src.services.retrieval import (
    RAG_FAILED,
    RAG_LATE,
    RAG_TEXT_ONLY,
    RRF_K,
    Retrieval,
    RetrievalPolicy,
    fuse,
)
from tests.fakes.clock import FakeClock
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.knowledge import ScriptedSearch

PLENTY_MS = 5_000.0
LITTLE_MS = 20.0


def hit(chunk_id: int) -> Hit:
    return Hit(chunk_id=chunk_id, text=f"text {chunk_id}", document="faq.md", page=None)


class Bench:
    """A retrieval with everything it works with."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.index = ScriptedSearch(words=[hit(1), hit(2)], meaning=[hit(2), hit(3)])
        self.embedder = FakeEmbedder()
        self.retrieval = Retrieval(
            index=self.index,
            embedder=self.embedder,
            clock=self.clock,
            policy=RetrievalPolicy(misses=2, rest_s=10),
        )

    async def ask(
        self,
        query: str = "refund?",
        *,
        budget_ms: float = PLENTY_MS,
        bases: tuple[str, ...] = ("kb",),
    ) -> Retrieved:
        return await self.retrieval.retrieve_passages(
            query, owner_id="owner", knowledge_base_ids=bases, limit=3, budget_ms=budget_ms
        )


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    yield bench
    await bench.retrieval.aclose()


def texts(found: Retrieved) -> list[str]:
    return [passage.text for passage in found.passages]


async def test_what_both_rankings_know_comes_first(bench: Bench) -> None:
    found = await bench.ask()
    assert texts(found) == ["text 2", "text 1", "text 3"]
    assert found.degradations == ()


async def test_meaning_counts_where_places_are_equal(bench: Bench) -> None:
    bench.index = ScriptedSearch(words=[hit(1)], meaning=[hit(2)])
    retrieval = Retrieval(index=bench.index, embedder=bench.embedder, clock=bench.clock)
    found = await retrieval.retrieve_passages(
        "refund?", owner_id="owner", knowledge_base_ids=["kb"], budget_ms=PLENTY_MS
    )
    assert texts(found) == ["text 2", "text 1"]


async def test_late_embeddings_leave_the_passages_found_by_words(bench: Bench) -> None:
    bench.embedder.answers.clear()
    found = await bench.ask(budget_ms=LITTLE_MS)
    assert texts(found) == ["text 1", "text 2"]
    assert found.degradations == (RAG_TEXT_ONLY,)


async def test_failed_embeddings_leave_the_passages_found_by_words(bench: Bench) -> None:
    bench.embedder.failures = 1
    found = await bench.ask()
    assert texts(found) == ["text 1", "text 2"]
    assert found.degradations == (RAG_TEXT_ONLY,)


async def test_a_late_index_is_not_waited_for(bench: Bench) -> None:
    bench.index.words_answer.clear()
    bench.embedder.answers.clear()
    found = await bench.ask(budget_ms=LITTLE_MS)
    assert found.passages == ()
    assert found.degradations == (RAG_LATE,)


async def test_a_failed_index_is_no_failed_turn(bench: Bench) -> None:
    bench.index.words_error = MemoryStoreError("away")
    bench.embedder.failures = 1
    found = await bench.ask()
    assert found.passages == ()
    assert found.degradations == (RAG_FAILED,)


async def test_passages_found_by_meaning_are_used_though_the_words_failed(bench: Bench) -> None:
    bench.index.words_error = MemoryStoreError("away")
    found = await bench.ask()
    assert texts(found) == ["text 2", "text 3"]
    assert found.degradations == (RAG_FAILED,)


async def test_an_unforeseen_error_is_a_failed_search(bench: Bench) -> None:
    bench.index.words_error = ValueError("a bug")
    found = await bench.ask()
    assert found.degradations == (RAG_FAILED,)


async def test_without_embeddings_words_are_enough(bench: Bench) -> None:
    retrieval = Retrieval(index=bench.index, embedder=None, clock=bench.clock)
    found = await retrieval.retrieve_passages(
        "refund?", owner_id="owner", knowledge_base_ids=["kb"], budget_ms=PLENTY_MS
    )
    assert texts(found) == ["text 1", "text 2"]
    assert found.degradations == ()


async def test_nothing_is_embedded_that_cannot_be_compared(bench: Bench) -> None:
    bench.index.vectors = False
    found = await bench.ask()
    assert texts(found) == ["text 1", "text 2"]
    assert found.degradations == ()
    assert bench.embedder.embedded == []


@pytest.mark.parametrize(("query", "bases"), [("  ", ("kb",)), ("refund?", ())])
async def test_nothing_to_ask_costs_nothing(
    bench: Bench, query: str, bases: tuple[str, ...]
) -> None:
    assert await bench.ask(query, bases=bases) == Retrieved()
    assert bench.index.asked == []


async def test_a_model_that_keeps_failing_rests_and_is_asked_again_later(bench: Bench) -> None:
    bench.embedder.failures = 2
    for _ in range(3):  # the third would work, and is not tried
        assert (await bench.ask()).degradations == (RAG_TEXT_ONLY,)
    assert bench.embedder.embedded == []
    bench.clock.advance(10)
    assert (await bench.ask()).degradations == ()


async def test_an_index_that_rests_says_why(bench: Bench) -> None:
    bench.index.words_answer.clear()
    bench.embedder.answers.clear()
    for _ in range(2):
        await bench.ask(budget_ms=LITTLE_MS)
    found = await bench.ask()  # at once: nothing is asked
    assert found.degradations == (RAG_LATE,)
    assert len(bench.index.asked) == 2


async def test_a_turn_that_is_cancelled_leaves_nothing_running(bench: Bench) -> None:
    bench.index.words_answer.clear()
    bench.embedder.answers.clear()
    before = asyncio.all_tasks()
    turn = asyncio.ensure_future(bench.ask())
    await asyncio.sleep(0)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    await bench.retrieval.aclose()
    assert asyncio.all_tasks() <= before


async def test_a_very_long_query_is_cut(bench: Bench) -> None:
    await bench.ask("word " * 10_000)
    assert len(bench.index.asked[0]) <= 1_000


RANKINGS = st.lists(st.lists(st.integers(0, 30), unique=True, max_size=12), max_size=3)


@given(RANKINGS, st.integers(0, 10))
def test_fusion_gives_the_best_sums_of_reciprocal_ranks(
    rankings: list[list[int]], limit: int
) -> None:
    passages = fuse([[hit(one) for one in ranking] for ranking in rankings], limit=limit)
    sums = {
        one: sum(1 / (RRF_K + ranking.index(one) + 1) for ranking in rankings if one in ranking)
        for one in {one for ranking in rankings for one in ranking}
    }
    assert [passage.score for passage in passages] == pytest.approx(
        sorted(sums.values(), reverse=True)[:limit]
    )
    for passage in passages:
        assert passage.score == pytest.approx(sums[int(passage.text.removeprefix("text "))])
    assert len({passage.text for passage in passages}) == len(passages)
