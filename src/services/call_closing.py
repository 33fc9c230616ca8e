"""Stores a finished call, whatever the store does meanwhile."""

from __future__ import annotations

import asyncio

from src.logs import get_logger
from src.schemas.calls import CallPolicy
from src.schemas.contact import CallEnd, NewContact
from src.schemas.errors import ContactStoreError
from src.services.ports import CallJournal, CallRecords, Clock
from src.services.transcript_privacy import OwnerPrivacy

logger = get_logger(__name__)

_FIRST_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 8.0


class CallCloser:
    """Writes the end of a call; what cannot be written goes to the journal and is replayed later."""

    def __init__(
        self,
        *,
        records: CallRecords,
        journal: CallJournal,
        clock: Clock,
        policy: CallPolicy,
        privacy: OwnerPrivacy | None = None,
    ) -> None:
        """`privacy` masks what owners want masked; None leaves the words as they come."""
        self._records = records
        self._journal = journal
        self._clock = clock
        self._policy = policy
        self._privacy = privacy

    async def close(self, contact: NewContact, end: CallEnd) -> bool:
        """Whether the store has it; False means that the journal does.

        What the owner wants masked is masked before anything is written. The journal is written
        first: a process that is killed while the store is away loses nothing.
        """
        if self._privacy is not None:
            kept = await self._privacy.kept(contact.owner_id, end.transcript, language=end.language)
            end = end.model_copy(update={"transcript": kept})
        await self._journal.write(contact, end)
        stop_at = self._clock.monotonic() + self._policy.record_budget_s
        pause_s = _FIRST_PAUSE_S
        while not await self._try(contact, end):
            if self._clock.monotonic() + pause_s > stop_at:
                logger.error(
                    "call record left in the journal", extra={"contact_uid": contact.contact_uid}
                )
                return False
            await self._clock.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        return True

    async def replay(self) -> int:
        """Store what earlier processes left in the journal; the number of calls stored."""
        stored = 0
        for contact, end in await self._journal.pending():
            if not await self._try(contact, end):
                break  # the store is still away; the rest waits for the next replay
            stored += 1
        return stored

    async def _try(self, contact: NewContact, end: CallEnd) -> bool:
        try:
            async with asyncio.timeout(self._policy.record_write_s):
                await self._records.close(contact, end)
        except (TimeoutError, ContactStoreError):
            return False
        await self._journal.remove(contact.contact_uid)
        return True
