"""Writes of the current call's document in the `Contact` collection.

Each write is one update of one document, computed by the server from what the document holds, so
that repeated, late and concurrent writes cannot undo each other.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pymongo.errors import DuplicateKeyError
from typing_extensions import override

from src.adapters.contact_documents import (
    FINAL_STATUSES,
    KEPT_FIELDS,
    WITHDRAWN_BY,
    Document,
    end_fields,
    start_fields,
)
from src.adapters.mongo import Mongo, store_errors
from src.schemas.analysis import AnalysisStatus
from src.schemas.contact import CallEnd, ContactStatus, NewContact
from src.schemas.events import EventType
from src.services.call_events import OUTBOX, TOLD, outbox_entry
from src.services.ports import CallRecords, Clock

_FINAL: Document = {"$in": ["$status", sorted(FINAL_STATUSES)]}
_CLOSED: Document = {"$ne": [{"$ifNull": ["$callEndedAt", None]}, None]}
_ERASED: Document = {"$ne": [{"$ifNull": ["$erasedAt", None]}, None]}


class MongoCallRecords(CallRecords):
    """One document per call, found by its `contactUID`."""

    def __init__(self, *, mongo: Mongo, clock: Clock) -> None:
        self._contacts = mongo.contacts
        self._clock = clock

    @override
    async def open(self, contact: NewContact) -> None:
        told = _telling(contact.contact_uid, {EventType.CALL_STARTED: contact.call_started_at})
        await self._upsert(
            contact.contact_uid, {"$set": {**self._start(contact, contact.status), **told}}
        )

    @override
    async def mark(self, contact_uid: str, status: ContactStatus) -> None:
        now, fields = self._clock.now(), {"status": _literal(status.value)}
        if status is ContactStatus.IN_PROGRESS:
            fields |= _telling(contact_uid, {EventType.CALL_ANSWERED: now})
        elif status in FINAL_STATUSES:
            fields |= _telling(contact_uid, {EventType.CALL_ENDED: now})
            fields["analysisStatus"] = _kept("analysisStatus", AnalysisStatus.NO_CONVERSATION.value)
        with store_errors():
            await self._contacts.update_one(
                {"contactUID": contact_uid, "status": {"$nin": sorted(FINAL_STATUSES)}},
                [{"$set": fields}],
            )

    @override
    async def withdrawn(self, contact_uid: str) -> bool:
        with store_errors():
            record = await self._contacts.find_one(
                {"contactUID": contact_uid}, dict.fromkeys(WITHDRAWN_BY, 1)
            )
        return record is not None and any(record.get(name) for name in WITHDRAWN_BY)

    @override
    async def close(self, contact: NewContact, end: CallEnd) -> None:
        ended = {name: _literal(value) for name, value in end_fields(end).items()}
        told = _telling(
            contact.contact_uid,
            {
                EventType.CALL_STARTED: contact.call_started_at,
                EventType.CALL_ENDED: end.ended_at,
            },
        )
        closed = {**self._start(contact, end.status), **ended, **told}
        erased = {"status": closed["status"], "callEndedAt": closed["callEndedAt"], **told}
        whole = {
            "$switch": {
                "branches": [
                    {"case": _CLOSED, "then": "$$ROOT"},
                    # Emptied while the call went on: what it said then does not come back.
                    {"case": _ERASED, "then": {"$mergeObjects": ["$$ROOT", erased]}},
                ],
                "default": {"$mergeObjects": ["$$ROOT", closed]},
            }
        }
        await self._upsert(contact.contact_uid, {"$replaceWith": whole})

    def _start(self, contact: NewContact, status: ContactStatus) -> Document:
        fields = {
            name: _kept(name, value) if name in KEPT_FIELDS else _live(name, value)
            for name, value in start_fields(contact).items()
        }
        return {
            **fields,
            "dynamicVariables": _merged_variables(contact.dynamic_variables),
            "status": {"$cond": [_FINAL, "$status", _literal(status.value)]},
            "createdAt": _kept("createdAt", self._clock.now()),
        }

    async def _upsert(self, contact_uid: str, stage: Document) -> None:
        with store_errors():
            try:
                await self._contacts.update_one({"contactUID": contact_uid}, [stage], upsert=True)
            except DuplicateKeyError:
                # Another write created the document meanwhile; now there is one to update.
                await self._contacts.update_one({"contactUID": contact_uid}, [stage], upsert=True)


def _telling(contact_uid: str, happened: dict[EventType, datetime]) -> Document:
    """The fields that tell of what happened, each type once in a call's life."""
    known: Document = {"$ifNull": [f"${TOLD}", []]}

    def new(kind: EventType, item: object) -> Document:
        told: Document = {"$in": [_literal(kind.value), known]}
        return {"$cond": [told, [], _literal([item])]}

    entries = [new(kind, outbox_entry(contact_uid, kind, at)) for kind, at in happened.items()]
    kinds = [new(kind, kind.value) for kind in happened]
    return {
        OUTBOX: {"$concatArrays": [{"$ifNull": [f"${OUTBOX}", []]}, *entries]},
        TOLD: {"$concatArrays": [known, *kinds]},
    }


def _literal(value: Any) -> Document:  # noqa: ANN401 - any plain value
    # Callers' words may begin with "$", which would be a field's name.
    return {"$literal": value}


def _kept(name: str, value: object) -> Document:
    return {"$ifNull": [f"${name}", _literal(value)]}


def _live(name: str, value: object) -> Document:
    if value is None:
        return _kept(name, None)
    return {"$cond": [_FINAL, _kept(name, value), _literal(value)]}


def _merged_variables(live: dict[str, str]) -> Document:
    wins = {name: value for name, value in live.items() if value.strip()}
    stored = {
        "$cond": [
            {"$eq": [{"$type": "$dynamicVariables"}, "object"]},
            "$dynamicVariables",
            _literal({}),
        ]
    }
    return {
        "$mergeObjects": [
            _literal(live),
            stored,
            {"$cond": [_FINAL, _literal({}), _literal(wins)]},
        ]
    }
