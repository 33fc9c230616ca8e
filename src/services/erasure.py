"""Deletes what is kept of a person, everywhere it is kept."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Protocol

from src.logs import get_logger
from src.schemas.contact import CallEnd, NewContact
from src.schemas.errors import FamiliarError
from src.schemas.memory import DeletionReceipt, DeletionScope
from src.services.identity import memory_user_id
from src.services.live_session import is_since
from src.services.memory_ports import ConversationArchive, MemoryJournal, SessionStore
from src.services.memory_privacy import Item
from src.services.memory_stores import MemoryStores
from src.services.ports import CallJournal

logger = get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class ErasureRequest:
    """Whose memory goes, and how much of it."""

    user_id: str
    scope: DeletionScope
    at: datetime
    session_ids: tuple[str, ...] = ()
    """`session`: the one to delete. Else the person's, as far as they are known."""
    since: datetime | None = None
    """`day` only: the start of the person's day."""
    owner_id: str = ""
    e164: str | None = None
    """The person's number, where they are known by one: call records are found by it."""

    def covers(self, item: Item) -> bool:
        """Whether an entry or event is to go."""
        theirs = item.session_id in self.session_ids
        if self.scope != "session":
            theirs = theirs or item.user_id == self.user_id
        return theirs and is_since(item, self.since)


class PersonRecords(Protocol):
    """What the contact store holds of a person."""

    async def erase(self, request: ErasureRequest) -> Mapping[str, int]:
        """Empty the person's call records of words, values and number; what was emptied, counted.

        The records stay, as the owner's account of calls made. May be repeated without harm.

        Raises:
            ContactStoreError: the store failed.
        """


class Surface(Protocol):
    """One place where something of a person may be."""

    @property
    def name(self) -> str:
        """What receipts call it."""

    def erase(self, request: ErasureRequest, /) -> Awaitable[Mapping[str, int]]:
        """Delete; parts of the surface (or "" for the whole) to the number of things deleted.

        Raises:
            FamiliarError: it was not reached, or not wholly.
        """


@dataclass(frozen=True)
class FunctionSurface:
    """A surface whose deletion is one function."""

    name: str
    erase: Callable[[ErasureRequest], Awaitable[Mapping[str, int]]]


def nothing_kept(name: str) -> Surface:
    """A surface that holds nothing of a person by construction; receipts list it all the same."""

    async def erase(_: ErasureRequest) -> Mapping[str, int]:
        return {"": 0}

    return FunctionSurface(name, erase)


async def erase_everywhere(
    surfaces: Sequence[Surface], request: ErasureRequest, *, limit_s: float = 10.0
) -> DeletionReceipt:
    """Ask each surface in turn; one that fails or takes longer than `limit_s` hinders no other."""
    counts: dict[str, int] = {}
    failed: list[str] = []
    for surface in surfaces:
        try:
            async with asyncio.timeout(limit_s):
                deleted = await surface.erase(request)
        except (FamiliarError, TimeoutError) as error:
            failed.append(surface.name)
            fields = {"surface": surface.name, "error": type(error).__name__}
            logger.error("surface not reached by a deletion", extra=fields)  # noqa: TRY400 - the error may quote what it could not delete
        else:
            for part, number in deleted.items():
                counts[f"{surface.name}.{part}" if part else surface.name] = number
    receipt = DeletionReceipt(
        id=uuid.uuid4().hex,
        scope=request.scope,
        at=request.at,
        surfaces=counts,
        failed=tuple(failed),
    )
    logger.info(
        "memory deleted",
        extra={"receipt_id": receipt.id, "scope": receipt.scope, "complete": receipt.complete},
    )
    return receipt


def store_surfaces(stores: MemoryStores) -> list[Surface]:
    """The stores of unified memory; the journal last: what is replayed meanwhile is refused by now."""
    return [
        FunctionSurface("session_store", partial(_erase_live, stores.sessions)),
        FunctionSurface("archive", partial(_erase_archived, stores.archive)),
        FunctionSurface("journal", partial(_erase_journalled, stores.journal)),
    ]


async def _erase_live(sessions: SessionStore, request: ErasureRequest) -> Mapping[str, int]:
    # A session of today goes as a whole: it is a copy, and what is older comes from the archive.
    number = sum([await sessions.delete_session(one) for one in request.session_ids])
    if request.scope != "session":
        number += await sessions.delete_all(request.user_id)
    return {"": number}


async def _erase_archived(
    archive: ConversationArchive, request: ErasureRequest
) -> Mapping[str, int]:
    if request.since is not None:
        return await archive.delete_today(request.user_id, since=request.since)
    if request.scope == "all":
        return await archive.delete_all(request.user_id)
    counts: Counter[str] = Counter()
    for session_id in request.session_ids:
        counts.update(await archive.delete_session(session_id))
    return counts


async def _erase_journalled(journal: MemoryJournal, request: ErasureRequest) -> Mapping[str, int]:
    items = [item for item in await journal.pending() if request.covers(item)]
    await journal.remove(items)
    number = len(items)
    if request.since is None:
        number += await journal.delete_sessions(request.session_ids)
    return {"": number}


def records_surface(records: PersonRecords) -> Surface:
    """Contact records."""
    return FunctionSurface("contact_records", records.erase)


def call_journal_surface(journal: CallJournal) -> Surface:
    """Finished calls that the contact store does not have yet, on this machine's disk.

    They stay as accounts of calls, as their records would, without words, values and number.
    """

    async def erase(request: ErasureRequest) -> Mapping[str, int]:
        theirs = [call for call in await journal.pending() if _is_of(request, *call)]
        for contact, end in theirs:
            await journal.write(*_emptied(contact, end))
        return {"": len(theirs)}

    return FunctionSurface("call_journal", erase)


def _is_of(request: ErasureRequest, contact: NewContact, end: CallEnd) -> bool:
    if {contact.contact_uid, contact.session_id} & set(request.session_ids):
        theirs = True
    elif request.scope == "session":
        theirs = False
    else:
        by_number = contact.owner_id == request.owner_id and contact.phone == request.e164
        by_id = request.user_id in (contact.user_id, _pseudonym(contact))
        theirs = by_id or (by_number and contact.phone is not None)
    return theirs and (request.since is None or end.ended_at >= request.since)


def _pseudonym(contact: NewContact) -> str | None:
    return memory_user_id(contact.owner_id, e164=contact.phone) if contact.phone else None


def _emptied(contact: NewContact, end: CallEnd) -> tuple[NewContact, CallEnd]:
    nobody: dict[str, Any] = {
        "phone": None,
        "original_phone": None,
        "phone_last10": None,
        "dynamic_variables": {},
        "user_id": None,
    }
    nothing: dict[str, Any] = {"transcript": (), "receipt": None, "handoff_receipts": ()}
    return contact.model_copy(update=nobody), end.model_copy(update=nothing)
