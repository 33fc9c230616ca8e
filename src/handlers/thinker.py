"""What the language model reads for a reply: the conversation, and what memory and knowledge add to it.

It works in `llm_node`, the one place that speech, typed text and follow-ups of tools all pass, and on
a copy of the context: what is added for one reply is not there at the next, and preemptive generation
keeps its one request per turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from livekit.agents import LanguageCode, llm

from src.handlers.call import Call, ThinkingServices
from src.handlers.prompt_items import applied, last_user_message, prompt_of
from src.logs import get_logger
from src.schemas.agent_meta_schema import AgentMeta
from src.schemas.memory import MemoryEntry, Passage
from src.services.compaction import Compactor
from src.services.language import base
from src.services.turn_notes import NOTES_TOKENS, turn_notes

logger = get_logger(__name__)

_JUST_BEFORE_S = 1e-6  # LiveKit keeps the items of a context by their time
_KEPT_RECALLS = 20
"""Replies whose passages are remembered, for the entry of an answer that is still being spoken."""


@dataclass(frozen=True)
class Recall:
    """What was looked up for one question."""

    passages: tuple[Passage, ...] = ()
    elsewhere: tuple[MemoryEntry, ...] = ()
    """Messages of this session that this job did not take part in: another tab's."""
    degradations: tuple[str, ...] = ()
    took_ms: float = 0.0


class Thinker:
    """Prepares the prompts of one agent in one call."""

    def __init__(self, call: Call, meta: AgentMeta, services: ThinkingServices) -> None:
        self._call = call
        self._meta = meta
        self._services = services
        self._clock = call.services.sources.clock
        self._recalls: dict[str, asyncio.Task[Recall]] = {}
        self._expected: tuple[str, asyncio.Task[Recall]] | None = None
        self._asked = ""
        """What was looked up last: a reply may be thought ahead before its words are final."""
        self._compactor = Compactor(
            summariser=services.summariser,
            count=services.count_tokens,
            clock=self._clock,
            background=call.background,
            max_tokens=meta.max_context_tokens,
        )

    async def prepared(self, context: llm.ChatContext) -> llm.ChatContext:
        """The context for a reply; whatever fails here, the caller is answered without it."""
        began = self._clock.monotonic()
        try:
            prepared = await self._prepared(context)
        except Exception as error:  # noqa: BLE001 - a reply without notes is better than none
            self._call.degrade("notes_failed")
            logger.error("prompt not prepared", extra={"error": type(error).__name__})  # noqa: TRY400 - the error may quote the caller
            return context
        took_ms = round((self._clock.monotonic() - began) * 1000, 1)
        # With its time: most of it passes before the turn is over, where nobody waits for it.
        logger.info("prompt prepared", extra={"took_ms": took_ms})
        return prepared

    async def spoken(self, context: llm.ChatContext, message: llm.ChatMessage) -> None:
        """Write the turn before its reply starts; `context` stays as it is, unless the language changed.

        An exception here would make LiveKit drop the reply.
        """
        conversation = self._call.conversation
        if conversation is None:
            return
        try:
            switch = await conversation.spoken(message)
        except Exception as error:  # noqa: BLE001 - see above
            self._call.degrade("turn_not_written")
            logger.error("turn not written", extra={"error": type(error).__name__})  # noqa: TRY400 - the error may quote the caller
            return
        logger.info("turn written")
        if switch is not None:
            # What was thought and spoken ahead is in the former language: a changed context discards it.
            context.add_message(
                role="system",
                content=["The language of the conversation changed."],
                created_at=message.created_at - _JUST_BEFORE_S,
            )

    def expect(self, text: str) -> None:
        """Look up ahead what a question would need; used once, if it is asked in just these words."""
        if text == self._asked or (self._expected is not None and self._expected[0] == text):
            return
        _forget(self._expected)
        self._expected = (text, self._call.background.spawn(self._look_up(text), name="recall"))

    def recalled_for(self, message_id: str) -> Recall:
        """What the answer to a question was given with; nothing if the question is unknown."""
        task = self._recalls.get(message_id)
        if task is None or not task.done() or task.cancelled() or task.exception() is not None:
            return Recall()
        return task.result()

    async def _prepared(self, context: llm.ChatContext) -> llm.ChatContext:
        question = last_user_message(context)
        recall = Recall() if question is None else await self._recall(question)
        self._call.degrade(*recall.degradations)
        notes = [self._reply_language(), self._notes(recall)]
        count = self._services.count_tokens
        reserved = sum(count(note) for note in notes if note)
        truncation = self._compactor.fit(prompt_of(context), reserved_tokens=reserved)
        self._call.degrade(*truncation.degradations)
        return applied(context, truncation, notes)

    def _notes(self, recall: Recall) -> str:
        conversation = self._call.conversation
        return turn_notes(
            count=self._services.count_tokens,
            language_history=conversation.language_switches if conversation else (),
            recalled=recall.elsewhere,
            passages=recall.passages,
            max_tokens=min(NOTES_TOKENS, self._meta.max_context_tokens // 3),
        )

    def _reply_language(self) -> str:
        language = self._call.language
        if base(language) == base(self._meta.language):
            return ""
        name = LanguageCode(language).to_language_name()
        return f"Reply in {name.title() if name else language}."

    async def _recall(self, question: llm.ChatMessage) -> Recall:
        """One look-up per question, however often the model is asked to answer it."""
        key = f"{question.id} {question.text_content}"
        task = self._recalls.get(key)
        if task is None:
            task = self._expected_for(question.text_content or "")
            self._recalls[key] = self._recalls[question.id] = task
            while len(self._recalls) > _KEPT_RECALLS:
                del self._recalls[next(iter(self._recalls))]
        return await asyncio.shield(task)

    def _expected_for(self, text: str) -> asyncio.Task[Recall]:
        self._asked = text
        expected, self._expected = self._expected, None
        if expected is not None and expected[0] == text:
            return expected[1]
        _forget(expected)
        return self._call.background.spawn(self._look_up(text), name="recall")

    async def _look_up(self, question: str) -> Recall:
        passages, elsewhere = await asyncio.gather(
            self._services.retrieval.retrieve_passages(
                question,
                owner_id=self._meta.owner_id,
                knowledge_base_ids=self._meta.knowledge_base_ids,
                budget_ms=self._meta.rag_budget_ms,
            ),
            self._said_elsewhere(),
        )
        if passages.took_ms:
            logger.info(
                "passages looked up",
                extra={"count": len(passages.passages), "took_ms": round(passages.took_ms)},
            )
        return Recall(passages.passages, tuple(elsewhere), passages.degradations, passages.took_ms)

    async def _said_elsewhere(self) -> Sequence[MemoryEntry]:
        conversation = self._call.conversation
        return () if conversation is None else await conversation.said_elsewhere()


def _forget(expected: tuple[str, asyncio.Task[Recall]] | None) -> None:
    if expected is not None:
        expected[1].cancel()
