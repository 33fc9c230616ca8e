"""Call records as their owner reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from src.logs import get_logger
from src.schemas.call_records import (
    CallRecordDetail,
    CallRecordFilter,
    CallRecordSummary,
    MemoryReceiptView,
    TimelineItem,
    TurnView,
)
from src.schemas.errors import FieldProblem, InvalidInputError, MemoryStoreError, NotFoundError
from src.schemas.receipt import MemoryReceipt
from src.services.call_timeline import timeline
from src.services.contact_fields import contact_uid, moment, text, transcript, variables
from src.services.memory_ports import ConversationArchive
from src.services.owned import Document, OwnedStore, Position, Resource
from src.services.owner_settings import settings_of
from src.services.phone_numbers import CallerNumber, caller_number, same_person

logger = get_logger(__name__)

_LISTED = (
    *("contactUID", "AgentID", "callDirection", "status", "phone", "originalPhone"),
    *("campaignId", "sessionId", "callStartedAt", "callEndedAt", "createdAt"),
    *("analysisStatus", "summaryStatus", "conversation_summary"),
)
_MAX_LOOKS = 5
"""Requests for one page: records with the same last digits may be another person's, and are left out."""


@dataclass(frozen=True)
class CallRecordPage:
    """Some calls, newest first, and where the list goes on; it may go on after a page with few."""

    items: Sequence[CallRecordSummary]
    next: Position | None


class CallRecordsView:
    """Reads `Contact` of one owner, and the conversations that belong to it."""

    def __init__(self, *, owned: OwnedStore, archive: ConversationArchive) -> None:
        self._owned = owned
        self._archive = archive

    async def page(
        self,
        owner_id: str,
        wanted: CallRecordFilter,
        *,
        after: Position | None = None,
        limit: int = 50,
    ) -> CallRecordPage:
        """The owner's calls that are as wanted, by when they started.

        Raises:
            InvalidInputError: the phone number has too few digits to look for.
            ContactStoreError: the store failed.
        """
        number = await self._number(owner_id, wanted.phone)
        contacts = self._owned.of(owner_id, Resource.CONTACTS)
        where = _where(wanted, number)
        found: list[Document] = []
        for _ in range(_MAX_LOOKS):
            batch = await contacts.page(where=where, after=after, limit=limit + 1, fields=_LISTED)
            for document in batch[:limit]:
                after = Position(document["callStartedAt"], contact_uid(document))
                if _is_theirs(number, document):
                    found.append(document)
                if len(found) == limit:
                    more = document is not batch[-1]
                    return CallRecordPage([_summary(one) for one in found], after if more else None)
            if len(batch) <= limit:
                after = None
                break
        return CallRecordPage([_summary(one) for one in found], after)

    async def detail(self, owner_id: str, uid: str) -> CallRecordDetail:
        """Everything that is kept of one call.

        Raises:
            NotFoundError: the owner has no such record.
            ContactStoreError: the store failed.
        """
        document = await self._owned.of(owner_id, Resource.CONTACTS).get(uid)
        if document is None:
            raise NotFoundError("no such call")
        items, complete = await self._timeline(document)
        return CallRecordDetail(
            **_summary(document).model_dump(),
            dynamic_variables=variables(document),
            conversation_summary_en=text(document.get("conversation_summary_en")),
            language=text(document.get("language")),
            transcript=tuple(
                TurnView.model_validate(turn.model_dump()) for turn in transcript(document)
            ),
            analysis=_mapping(document.get("analysis")),
            memory_receipt=_receipt(document.get("memoryReceipt")),
            handoff_receipts=tuple(
                receipt
                for one in _list(document.get("handoffReceipts"))
                if (receipt := _receipt(one)) is not None
            ),
            degradations=tuple(map(str, _list(document.get("degradations")))),
            timeline=items,
            timeline_complete=complete,
        )

    async def _number(self, owner_id: str, phone: str | None) -> CallerNumber | None:
        if phone is None:
            return None
        owner = await settings_of(self._owned, owner_id)
        number = caller_number(phone, None, region=owner.default_region)
        if number.last10 is None:
            raise InvalidInputError(FieldProblem("phone", "not a phone number to look for"))
        return number

    async def _timeline(self, document: Mapping[str, Any]) -> tuple[tuple[TimelineItem, ...], bool]:
        """The moments of the call, and whether its conversation could be read."""
        session_id = text(document.get("sessionId"))
        if session_id is None:
            return timeline(document, (), ()), True
        try:
            entries = await self._archive.load_conversation(session_id)
            events = await self._archive.load_events(session_id)
        except MemoryStoreError:
            logger.warning("a call is shown without its conversation")
            return timeline(document, (), ()), False
        return timeline(document, entries, events), True


def _where(wanted: CallRecordFilter, number: CallerNumber | None) -> Document:
    times = {"$gte": wanted.since, "$lt": wanted.until}
    started = {name: value for name, value in times.items() if value is not None}
    fields = {
        "AgentID": wanted.agent_id,
        "phoneLast10": number and number.last10,
        "callDirection": wanted.direction and wanted.direction.value,
        "status": wanted.status and wanted.status.value,
        "campaignId": wanted.campaign_id,
        "callStartedAt": started or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _is_theirs(number: CallerNumber | None, document: Mapping[str, Any]) -> bool:
    phone, original = text(document.get("phone")), text(document.get("originalPhone"))
    return number is None or same_person(number, phone, original)


def _summary(document: Mapping[str, Any]) -> CallRecordSummary:
    status = document.get("analysisStatus") or document.get("summaryStatus")
    return CallRecordSummary(
        contact_uid=contact_uid(document),
        agent_id=text(document.get("AgentID")) or "",
        direction=text(document.get("callDirection")) or "unknown",
        status=text(document.get("status")) or "unknown",
        phone=text(document.get("phone")) or text(document.get("originalPhone")),
        campaign_id=text(document.get("campaignId")),
        session_id=text(document.get("sessionId")),
        call_started_at=moment(document.get("callStartedAt")) or moment(document.get("createdAt")),
        call_ended_at=moment(document.get("callEndedAt")),
        analysis_status=text(status),
        conversation_summary=text(document.get("conversation_summary")),
    )


def _receipt(stored: object) -> MemoryReceiptView | None:
    try:
        return MemoryReceiptView.model_validate(MemoryReceipt.model_validate(stored).model_dump())
    except ValidationError:
        return None


def _mapping(stored: object) -> dict[str, Any] | None:
    return {str(k): v for k, v in stored.items()} if isinstance(stored, Mapping) else None


def _list(stored: object) -> Sequence[Any]:
    return stored if isinstance(stored, list) else ()
