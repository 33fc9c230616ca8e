"""Contact records in memory: the three ports that the MongoDB adapters implement."""

import copy
from collections.abc import AsyncGenerator, Callable
from datetime import timedelta
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
    transcript,
)
from src.schemas.calls import SummaryTask
from src.schemas.contact import (
    CallEnd,
    ContactQuery,
    ContactStatus,
    NewContact,
    PastConversation,
    RememberedVariables,
    SummaryStatus,
)
from src.services.ports import CallRecords, Clock, ContactHistory, SummaryQueue
from tests.fakes.faults import Faults

Record = TypeVar("Record", PastConversation, RememberedVariables)


class InMemoryContacts(ContactHistory, CallRecords, SummaryQueue):
    """Holds documents as a store would; `faults` makes it fail or hang."""

    def __init__(self, clock: Clock, *documents: Document) -> None:
        self._clock = clock
        self._claims = 0
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
        self._start(contact, contact.status)

    @override
    async def mark(self, contact_uid: str, status: ContactStatus) -> None:
        await self.faults.check()
        document = self._find(contact_uid)
        if document is not None and document.get("status") not in FINAL_STATUSES:
            document["status"] = status.value

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
        self._start(contact, end.status).update(end_fields(end))

    @override
    async def claim(self, *, worker: str, lease_s: float) -> SummaryTask | None:
        await self.faults.check()
        now = self._clock.now()
        due = [
            document
            for document in self.documents
            if document.get("summaryStatus") == SummaryStatus.PENDING
            and document["summaryDueAt"] <= now
        ]
        if not due:
            return None
        document = min(due, key=lambda one: one["summaryDueAt"])
        self._claims += 1
        document["summaryClaim"] = f"{worker}-{self._claims}"
        document["summaryDueAt"] = now + timedelta(seconds=lease_s)
        document["summaryAttempts"] += 1
        return SummaryTask(
            contact_uid=document["contactUID"],
            transcript=transcript(document),
            language=document["language"],
            attempt=document["summaryAttempts"],
            claim=document["summaryClaim"],
        )

    @override
    async def finish(self, task: SummaryTask, status: SummaryStatus, summary: str | None) -> None:
        await self.faults.check()
        document = self._claimed(task)
        if document is not None:
            document["summaryStatus"] = status.value
            document["summaryDueAt"] = document["summaryClaim"] = None
            if summary is not None:
                document["conversation_summary"] = summary

    @override
    async def postpone(self, task: SummaryTask, *, delay_s: float) -> None:
        await self.faults.check()
        document = self._claimed(task)
        if document is not None:
            document["summaryDueAt"] = self._clock.now() + timedelta(seconds=delay_s)
            document["summaryClaim"] = None

    def _find(self, contact_uid: str) -> Document | None:
        return next((d for d in self.documents if d.get("contactUID") == contact_uid), None)

    def _claimed(self, task: SummaryTask) -> Document | None:
        document = self._find(task.contact_uid)
        return document if document and document.get("summaryClaim") == task.claim else None

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
