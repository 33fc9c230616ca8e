"""What is said in one call, on its way to memory: turns, mode and language."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from livekit.agents import UserInputTranscribedEvent, llm

from src.handlers.call import Call
from src.handlers.foresight import Foresight
from src.handlers.thinker import Recall, Thinker
from src.handlers.turn_latency import reply_ms, stages_ms
from src.handlers.voice_assistant import VoiceAssistant
from src.logs import get_logger
from src.schemas.agent_meta_schema import AgentMeta
from src.schemas.contact import CallDirection, Turn
from src.schemas.memory import ConversationContext, MemoryEntry, Mode
from src.services.language import LanguagePolicy, LanguageSwitch

logger = get_logger(__name__)

SOURCES_TOPIC = "familiar.sources"
"""Text stream to the browser: `{"item": <id of the answer>, "sources": [{document, page, score}]}`."""
_RECALLED = 10
"""Messages of another tab that a reply may know."""


@dataclass
class _Heard:
    """The turn that the user is in the middle of."""

    words: list[str] = field(default_factory=list)
    language: str = ""


class Conversation:
    """The turns of one call, each written once and in order."""

    def __init__(
        self, call: Call, meta: AgentMeta, opened: ConversationContext, mode: Mode
    ) -> None:
        """`opened` is the session as memory knows it at the start of the call."""
        self.session_id = opened.session_id
        self.earlier = opened.messages
        """What was said in the session before this call, for the agent to go on from."""
        self.mode: Mode = mode
        self.language_switches: list[Mapping[str, Any]] = list(opened.language_switches)
        self._call = call
        self._meta = meta
        known = opened.language if opened.messages else opened.preferences.get("language")
        self._languages = LanguagePolicy(meta.all_languages, current=known)
        self._heard = _Heard()
        self._foresight = Foresight(call, self._foresee)
        self._order = asyncio.Lock()
        self._ids = {entry.id for entry in opened.messages}
        self._awaited: dict[str, str] = {}
        """Text to id of user turns that are written, and that LiveKit has not added yet."""
        self._writes: set[asyncio.Task[None]] = set()

    @property
    def language(self) -> str:
        """The language to speak."""
        return self._languages.current

    def heard(self, event: UserInputTranscribedEvent) -> None:
        """Words of the turn that is going on."""
        words = event.transcript.strip()
        if not words:
            return
        said = " ".join([*self._heard.words, words])
        if event.is_final:
            self._heard.words.append(words)
            self._heard.language = str(event.language or "") or self._heard.language
        self._foresight.heard(said, is_final=event.is_final)

    def _foresee(self, said: str) -> None:
        """Mask what the turn seems to be, and look up what it asks for, before anybody waits for it."""
        self._call.services.thinking.memory.prepare(
            self.session_id, said, language=self._heard.language or self.language
        )
        if (mind := self._mind()) is not None:
            mind.expect(said)

    async def spoken(self, message: llm.ChatMessage) -> LanguageSwitch | None:
        """A spoken turn is over: written before its reply starts. The switch it asks for, if any."""
        detected, self._heard = self._heard.language, _Heard()
        text = message.text_content or ""
        several = len(self._meta.all_languages) > 1
        switch = self._languages.observe(text, detected=detected if several and detected else None)
        await self._user_said(message, mode="voice", detected=detected, switch=switch)
        return switch

    async def typed(self, message: llm.ChatMessage) -> None:
        """A typed message: written before its reply starts."""
        text = message.text_content or ""
        found = None
        if len(self._meta.all_languages) > 1:
            found = self._call.services.thinking.identifier.identify(text, self._meta.all_languages)
        detected, confidence = found or ("", 0.0)
        switch = self._languages.observe(text, detected=detected or None, confidence=confidence)
        await self._user_said(message, mode="text", detected=detected, switch=switch)

    def added(self, item: object) -> None:
        """LiveKit added an item to the conversation; what is not written yet is written now."""
        if not isinstance(item, llm.ChatMessage) or item.id in self._ids:
            return
        if item.role == "user":
            # The message of a preempted reply has another id than the one that was written.
            if self._awaited.pop(item.text_content or "", None) is None:
                self._spawn(self._user_said(item, mode=self.mode, detected="", switch=None))
        elif item.role == "assistant":
            self._spawn(self._assistant_said(item, self._recall_of(item)))

    async def mode_switched(self, mode: Mode) -> None:
        """The conversation goes on in another mode."""
        before, self.mode = self.mode, mode
        await self._call.services.thinking.memory.handle_mode_switch(
            self.session_id, from_mode=before, to_mode=mode
        )

    async def choose_language(self, language: str) -> bool:
        """The user set a language by hand; False if the agent does not speak it."""
        if self._languages.resolve(language) is None:
            return False
        await self._switch(self._languages.set(language))
        return True

    async def ask_language(self, language: str) -> bool:
        """The user asked for a language, as the model understood it; False as above."""
        if self._languages.resolve(language) is None:
            return False
        await self._switch(self._languages.request(language))
        return True

    def handed_to(self, meta: AgentMeta) -> None:
        """Another agent goes on, with its voice, and in the same language if it speaks it."""
        self._meta = meta
        self._languages = LanguagePolicy(meta.all_languages, current=self._call.language)
        self._call.language = self._languages.current
        self._call.services.speech.change_voice(meta.voice_for(self._call.language))

    async def said_elsewhere(self) -> Sequence[MemoryEntry]:
        """The newest messages of this session that another tab or process wrote."""
        if self._call.direction is not CallDirection.WEB:
            return ()
        memory = self._call.services.thinking.memory
        entries = await memory.get_history(self.session_id, max_messages=_RECALLED)
        return [entry for entry in entries if entry.id not in self._ids]

    async def close(self) -> tuple[Turn, ...]:
        """Write what is left; the turns of this call as far as they may be kept, masked where asked for.

        Runs once, when the session has closed.
        """
        if self._writes:
            await asyncio.wait(self._writes)
        entries = await self._call.services.thinking.memory.end_session(
            self.session_id, deadline_s=self._call.services.policy.memory_flush_s
        )
        return tuple(_turn(entry) for entry in entries)

    async def _user_said(
        self, message: llm.ChatMessage, *, mode: Mode, detected: str, switch: LanguageSwitch | None
    ) -> None:
        text = (message.text_content or "").strip()
        if not text:
            return
        self._ids.add(message.id)
        self._awaited = {text: message.id}
        await self._write(
            MemoryEntry(
                role="user",
                content=text,
                mode=mode,
                language=self._call.language,
                detected_language=detected,
                language_switched=switch is not None,
                stages_ms=stages_ms(message),
                id=message.id,
                timestamp=datetime.fromtimestamp(message.created_at, tz=UTC),
            )
        )
        await self._switch(switch)

    async def _assistant_said(self, message: llm.ChatMessage, recall: Recall) -> None:
        text = (message.text_content or "").strip()
        if not text:
            return
        stages = stages_ms(message) | ({"rag": round(recall.took_ms, 1)} if recall.took_ms else {})
        sources = tuple(passage.source for passage in recall.passages)
        await self._write(
            MemoryEntry(
                role="assistant",
                content=text,
                mode=self.mode,
                language=self._call.language,
                retrieved_passages=tuple(passage.text for passage in recall.passages),
                sources=sources,
                latency_ms=reply_ms(stages),
                stages_ms=stages,
                degradations=recall.degradations,
                interrupted=message.interrupted,
                id=message.id,
                timestamp=datetime.fromtimestamp(message.created_at, tz=UTC),
            )
        )
        if sources and self._call.direction is CallDirection.WEB:
            await self._show(message.id, sources)

    async def _write(self, entry: MemoryEntry) -> None:
        self._ids.add(entry.id)
        async with self._order:
            written = await self._call.services.thinking.memory.add_entry(self.session_id, entry)
        self._call.degrade(*written.degradations)

    async def _switch(self, switch: LanguageSwitch | None) -> None:
        if switch is None:
            return
        call = self._call
        call.language = switch.to_language
        call.services.speech.change_voice(self._meta.voice_for(switch.to_language))
        fields = asdict(switch)
        self.language_switches.append(fields)
        logger.info("language switched", extra=fields)
        await call.services.thinking.memory.track_language_switch(
            self.session_id, switch.from_language, switch.to_language, switch.trigger
        )

    def _recall_of(self, answer: llm.ChatMessage) -> Recall:
        """What the question before an answer was answered with."""
        agent, mind = self._agent(), self._mind()
        if agent is None or mind is None:
            return Recall()
        question = None
        for item in agent.chat_ctx.items:
            if item.id == answer.id:
                break
            if isinstance(item, llm.ChatMessage) and item.role == "user":
                question = item.id
        return mind.recalled_for(question) if question else Recall()

    def _mind(self) -> Thinker | None:
        agent = self._agent()
        return agent.mind if agent is not None and isinstance(agent.mind, Thinker) else None

    def _agent(self) -> VoiceAssistant | None:
        agent = self._call.session.current_agent if self._call.session else None
        return agent if isinstance(agent, VoiceAssistant) else None

    async def _show(self, item_id: str, sources: Sequence[Mapping[str, Any]]) -> None:
        identity = self._call.identity
        if identity is None or not self._call.ctx.room.isconnected():
            return
        await self._call.ctx.room.local_participant.send_text(
            json.dumps({"item": item_id, "sources": list(sources)}),
            topic=SOURCES_TOPIC,
            destination_identities=[identity],
        )

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._call.background.spawn(work, name="remember")
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)


def _turn(entry: MemoryEntry) -> Turn:
    return Turn(
        role="assistant" if entry.role == "assistant" else "user",
        text=entry.content,
        at=entry.timestamp or datetime.fromtimestamp(0, tz=UTC),
        interrupted=entry.interrupted,
    )
