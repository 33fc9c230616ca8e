"""What follows calls, over call records in memory; a queue that only notes; rooms that are told."""

from collections.abc import Collection, Sequence
from datetime import datetime

from typing_extensions import override

from src.adapters.contact_documents import Document, moment
from src.adapters.mongo_follow_ups import finished_fields, pending_analysis
from src.adapters.mongo_open_calls import OPEN_STATUSES, is_open, open_call
from src.schemas.analysis import AnalysisStatus
from src.schemas.events import Event, EventType
from src.schemas.follow_up import FinishedAnalysis, FollowUp, OpenCall, PendingAnalysis
from src.services.call_events import OUTBOX, TOLD, outbox_entry, waiting_events
from src.services.follow_up_ports import FollowUpQueue, FollowUps, OpenCalls, Rooms
from tests.fakes.contacts import InMemoryContacts
from tests.fakes.faults import Faults


class InMemoryFollowUps(FollowUps):
    """Shares the documents and the faults of `contacts`."""

    def __init__(self, contacts: InMemoryContacts) -> None:
        self._contacts = contacts

    @override
    async def begin_analysis(self, contact_uid: str) -> PendingAnalysis | None:
        await self._contacts.faults.check()
        document = self._pending(contact_uid)
        if document is None:
            return None
        document["analysisAttempts"] = document.get("analysisAttempts", 0) + 1
        return pending_analysis(document)

    @override
    async def finish_analysis(self, contact_uid: str, finished: FinishedAnalysis) -> bool:
        await self._contacts.faults.check()
        document = self._pending(contact_uid)
        if document is None:
            return False
        document.update(finished_fields(finished, document))
        for name in ("analysisAttempts", "analysisError"):
            document.pop(name, None)
        kind = EventType.CALL_ANALYZED
        document.setdefault(OUTBOX, []).append(outbox_entry(contact_uid, kind, finished.at))
        document.setdefault(TOLD, []).append(kind.value)
        return True

    @override
    async def note_failure(self, contact_uid: str, reason: str) -> None:
        await self._contacts.faults.check()
        document = self._pending(contact_uid)
        if document is not None:
            document["analysisError"] = reason

    @override
    async def waiting_events(self, contact_uid: str) -> Sequence[Event]:
        await self._contacts.faults.check()
        document = self._find(contact_uid)
        return [] if document is None else waiting_events(document)

    @override
    async def told(self, contact_uid: str, event_ids: Collection[str]) -> None:
        await self._contacts.faults.check()
        document = self._find(contact_uid)
        if document is not None and OUTBOX in document:
            document[OUTBOX] = [one for one in document[OUTBOX] if one["id"] not in event_ids]

    @override
    async def overdue(self, wanted: FollowUp, *, before: datetime, limit: int) -> Sequence[str]:
        await self._contacts.faults.check()
        since = _analysis_since if wanted is FollowUp.ANALYSE else _outbox_since
        found = [(at, one["contactUID"]) for one in self._contacts.documents if (at := since(one))]
        return [uid for at, uid in sorted(found) if at <= before][:limit]

    def _find(self, contact_uid: str) -> Document | None:
        found = (d for d in self._contacts.documents if d.get("contactUID") == contact_uid)
        return next(found, None)

    def _pending(self, contact_uid: str) -> Document | None:
        document = self._find(contact_uid)
        waits = document is not None and document.get("analysisStatus") == AnalysisStatus.PENDING
        return document if waits else None


class InMemoryOpenCalls(OpenCalls):
    """Shares the documents and the faults of `contacts`."""

    def __init__(self, contacts: InMemoryContacts) -> None:
        self._contacts = contacts

    @override
    async def started(self, *, before: datetime, limit: int) -> Sequence[OpenCall]:
        await self._contacts.faults.check()
        calls = [
            open_call(one)
            for one in self._contacts.documents
            if one.get("status") in OPEN_STATUSES and is_open(one)
        ]
        found = [one for one in calls if one and one.contact.call_started_at <= before]
        return sorted(found, key=lambda one: one.contact.call_started_at)[:limit]

    @override
    async def note_unserved(self, contact_uid: str, at: datetime) -> None:
        await self._contacts.faults.check()
        document = self._contacts.document(contact_uid)
        document["unservedSince"] = document.get("unservedSince") or at

    @override
    async def note_served(self, contact_uid: str) -> None:
        await self._contacts.faults.check()
        self._contacts.document(contact_uid).pop("unservedSince", None)

    @override
    async def next_start(self, session_id: str, after: datetime) -> datetime | None:
        await self._contacts.faults.check()
        documents = self._contacts.documents
        starts = [d["callStartedAt"] for d in documents if d.get("sessionId") == session_id]
        return min((at for at in starts if at > after), default=None)


class FakeFollowUpQueue(FollowUpQueue):
    """Jobs gather in `jobs`, in order."""

    def __init__(self) -> None:
        self.jobs: list[tuple[FollowUp, str]] = []
        self.faults = Faults()

    @override
    async def enqueue(self, contact_uid: str, *wanted: FollowUp) -> None:
        await self.faults.check()
        self.jobs += [(one, contact_uid) for one in wanted]

    @override
    async def enqueue_missing(self, wanted: FollowUp, contact_uids: Sequence[str]) -> int:
        await self.faults.check()
        missing = [uid for uid in contact_uids if (wanted, uid) not in self.jobs]
        self.jobs += [(wanted, uid) for uid in missing]
        return len(missing)


class FakeRooms(Rooms):
    """An agent is in each room of `with_agent`."""

    def __init__(self, *with_agent: str) -> None:
        self.with_agent = set(with_agent)
        self.closed: list[str] = []
        self.faults = Faults()

    @override
    async def served(self, rooms: Collection[str]) -> frozenset[str]:
        await self.faults.check()
        return frozenset(rooms) & self.with_agent

    @override
    async def close(self, room: str) -> None:
        await self.faults.check()
        self.closed.append(room)


def _analysis_since(document: Document) -> datetime | None:
    waits = document.get("analysisStatus") == AnalysisStatus.PENDING
    return moment(document.get("callEndedAt")) if waits else None


def _outbox_since(document: Document) -> datetime | None:
    return min((one["at"] for one in document.get(OUTBOX, [])), default=None)
