"""Passages for one turn, in the time a turn has for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from src.schemas.knowledge import Hit, KnowledgeScope, Retrieved
from src.schemas.memory import Passage
from src.services.background import Background
from src.services.knowledge_ports import Embedder, KnowledgeSearch
from src.services.ports import Clock

RAG_LATE: Final = "rag_late"
"""No passages: the index did not answer in time."""
RAG_FAILED: Final = "rag_failed"
"""No passages: the index failed."""
RAG_TEXT_ONLY: Final = "rag_text_only"
"""The search by meaning was late or failed; the passages are those that share words."""

RRF_K = 60
"""Cormack, Clarke, Büttcher: Reciprocal Rank Fusion outperforms Condorcet and individual Rank
Learning Methods, SIGIR 2009: 60 did best in their pilot, and results hardly depend on it."""
_MAX_QUERY_CHARS = 1_000


@dataclass(frozen=True, kw_only=True)
class RetrievalPolicy:
    """When a ranking that keeps missing turns is left alone, so that turns stop waiting for it."""

    misses: int = 3
    """Turns in a row that it was late or failed in."""
    rest_s: float = 10.0
    """It is not asked for so long then; after that, one more miss and it rests again."""


@dataclass(eq=False)
class _Ranking:
    """One of the two ways to search, and how it has been doing."""

    name: str
    misses: int = 0
    rests_until: float = 0.0
    last_miss: Literal["rag_late", "rag_failed"] = "rag_late"


_Search = Callable[[], Coroutine[Any, Any, list[Hit]]]


class Retrieval:
    """Searches by words and by meaning at once, and fuses what came in time.

    Owns the tasks it starts: a late one is cancelled and not waited for until `aclose`.
    """

    def __init__(
        self,
        *,
        index: KnowledgeSearch,
        embedder: Embedder | None,
        clock: Clock,
        policy: RetrievalPolicy | None = None,
    ) -> None:
        """Without `embedder`, words alone are searched for; that is no degradation then."""
        self._index = index
        self._embedder = embedder
        self._clock = clock
        self._policy = policy or RetrievalPolicy()
        self._words = _Ranking("passages_by_words")
        self._meaning = _Ranking("passages_by_meaning")
        self._background = Background()

    async def retrieve_passages(
        self,
        query: str,
        *,
        owner_id: str,
        knowledge_base_ids: Sequence[str],
        limit: int = 4,
        budget_ms: float = 80.0,
    ) -> Retrieved:
        """The passages that answer `query` best, best first, after `budget_ms` at the latest.

        Never raises on account of the index or the model: the answer's `degradations` say what it had
        to do without (`rag_late`, `rag_failed`, `rag_text_only`).
        """
        began = self._clock.monotonic()
        text = query.strip()[:_MAX_QUERY_CHARS]
        scope = KnowledgeScope(owner_id=owner_id, knowledge_base_ids=tuple(knowledge_base_ids))
        if not text or not scope.knowledge_base_ids:
            return Retrieved()
        # No ranking is read deeper than what is asked for. In a small knowledge base most passages share
        # some word with the question, and are somewhere in the ranking by meaning: two such places would
        # outweigh the first place of the one that answers it.
        searches: dict[_Ranking, _Search] = {}
        if (embedder := self._embedder) is not None:  # the first counts where scores are equal
            searches[self._meaning] = lambda: self._by_meaning(embedder, text, scope, limit)
        searches[self._words] = lambda: self._index.search_words(text, scope=scope, limit=limit)
        found = await self._ask(searches, budget_ms / 1000)
        return Retrieved(
            passages=fuse(found.values(), limit=limit),
            degradations=self._degradations(searches.keys() - found.keys()),
            took_ms=(self._clock.monotonic() - began) * 1000,
        )

    async def aclose(self) -> None:
        """Wait for the end of what was cancelled."""
        await self._background.aclose()

    async def _by_meaning(
        self, embedder: Embedder, text: str, scope: KnowledgeScope, limit: int
    ) -> list[Hit]:
        if not await self._index.has_vectors():
            return []
        (vector,) = await embedder.embed([text])
        return await self._index.search_vector(
            vector, model=embedder.model, scope=scope, limit=limit
        )

    async def _ask(
        self, searches: Mapping[_Ranking, _Search], budget_s: float
    ) -> dict[_Ranking, list[Hit]]:
        now = self._clock.monotonic()
        running = {
            ranking: self._background.spawn(search(), name=ranking.name)
            for ranking, search in searches.items()
            if now >= ranking.rests_until
        }
        if not running:
            return {}
        try:
            await asyncio.wait(running.values(), timeout=budget_s)
            return {
                ranking: task.result()
                for ranking, task in running.items()
                if self._answered(ranking, task)
            }
        finally:
            for task in running.values():
                task.cancel()

    def _answered(self, ranking: _Ranking, task: asyncio.Task[list[Hit]]) -> bool:
        if task.done() and not task.cancelled() and task.exception() is None:
            ranking.misses = 0
            return True
        ranking.misses += 1
        ranking.last_miss = RAG_FAILED if task.done() else RAG_LATE
        if ranking.misses >= self._policy.misses:
            ranking.rests_until = self._clock.monotonic() + self._policy.rest_s
        return False

    def _degradations(self, missed: set[_Ranking]) -> tuple[str, ...]:
        if self._words in missed:
            return (self._words.last_miss,)
        return (RAG_TEXT_ONLY,) if missed else ()


def fuse(rankings: Iterable[Sequence[Hit]], *, limit: int) -> tuple[Passage, ...]:
    """The best of several rankings by reciprocal rank: each gives a hit 1 / (RRF_K + its place).

    A chunk that is in several is one passage. Equal scores keep the order of the rankings.
    """
    scores: dict[int, float] = {}
    hits: dict[int, Hit] = {}
    for ranking in rankings:
        for place, hit in enumerate(ranking, start=1):
            scores[hit.chunk_id] = scores.get(hit.chunk_id, 0.0) + 1 / (RRF_K + place)
            hits.setdefault(hit.chunk_id, hit)
    best = sorted(scores, key=lambda chunk_id: -scores[chunk_id])[:limit]
    return tuple(_passage(hits[chunk_id], scores[chunk_id]) for chunk_id in best)


def _passage(hit: Hit, score: float) -> Passage:
    return Passage(text=hit.text, document=hit.document, page=hit.page, score=score)
