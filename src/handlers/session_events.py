"""Where LiveKit's session events stop: they become notes on the call."""

from __future__ import annotations

from livekit.agents import AgentSession, CloseEvent, CloseReason, ErrorEvent

from src.handlers.call import Call
from src.logs import get_logger
from src.schemas.contact import ContactStatus

logger = get_logger(__name__)


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

    session.on("close", closed)
    session.on("error", failed)
