"""Closes the records of calls whose worker died."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from src.logs import get_logger
from src.schemas.contact import CallEnd, ContactStatus, Turn
from src.schemas.errors import MediaServerError, MemoryStoreError
from src.schemas.follow_up import OpenCall
from src.schemas.memory import MemoryEntry
from src.services.follow_up_ports import OpenCalls, Rooms
from src.services.memory_ports import ConversationArchive
from src.services.ports import CallRecords, Clock
from src.services.transcript_privacy import OwnerPrivacy

logger = get_logger(__name__)

WORKER_LOST = "worker_lost"


@dataclass(frozen=True, kw_only=True)
class LostCallPolicy:
    """When a call is taken for lost."""

    begins: timedelta = timedelta(seconds=60)
    """From the start of a call until an agent must be in its room."""
    confirm: timedelta = timedelta(seconds=50)
    """Between two looks that found no agent: another may be on its way, and a call that ends writes
    what memory has (20 s) before it closes its record."""
    without_room: timedelta = timedelta(hours=6)
    """Longer than any call lasts; for records whose room was erased, so that nobody can look."""
    batch: int = 5_000


class LostCalls:
    """Looks for calls that nobody serves, and ends them as their worker would have.

    The first close of a record wins: a worker that is alive after all, or a journal that is replayed,
    loses nothing but its own words for the same end.
    """

    def __init__(  # noqa: PLR0913 - one thing each that the end of a call is made of
        self,
        *,
        calls: OpenCalls,
        records: CallRecords,
        archive: ConversationArchive,
        rooms: Rooms,
        privacy: OwnerPrivacy,
        clock: Clock,
        policy: LostCallPolicy | None = None,
    ) -> None:
        self._calls = calls
        self._records = records
        self._archive = archive
        self._rooms = rooms
        self._privacy = privacy
        self._clock = clock
        self._policy = policy or LostCallPolicy()

    async def close_lost(self) -> int:
        """Close what was lost; the number of calls.

        Raises:
            ContactStoreError: the store failed.
        """
        now = self._clock.now()
        calls = await self._calls.started(
            before=now - self._policy.begins, limit=self._policy.batch
        )
        try:
            served = await self._rooms.served(
                {one.contact.room for one in calls if one.contact.room}
            )
        except MediaServerError:
            logger.warning("media server does not say which calls are served")
            return 0
        return sum([await self._looked_at(call, served, now) for call in calls])

    async def _looked_at(self, call: OpenCall, served: frozenset[str], now: datetime) -> bool:
        uid, policy = call.contact.contact_uid, self._policy
        if call.contact.room is None:
            if call.contact.call_started_at > now - policy.without_room:
                return False
        elif call.contact.room in served:
            if call.unserved_since is not None:
                await self._calls.note_served(uid)
            return False
        elif call.unserved_since is None:
            await self._calls.note_unserved(uid, now)
            return False
        elif call.unserved_since > now - policy.confirm:
            return False
        return await self._close(call, call.unserved_since or now)

    async def _close(self, call: OpenCall, seen: datetime) -> bool:
        contact = call.contact
        try:
            turns = await self._said(call)
        except MemoryStoreError:
            logger.warning(
                "lost call waits for its words", extra={"contact_uid": contact.contact_uid}
            )
            return False
        language = turns[-1].language if turns else "en"
        transcript = await self._privacy.kept(
            contact.owner_id, [_turn(one, seen) for one in turns], language=language
        )
        end = CallEnd(
            status=_status(call, transcript),
            ended_at=max(transcript[-1].at if transcript else seen, contact.call_started_at),
            transcript=transcript,
            degradations=(WORKER_LOST,),
            language=language,
        )
        await self._records.close(contact, end)
        logger.warning(
            "call closed for a worker that died",
            extra={"contact_uid": contact.contact_uid, "status": end.status.value},
        )
        if contact.room is not None:
            await self._send_away(contact.room)
        return True

    async def _send_away(self, room: str) -> None:
        """Whoever is still there hears nobody."""
        try:
            await self._rooms.close(room)
        except MediaServerError:
            logger.info("the room of a lost call was not closed")

    async def _said(self, call: OpenCall) -> Sequence[MemoryEntry]:
        """What the record of the conversation has of this call."""
        contact = call.contact
        if call.erased or contact.session_id is None:
            return ()
        entries = await self._archive.load_conversation(contact.session_id)
        until = await self._calls.next_start(contact.session_id, contact.call_started_at)
        return [
            one
            for one in entries
            if one.role != "system"
            and one.timestamp is not None
            and one.timestamp >= contact.call_started_at
            and (until is None or one.timestamp < until)
        ]


def _status(call: OpenCall, transcript: Sequence[Turn]) -> ContactStatus:
    if call.status is ContactStatus.IN_PROGRESS or transcript:
        return ContactStatus.COMPLETED
    return ContactStatus.ABANDONED if call.hangup_requested else ContactStatus.FAILED


def _turn(entry: MemoryEntry, seen: datetime) -> Turn:
    return Turn(
        role="user" if entry.role == "user" else "assistant",
        text=entry.content,
        at=entry.timestamp or seen,
        interrupted=entry.interrupted,
    )
