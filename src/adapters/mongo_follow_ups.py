"""What is still to be done about calls, kept on the contact documents themselves.

A call waits for its analysis while `analysisStatus` is `pending`, and for its events to be told while
its `outbox` holds any. Because the writes that end a call set these together with what they are about,
no transcript is ever without its place in the queue.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from typing_extensions import override

from src.adapters.contact_documents import Document, contact_uid, transcript
from src.adapters.mongo import Mongo, store_errors
from src.schemas.analysis import AnalysisStatus
from src.schemas.events import Event, EventType
from src.schemas.follow_up import FinishedAnalysis, FollowUp, PendingAnalysis
from src.services.call_events import EVENT_FIELDS, OUTBOX, TOLD, outbox_entry, waiting_events
from src.services.contact_fields import text
from src.services.follow_up_ports import FollowUps

_PENDING: Document = {"analysisStatus": AnalysisStatus.PENDING.value}
_ANALYSIS_FIELDS = (
    *("contactUID", "ownerId", "AgentID", "transcript", "language"),
    *("analysisStatus", "analysisAttempts"),
)

_TRIES = ("analysisAttempts", "analysisError")


class MongoFollowUps(FollowUps):
    """Each write is one update of one document, with its condition."""

    def __init__(self, mongo: Mongo) -> None:
        self._contacts = mongo.contacts

    @override
    async def begin_analysis(self, contact_uid: str) -> PendingAnalysis | None:
        with store_errors():
            await self._contacts.update_one(
                {"contactUID": contact_uid, **_PENDING}, {"$inc": {"analysisAttempts": 1}}
            )
            document = await self._contacts.find_one(
                {"contactUID": contact_uid}, dict.fromkeys(_ANALYSIS_FIELDS, 1)
            )
        waits = document is not None and document.get("analysisStatus") == AnalysisStatus.PENDING
        return pending_analysis(document) if document is not None and waits else None

    @override
    async def finish_analysis(self, contact_uid: str, finished: FinishedAnalysis) -> bool:
        with store_errors():
            tries = await self._contacts.find_one(
                {"contactUID": contact_uid}, dict.fromkeys(_TRIES, 1)
            )
            result = await self._contacts.update_one(
                {"contactUID": contact_uid, **_PENDING},
                {
                    "$set": finished_fields(finished, tries or {}),
                    "$unset": dict.fromkeys(_TRIES, ""),
                    "$push": {OUTBOX: outbox_entry(contact_uid, _ANALYZED, finished.at)},
                    "$addToSet": {TOLD: _ANALYZED.value},
                },
            )
        return bool(result.modified_count)

    @override
    async def note_failure(self, contact_uid: str, reason: str) -> None:
        with store_errors():
            await self._contacts.update_one(
                {"contactUID": contact_uid, **_PENDING}, {"$set": {"analysisError": reason}}
            )

    @override
    async def waiting_events(self, contact_uid: str) -> Sequence[Event]:
        with store_errors():
            document = await self._contacts.find_one(
                {"contactUID": contact_uid}, dict.fromkeys(EVENT_FIELDS, 1)
            )
        return [] if document is None else waiting_events(document)

    @override
    async def told(self, contact_uid: str, event_ids: Collection[str]) -> None:
        with store_errors():
            await self._contacts.update_one(
                {"contactUID": contact_uid},
                {"$pull": {OUTBOX: {"id": {"$in": sorted(event_ids)}}}},
            )

    @override
    async def overdue(self, wanted: FollowUp, *, before: datetime, limit: int) -> Sequence[str]:
        if wanted is FollowUp.ANALYSE:
            condition, since = {**_PENDING, "callEndedAt": {"$lte": before}}, "callEndedAt"
        else:
            condition, since = {f"{OUTBOX}.at": {"$lte": before}}, f"{OUTBOX}.at"
        with store_errors():
            found = self._contacts.find(condition, {"contactUID": 1}).sort(since, 1).limit(limit)
            return [contact_uid(one) for one in await found.to_list(limit)]


_ANALYZED = EventType.CALL_ANALYZED


def pending_analysis(document: Document) -> PendingAnalysis:
    """The call as its analysis needs it."""
    return PendingAnalysis(
        contact_uid=contact_uid(document),
        owner_id=text(document.get("ownerId")) or "",
        agent_id=text(document.get("AgentID")) or "",
        transcript=transcript(document),
        language=text(document.get("language")) or "en",
        attempts=int(document.get("analysisAttempts") or 0),
    )


def finished_fields(finished: FinishedAnalysis, tries: Document) -> Document:
    """What the end of an analysis sets, after the tries that the record tells of."""
    kept = finished.document(int(tries.get("analysisAttempts") or 0))
    if finished.error is not None and (reason := text(tries.get("analysisError"))):
        kept["error"] = f"{finished.error}; the last: {reason}"
    fields: Document = {"analysisStatus": finished.status.value, "analysis": kept}
    if finished.analysis is not None:
        fields["conversation_summary"] = finished.analysis.summary
        if finished.analysis.summary_en is not None:
            fields["conversation_summary_en"] = finished.analysis.summary_en
    return fields
