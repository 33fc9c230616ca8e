"""The end of a call: what was said is stored, whatever ended it."""

from __future__ import annotations

from contextlib import suppress

from src.handlers.call import Call
from src.logs import get_logger
from src.schemas.contact import CallEnd, Turn
from src.schemas.errors import MemoryStoreError

logger = get_logger(__name__)


async def _transcript(call: Call) -> tuple[Turn, ...]:
    """What may be kept of the call, masked as the person's settings ask for."""
    if call.conversation is None:
        return ()
    return await call.conversation.close()


async def finish_call(call: Call) -> None:
    """Store the call; runs once, when the session has closed and its last transcript is in."""
    transcript = await _transcript(call)
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
        transcript=transcript,
        receipt=receipt,
        handoff_receipts=tuple(call.handoff_receipts),
        degradations=tuple(call.degradations),
        language=call.language,
    )
    if await call.services.closer.close(call.contact, end):
        await call.services.closer.replay()
    with suppress(MemoryStoreError):  # logged; a later call or the jobs process tries again
        await call.services.thinking.memory.replay()
    logger.info(
        "call ended",
        extra={
            "contact_uid": call.contact.contact_uid,
            "status": call.status.value,
            "turns": len(end.transcript),
        },
    )
