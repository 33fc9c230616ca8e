"""What was said in calls, on their contact documents: found when it is to be looked at, and emptied.

`retentionCheckAt` is set together with the transcript, and goes with it: the documents that have it are
those that hold words.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from pymongo import UpdateMany
from typing_extensions import override

from src.adapters.contact_documents import Document, call_moment, moment
from src.adapters.mongo import Mongo, store_errors
from src.schemas.analysis import AnalysisStatus
from src.services.contact_fields import RETENTION_CHECK, text
from src.services.identity import memory_user_id
from src.services.phone_numbers import caller_number
from src.services.retention_ports import SpokenCall, SpokenCalls

_READ = (
    *("userId", "ownerId", "phone", "originalPhone", RETENTION_CHECK),
    *("callEndedAt", "callStartedAt", "createdAt", "analysisStatus"),
)
GONE = (RETENTION_CHECK, "analysis.openItems", "analysis.fields")
"""Removed together with the transcript; what else an analysis holds tells how the call went."""
_HELD: Document = {RETENTION_CHECK: {"$ne": None}}


class MongoCallWords(SpokenCalls):
    """Each write has its condition, so that it does nothing to a record that was erased meanwhile."""

    def __init__(self, mongo: Mongo) -> None:
        self._contacts = mongo.contacts

    @override
    async def to_check(self, *, now: datetime, limit: int) -> Sequence[SpokenCall]:
        condition = {RETENTION_CHECK: {"$lt": now}}
        with store_errors():
            found = self._contacts.find(condition, dict.fromkeys(_READ, 1))
            documents = await found.sort(RETENTION_CHECK, 1).limit(limit).to_list(limit)
        return [spoken_call(one["_id"], one) for one in documents]

    @override
    async def check_again(self, moments: Mapping[SpokenCall, datetime]) -> None:
        keys: dict[datetime, list[Any]] = {}
        for call, at in moments.items():
            keys.setdefault(at, []).append(call.key)
        writes = [
            UpdateMany({"_id": {"$in": some}, **_HELD}, {"$set": {RETENTION_CHECK: at}})
            for at, some in keys.items()
        ]
        if writes:
            with store_errors():
                await self._contacts.bulk_write(writes, ordered=False)

    @override
    async def empty(self, calls: Collection[SpokenCall]) -> int:
        condition = {
            "_id": {"$in": [call.key for call in calls]},
            **_HELD,
            "analysisStatus": {"$ne": AnalysisStatus.PENDING.value},
        }
        update = {"$set": {"transcript": []}, "$unset": dict.fromkeys(GONE, "")}
        with store_errors():
            result = await self._contacts.update_many(condition, update)
        return result.modified_count


def spoken_call(key: object, document: Mapping[str, Any]) -> SpokenCall:
    """The record as its retention is decided; one that has no date is as old as its first look."""
    said_at = moment(document.get("callEndedAt")) or call_moment(document)
    return SpokenCall(
        key=key,
        user_id=text(document.get("userId")) or _caller(document),
        said_at=said_at or document[RETENTION_CHECK],
        analysis_pending=document.get("analysisStatus") == AnalysisStatus.PENDING,
    )


def _caller(document: Mapping[str, Any]) -> str:
    """Whom an older record is about that has nothing but the number."""
    phone, original = text(document.get("phone")), text(document.get("originalPhone"))
    number, owner = caller_number(phone, original, region=None), text(document.get("ownerId"))
    return memory_user_id(owner, e164=number.e164) if owner and number.e164 else ""
