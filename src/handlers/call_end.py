"""The end of a call: what was said is stored, whatever ended it."""

from __future__ import annotations

from datetime import UTC, datetime

from livekit.agents import AgentSession, llm

from src.handlers.call import Call
from src.logs import get_logger
from src.schemas.contact import CallEnd, Turn

logger = get_logger(__name__)


def transcript_of(session: AgentSession | None) -> tuple[Turn, ...]:
    """The turns of a session as they were heard, oldest first."""
    items = session.history.items if session is not None else []
    return tuple(turn for item in items if (turn := _turn(item)) is not None)


def _turn(item: llm.ChatItem) -> Turn | None:
    if not isinstance(item, llm.ChatMessage) or item.role not in ("user", "assistant"):
        return None
    text = (item.text_content or "").strip()
    if not text:
        return None
    return Turn(
        role="user" if item.role == "user" else "assistant",
        text=text,
        at=datetime.fromtimestamp(item.created_at, tz=UTC),
        interrupted=item.interrupted,
    )


async def finish_call(call: Call) -> None:
    """Store the call; runs once, when the session has closed and its last transcript is in."""
    await call.background.aclose()
    if call.ours:
        # The other side may still be there, and would hear silence from a room without an agent.
        await call.telephony.hang_up(call.room)
    if call.contact is None:
        return
    receipt = call.recollection.receipt if call.recollection else None
    end = CallEnd(
        status=call.status,
        ended_at=call.services.sources.clock.now(),
        transcript=transcript_of(call.session),
        receipt=receipt,
        handoff_receipts=tuple(call.handoff_receipts),
        degradations=tuple(call.degradations),
        language=call.language,
    )
    if await call.services.closer.close(call.contact, end):
        await call.services.closer.replay()
    logger.info(
        "call ended",
        extra={
            "contact_uid": call.contact.contact_uid,
            "status": call.status.value,
            "turns": len(end.transcript),
        },
    )
