"""Where LiveKit's session events stop: they become notes on the call."""

from __future__ import annotations

from collections.abc import Mapping

from livekit.agents import (
    AgentSession,
    CloseEvent,
    CloseReason,
    ConversationItemAddedEvent,
    ErrorEvent,
    llm,
)

from src.handlers.call import Call
from src.logs import get_logger
from src.schemas.contact import ContactStatus

logger = get_logger(__name__)

_LATENCIES: Mapping[str, str] = {
    "transcription_delay": "transcript",
    "end_of_turn_delay": "end_of_turn",
    "llm_node_ttft": "llm",
    "tts_node_ttfb": "tts",
    "playback_latency": "playback",
    "e2e_latency": "reply",
}
"""LiveKit's name of a turn's latency, and ours."""


def observe(call: Call, session: AgentSession) -> None:
    """Follow `session` until it closes; its close ends the call."""

    def closed(event: CloseEvent) -> None:
        if event.reason is CloseReason.ERROR:
            call.degrade("session_failed")
            call.status = ContactStatus.FAILED
        call.end(event.reason.value)

    def failed(event: ErrorEvent) -> None:
        recoverable = getattr(event.error, "recoverable", False)
        kind = getattr(event.error, "type", "error")
        if not recoverable:
            call.degrade(kind)
        logger.warning("provider failed", extra={"kind": kind, "recoverable": recoverable})

    def added(event: ConversationItemAddedEvent) -> None:
        if isinstance(event.item, llm.ChatMessage):
            latency = _latency_ms(event.item)
            if latency:
                logger.info("turn latency", extra={"role": event.item.role, "latency_ms": latency})

    session.on("close", closed)
    session.on("conversation_item_added", added)
    session.on("error", failed)


def _latency_ms(message: llm.ChatMessage) -> dict[str, int]:
    found = {ours: message.metrics.get(theirs) for theirs, ours in _LATENCIES.items()}
    return {
        name: round(value * 1000) for name, value in found.items() if isinstance(value, int | float)
    }
