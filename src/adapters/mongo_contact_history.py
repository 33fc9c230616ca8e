"""Lookups of earlier calls in the `Contact` collection.

Each lookup asks twice, however many agents share their memory: for calls with a `callStartedAt`, in
the order of the index and read on as far as the consumer goes, and for the few without, whose date
is `createdAt`. The first stage of each pipeline names leading fields of one index and nothing else,
so that every server finds the index; a MongoDB server merges the second stage, which holds the rest,
into the first.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Generic, TypeVar

from motor.motor_asyncio import AsyncIOMotorCollection, AsyncIOMotorCommandCursor
from pymongo.errors import PyMongoError
from typing_extensions import override

from src.adapters.contact_documents import (
    HISTORY_FIELDS,
    Document,
    past_conversation,
    remembered_variables,
)
from src.adapters.mongo import Mongo, store_errors
from src.schemas.contact import CallDirection, ContactQuery, PastConversation, RememberedVariables
from src.services.ports import ContactHistory

Record = TypeVar("Record", PastConversation, RememberedVariables)
Read = Callable[[Document], Record | None]

_BATCH = 50
_CLOSE_S = 0.2
"""For closing cursors that were not read to their end; the server drops them later in any case."""

_EARLIEST = datetime.min.replace(tzinfo=UTC)
_MARGIN = timedelta(milliseconds=1)
_RECENT = timedelta(days=32)
"""A month and a little: the usual window of an agent takes one request."""
_NOT_BLANK = {"$regex": r"\S"}
_NOT_EMPTY: Document = {"$gt": {}}


class MongoContactHistory(ContactHistory):
    """Reads from the index, newest first: the size of the collection does not matter."""

    def __init__(self, mongo: Mongo) -> None:
        self._contacts = mongo.contacts

    @override
    def conversations(self, query: ContactQuery) -> AsyncGenerator[PastConversation, None]:
        rest = {"conversation_summary": _NOT_BLANK}
        return self._newest_first(query, {}, rest, past_conversation)

    @override
    def variables(self, query: ContactQuery) -> AsyncGenerator[RememberedVariables, None]:
        rest = {"dynamicVariables": _NOT_EMPTY}
        outbound = {"callDirection": CallDirection.OUTBOUND.value}
        return self._newest_first(query, outbound, rest, remembered_variables)

    async def _newest_first(
        self, query: ContactQuery, indexed: Document, rest: Document, read: Read[Record]
    ) -> AsyncGenerator[Record, None]:
        def within(document: Document) -> Record | None:
            record = read(document)
            since = query.since or _EARLIEST
            return record if record is not None and since <= record.at <= query.until else None

        caller = {"ownerId": query.owner_id, "phoneLast10": query.phone_last10}
        rest = {"AgentID": {"$in": sorted(query.agent_ids)}, **rest, **_others(query)}
        streams = [
            _dated(self._contacts, {**caller, **indexed}, query, rest, within),
            _undated(self._contacts, caller, {**indexed, **rest}, within),
        ]
        try:
            await _fetch_all(streams)
            ties: list[Record] = []
            while (record := await _next(streams)) is not None:
                if ties and ties[0].at != record.at:
                    for tied in _in_order(ties):
                        yield tied
                    ties = []
                ties.append(record)
            for tied in _in_order(ties):
                yield tied
        finally:
            await _close_all(streams)


class _Stream(Generic[Record]):
    """The records of several cursors, one after the other, newest first."""

    def __init__(
        self,
        cursors: Sequence[AsyncIOMotorCommandCursor[Document]],
        read: Read[Record],
        *,
        batch: int | None,
    ) -> None:
        """Cursors start at their first read. Without a `batch`, each is read as a whole."""
        self._cursors = deque(cursors)
        self._read: Read[Record] = read
        self._batch = batch
        self._records: deque[Record] = deque()

    @property
    def exhausted(self) -> bool:
        """Whether the server has nothing more."""
        return not self._cursors

    async def fetch(self) -> None:
        """Read one batch."""
        with store_errors():
            documents: list[Document] = await self._cursors[0].to_list(self._batch)
        if self._batch is None or len(documents) < self._batch:
            self._cursors.popleft()
        records = [record for one in documents if (record := self._read(one)) is not None]
        self._records.extend(sorted(records, key=lambda record: record.at, reverse=True))

    async def head(self) -> Record | None:
        """The newest record not taken yet."""
        while not self._records and not self.exhausted:
            await self.fetch()
        return self._records[0] if self._records else None

    def take(self) -> Record:
        """Remove the head."""
        return self._records.popleft()

    async def close(self) -> None:
        """Let the server forget the cursor being read; later ones have not started."""
        await self._cursors[0].close()


def _dated(
    contacts: AsyncIOMotorCollection[Document],
    key: Document,
    query: ContactQuery,
    rest: Document,
    read: Read[Record],
) -> _Stream[Record]:
    cursors = [
        contacts.aggregate(
            [
                {"$match": {**key, "callStartedAt": {"$gt": after, "$lte": until}}},
                {"$match": rest},
                {"$sort": {"callStartedAt": -1}},
                {"$project": dict.fromkeys(HISTORY_FIELDS, 1)},
            ],
            batchSize=_BATCH,
        )
        for after, until in _spans(query)
    ]
    return _Stream(cursors, read, batch=_BATCH)


def _spans(query: ContactQuery) -> list[tuple[datetime, datetime]]:
    """The last month, and the time before it.

    A server that sorts before it answers, as SecantusDB does, then reads one month of a caller with
    thousands of records, where the consumer stops within it.
    """
    # A little earlier than asked: bounds are sent in whole milliseconds; the exact look is at `read`.
    since = max(query.since or _EARLIEST, _EARLIEST + _MARGIN) - _MARGIN
    recent = query.until - _RECENT
    if since >= recent:
        return [(since, query.until)]
    return [(recent, query.until), (since, recent)]


def _undated(
    contacts: AsyncIOMotorCollection[Document], key: Document, rest: Document, read: Read[Record]
) -> _Stream[Record]:
    cursor = contacts.aggregate(
        [
            {"$match": {**key, "callStartedAt": None}},
            {"$match": rest},
            {"$project": dict.fromkeys(HISTORY_FIELDS, 1)},
        ]
    )
    return _Stream([cursor], read, batch=None)


def _others(query: ContactQuery) -> Document:
    uid = query.exclude_contact_uid
    return {} if uid is None else {"contactUID": {"$ne": uid}}


def _in_order(ties: list[Record]) -> list[Record]:
    return sorted(ties, key=lambda record: record.contact_uid, reverse=True)


async def _next(streams: Sequence[_Stream[Record]]) -> Record | None:
    heads = [(record.at, stream) for stream in streams if (record := await stream.head())]
    return max(heads, key=lambda head: head[0])[1].take() if heads else None


async def _fetch_all(streams: Sequence[_Stream[Record]]) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            for stream in streams:
                group.create_task(stream.fetch())
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None  # each is translated already; one is enough


async def _close_all(streams: Sequence[_Stream[Record]]) -> None:
    unread = [stream for stream in streams if not stream.exhausted]
    if unread:
        with suppress(TimeoutError, PyMongoError):
            async with asyncio.timeout(_CLOSE_S):
                await asyncio.gather(*(stream.close() for stream in unread))
