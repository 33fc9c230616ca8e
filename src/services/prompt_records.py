"""Call records whose follow-up begins at once."""

from __future__ import annotations

import asyncio

from typing_extensions import override

from src.logs import get_logger
from src.schemas.contact import CallEnd, ContactStatus, NewContact
from src.schemas.errors import MemoryStoreError
from src.schemas.follow_up import FollowUp
from src.services.background import Background
from src.services.follow_up_ports import FollowUpQueue
from src.services.ports import CallRecords
from src.services.transcript_text import is_conversation

logger = get_logger(__name__)

KICK_S = 1.0
"""What putting a job into the queue may take."""
_LAST_KICK_S = 0.5
"""How long a close waits for that: after it the process may end."""


class PromptCallRecords(CallRecords):
    """Puts the jobs that a write has made due into the queue, after the write and beside it.

    Nothing depends on that: a sweep finds what was left behind.
    """

    def __init__(self, *, records: CallRecords, queue: FollowUpQueue) -> None:
        self._records = records
        self._queue = queue
        self._background = Background()

    @override
    async def open(self, contact: NewContact) -> None:
        await self._records.open(contact)
        _ = self._kick(contact.contact_uid, FollowUp.RELAY)

    @override
    async def mark(self, contact_uid: str, status: ContactStatus) -> None:
        await self._records.mark(contact_uid, status)
        _ = self._kick(contact_uid, FollowUp.RELAY)

    @override
    async def withdrawn(self, contact_uid: str) -> bool:
        return await self._records.withdrawn(contact_uid)

    @override
    async def close(self, contact: NewContact, end: CallEnd) -> None:
        await self._records.close(contact, end)
        due = [FollowUp.RELAY]
        if is_conversation(end.transcript):
            due.append(FollowUp.ANALYSE)
        await asyncio.wait([self._kick(contact.contact_uid, *due)], timeout=_LAST_KICK_S)

    async def aclose(self) -> None:
        """Let go of the kicks that are under way."""
        await self._background.aclose()

    def _kick(self, contact_uid: str, *due: FollowUp) -> asyncio.Task[None]:
        return self._background.spawn(self._enqueue(contact_uid, due), name="kick")

    async def _enqueue(self, contact_uid: str, due: tuple[FollowUp, ...]) -> None:
        try:
            async with asyncio.timeout(KICK_S):
                await self._queue.enqueue(contact_uid, *due)
        except (TimeoutError, MemoryStoreError):
            logger.info("call is followed up later", extra={"contact_uid": contact_uid})
