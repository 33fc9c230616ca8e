"""Where LiveKit's session events stop: they become notes on the call."""

from __future__ import annotations

import asyncio

from livekit.agents import (
    AgentSession,
    CloseEvent,
    CloseReason,
    ConversationItemAddedEvent,
    ErrorEvent,
    UserInputTranscribedEvent,
    llm,
)

from src.handlers.call import Call
from src.handlers.sorry import VOICE_FAILED, say_sorry
from src.handlers.turn_latency import stages_ms
from src.handlers.voice_assistant import VoiceAssistant
from src.logs import get_logger
from src.schemas.contact import ContactStatus

logger = get_logger(__name__)

_TRIES = 3


class SessionObserver:
    """Follows one session until it closes; its close ends the call."""

    def __init__(self, call: Call, session: AgentSession) -> None:
        self._call = call
        self._session = session
        self._regret: asyncio.Task[None] | None = None
        session.on("close", self._closed)
        session.on("error", self._failed)
        session.on("user_input_transcribed", self._heard)
        session.on("conversation_item_added", self._added)

    def _closed(self, event: CloseEvent) -> None:
        call = self._call
        if event.reason is not CloseReason.ERROR:
            call.end(event.reason.value)
            return
        call.degrade("session_failed")
        call.status = ContactStatus.FAILED
        give_up, call.give_up = call.give_up, None
        if give_up is None:
            call.end(event.reason.value)
        else:
            call.session = None
            _ = call.background.spawn(give_up(), name="give-up")

    def _failed(self, event: ErrorEvent) -> None:
        recoverable = getattr(event.error, "recoverable", False)
        kind = getattr(event.error, "type", "error")
        logger.warning("provider failed", extra={"kind": kind, "recoverable": recoverable})
        if recoverable:
            return
        self._call.degrade(kind)
        agent = self._session.current_agent
        regretting = self._regret is not None and not self._regret.done()
        if (
            kind in ("llm_error", VOICE_FAILED)
            and isinstance(agent, VoiceAssistant)
            and not regretting
        ):
            # Else the caller hears nothing at all in answer to what they said.
            self._regret = self._call.background.spawn(
                self._say_sorry(agent.meta.apology), name="apology"
            )

    async def _say_sorry(self, sentence: str) -> None:
        """Until some of it is heard: what fails ahead of the end of a turn is cut off by that end."""
        for _ in range(_TRIES):
            said = await say_sorry(self._call, self._session, sentence) if sentence else None
            if said is None:
                return
            await said.wait_for_playout()
            if said.chat_items:
                return

    def _heard(self, event: UserInputTranscribedEvent) -> None:
        if self._call.conversation is not None:
            self._call.conversation.heard(event)

    def _added(self, event: ConversationItemAddedEvent) -> None:
        if self._call.conversation is not None:
            self._call.conversation.added(event.item)
        if isinstance(event.item, llm.ChatMessage) and (latency := stages_ms(event.item)):
            logger.info("turn latency", extra={"role": event.item.role, "latency_ms": latency})
            mode = self._call.conversation.mode if self._call.conversation else "voice"
            self._call.services.metrics.turn(latency, mode)
