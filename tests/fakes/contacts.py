"""Contact records in memory: history and the current call's record, as the MongoDB adapters keep them."""

import copy
from collections.abc import AsyncGenerator, Callable
from datetime import datetime
from typing import Any, TypeVar

from typing_extensions import override

from src.adapters.contact_documents import (
    FINAL_STATUSES,
    KEPT_FIELDS,
    WITHDRAWN_BY,
    Document,
    end_fields,
    past_conversation,
    remembered_variables,
    start_fields,
)
from src.schemas.analysis import AnalysisStatus
from src.schemas.contact import (
    CallEnd,
    ContactQuery,
    ContactStatus,
    NewContact,
    PastConversation,
    RememberedVariables,
)
from src.schemas.events import EventType
from src.services.call_events import OUTBOX, TOLD, outbox_entry
from src.services.ports import CallRecords, Clock, ContactHistory
from tests.fakes.faults import Faults

Record = TypeVar("Record", PastConversation, RememberedVariables)


class InMemoryContacts(ContactHistory, CallRecords):
    """Holds documents as a store would; `faults` makes it fail or hang."""

    def __init__(self, clock: Clock, *documents: Document) -> None:
        self._clock = clock
        self.documents: list[Document] = []
        self.faults = Faults()
        self.add(*documents)

    def add(self, *documents: Document) -> None:
        """Put documents in as they are, as older programs did."""
        self.documents.extend(copy.deepcopy(document) for document in documents)

    def document(self, contact_uid: str) -> Document:
        """The record; KeyError if there is none."""
        found = self._find(contact_uid)
        if found is None:
            raise KeyError(contact_uid)
        return found

    @override
    def conversations(self, query: ContactQuery) -> AsyncGenerator[PastConversation, None]:
        return self._matches(query, past_conversation)

    @override
    def variables(self, query: ContactQuery) -> AsyncGenerator[RememberedVariables, None]:
        return self._matches(query, remembered_variables)

    async def _matches(
        self, query: ContactQuery, read: Callable[[Document], Record | None]
    ) -> AsyncGenerator[Record, None]:
        await self.faults.check()
        digits = query.phone_last10
        same = [document for document in self.documents if document.get("phoneLast10") == digits]
        records = [read(document) for document in same if _is_candidate(document, query)]
        found = [
            record
            for record in records
            if record is not None
            and record.at <= query.until
            and (query.since is None or record.at >= query.since)
        ]
        for record in sorted(found, key=lambda one: (one.at, one.contact_uid), reverse=True):
            yield record

    @override
    async def open(self, contact: NewContact) -> None:
        await self.faults.check()
        document = self._start(contact, contact.status)
        _tell(document, EventType.CALL_STARTED, contact.call_started_at)

    @override
    async def mark(self, contact_uid: str, status: ContactStatus) -> None:
        await self.faults.check()
        document = self._find(contact_uid)
        if document is not None and document.get("status") not in FINAL_STATUSES:
            document["status"] = status.value
            if status is ContactStatus.IN_PROGRESS:
                _tell(document, EventType.CALL_ANSWERED, self._clock.now())
            elif status in FINAL_STATUSES:
                _tell(document, EventType.CALL_ENDED, self._clock.now())
                document.setdefault("analysisStatus", AnalysisStatus.NO_CONVERSATION.value)

    @override
    async def withdrawn(self, contact_uid: str) -> bool:
        await self.faults.check()
        document = self._find(contact_uid) or {}
        return any(document.get(name) for name in WITHDRAWN_BY)

    @override
    async def close(self, contact: NewContact, end: CallEnd) -> None:
        await self.faults.check()
        document = self._find(contact.contact_uid)
        if document is not None and document.get("callEndedAt") is not None:
            return
        if document is not None and document.get("erasedAt") is not None:
            if document.get("status") not in FINAL_STATUSES:
                document["status"] = end.status.value
            document["callEndedAt"] = end.ended_at
        else:
            document = self._start(contact, end.status)
            document.update(end_fields(end))
        _tell(document, EventType.CALL_STARTED, contact.call_started_at)
        _tell(document, EventType.CALL_ENDED, end.ended_at)

    def _find(self, contact_uid: str) -> Document | None:
        return next((d for d in self.documents if d.get("contactUID") == contact_uid), None)

    def _start(self, contact: NewContact, status: ContactStatus) -> Document:
        document = self._find(contact.contact_uid)
        if document is None:
            document = {"contactUID": contact.contact_uid}
            self.documents.append(document)
        final = document.get("status") in FINAL_STATUSES
        for name, value in start_fields(contact).items():
            stored = document.get(name)
            first, second = (stored, value) if final or name in KEPT_FIELDS else (value, stored)
            document[name] = second if first is None else first
        document["dynamicVariables"] = _merged(document.get("dynamicVariables"), contact, final)
        document["status"] = document["status"] if final else status.value
        document["createdAt"] = document.get("createdAt") or self._clock.now()
        return document


def _tell(document: Document, kind: EventType, at: datetime) -> None:
    told = document.setdefault(TOLD, [])
    outbox = document.setdefault(OUTBOX, [])
    if kind.value not in told:
        told.append(kind.value)
        outbox.append(outbox_entry(document["contactUID"], kind, at))


def _is_candidate(document: Document, query: ContactQuery) -> bool:
    return (
        document.get("ownerId") == query.owner_id
        and document.get("AgentID") in query.agent_ids
        and (
            query.exclude_contact_uid is None
            or document.get("contactUID") != query.exclude_contact_uid
        )
    )


def _merged(stored: Any, contact: NewContact, final: bool) -> dict[str, Any]:
    live = contact.dynamic_variables
    wins = {} if final else {name: value for name, value in live.items() if value.strip()}
    return {**live, **(stored if isinstance(stored, dict) else {}), **wins}
