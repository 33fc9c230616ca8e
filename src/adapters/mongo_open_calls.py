"""Contact documents of calls that are not over, as far as their records know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from typing_extensions import override

from src.adapters.contact_documents import FINAL_STATUSES, Document, moment
from src.adapters.mongo import Mongo, store_errors
from src.schemas.contact import ContactStatus
from src.schemas.follow_up import OpenCall
from src.services.contact_fields import stored_contact
from src.services.follow_up_ports import OpenCalls

OPEN_STATUSES = sorted(frozenset(ContactStatus) - FINAL_STATUSES)
_UNREAD = ("transcript", "memoryReceipt", "handoffReceipts")


class MongoOpenCalls(OpenCalls):
    """Reads by status and start.

    Only a record with a room, or one whose room was erased, is of a call that we served.
    """

    def __init__(self, mongo: Mongo) -> None:
        self._contacts = mongo.contacts

    @override
    async def started(self, *, before: datetime, limit: int) -> Sequence[OpenCall]:
        calls: list[OpenCall] = []
        with store_errors():
            for status in OPEN_STATUSES:
                calls += await self._in(status, before, limit)
        return sorted(calls, key=lambda one: one.contact.call_started_at)[:limit]

    async def _in(self, status: ContactStatus, before: datetime, limit: int) -> list[OpenCall]:
        # No more conditions than the index has fields: SecantusDB would read the whole collection.
        condition = {"status": status.value, "callStartedAt": {"$lte": before}}
        found = self._contacts.find(condition, dict.fromkeys(_UNREAD, 0)).sort("callStartedAt", 1)
        calls: list[OpenCall] = []
        try:
            async for document in found:
                call = open_call(document) if is_open(document) else None
                calls += [call] if call is not None else []
                if len(calls) == limit:
                    break
        finally:
            await found.close()
        return calls

    @override
    async def note_unserved(self, contact_uid: str, at: datetime) -> None:
        await self._update({"contactUID": contact_uid, "unservedSince": None}, "$set", at)

    @override
    async def note_served(self, contact_uid: str) -> None:
        await self._update({"contactUID": contact_uid, "unservedSince": {"$ne": None}}, "$unset")

    @override
    async def next_start(self, session_id: str, after: datetime) -> datetime | None:
        with store_errors():
            found = self._contacts.find({"sessionId": session_id}, {"callStartedAt": 1})
            starts = [moment(one.get("callStartedAt")) async for one in found]
        return min((at for at in starts if at is not None and at > after), default=None)

    async def _update(self, condition: Document, operator: str, value: object = "") -> None:
        with store_errors():
            await self._contacts.update_one(condition, {operator: {"unservedSince": value}})


def is_open(document: Mapping[str, Any]) -> bool:
    """Whether the record is of a call that our worker serves or served, without an end."""
    ours = isinstance(document.get("room"), str) or document.get("erasedAt") is not None
    return ours and document.get("callEndedAt") is None


def open_call(document: Mapping[str, Any]) -> OpenCall | None:
    """The call, or None if the record is not of a call of ours."""
    contact = stored_contact(document)
    if contact is None:
        return None
    return OpenCall(
        contact=contact,
        erased=document.get("erasedAt") is not None,
        hangup_requested=document.get("hangupRequestedAt") is not None,
        unserved_since=moment(document.get("unservedSince")),
    )
