"""What the work that follows calls needs from the outside world."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from src.schemas.events import Event
from src.schemas.follow_up import FinishedAnalysis, FollowUp, OpenCall, PendingAnalysis


class FollowUpQueue(Protocol):
    """The queue of jobs. Every method raises `MemoryStoreError` when its store fails."""

    async def enqueue(self, contact_uid: str, *wanted: FollowUp) -> None:
        """Have these jobs done; one that is done twice does no harm."""

    async def enqueue_missing(self, wanted: FollowUp, contact_uids: Sequence[str]) -> int:
        """Have the job done for those of the calls that have none in the queue; their number."""


class FollowUps(Protocol):
    """What is still to be done about calls. Every method raises `ContactStoreError` on failure."""

    async def begin_analysis(self, contact_uid: str) -> PendingAnalysis | None:
        """Count a try and return what is to be analysed; None if nothing waits for an analysis."""

    async def finish_analysis(self, contact_uid: str, finished: FinishedAnalysis) -> bool:
        """Store the end of an analysis together with the event that tells of it.

        False, and nothing is stored, if the call does not wait for an analysis any more: the first
        end wins, and what was deleted meanwhile does not come back. An error is stored with the
        reason that was noted last.
        """

    async def note_failure(self, contact_uid: str, reason: str) -> None:
        """Remember why the last try failed, for the day when no other is made."""

    async def waiting_events(self, contact_uid: str) -> Sequence[Event]:
        """What is to be told of the call, oldest first."""

    async def told(self, contact_uid: str, event_ids: Collection[str]) -> None:
        """Forget these events; others that came meanwhile stay."""

    async def overdue(self, wanted: FollowUp, *, before: datetime, limit: int) -> Sequence[str]:
        """Calls (contactUID) for which the job is due since `before`, the longest waiting first."""


class OpenCalls(Protocol):
    """Calls whose records are not closed. Every method raises `ContactStoreError` on failure."""

    async def started(self, *, before: datetime, limit: int) -> Sequence[OpenCall]:
        """Those of our worker's calls that started `before`, oldest first."""

    async def note_unserved(self, contact_uid: str, at: datetime) -> None:
        """Remember since when nobody serves the call; what is remembered already stays."""

    async def note_served(self, contact_uid: str) -> None:
        """Forget that nobody served the call."""

    async def next_start(self, session_id: str, after: datetime) -> datetime | None:
        """When the next call of the same conversation started; None if there is none."""


class Rooms(Protocol):
    """Looks after the media server's rooms."""

    async def served(self, rooms: Collection[str]) -> frozenset[str]:
        """Those of the rooms in which an agent is.

        Raises:
            MediaServerError: it did not answer, so that nothing is known.
        """

    async def close(self, room: str) -> None:
        """Send away whoever is left in a room; it may be gone already.

        Raises:
            MediaServerError: the room may still be open.
        """
