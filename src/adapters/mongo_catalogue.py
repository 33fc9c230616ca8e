"""Indexes, older documents, and what the seed command loads."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from motor.motor_asyncio import AsyncIOMotorCollection
from pymongo import IndexModel, ReplaceOne, UpdateOne
from pymongo.errors import OperationFailure
from typing_extensions import override

from src.adapters.contact_backfill import BACKFILL_FIELDS, NEEDS_BACKFILL, missing_fields
from src.adapters.contact_documents import RETENTION_CHECK, Document, start_fields
from src.adapters.mongo import Mongo, store_errors
from src.schemas.analysis import AnalysisStatus
from src.schemas.contact import CallDirection
from src.schemas.seed import NumberBinding, PastContact
from src.services.call_events import OUTBOX
from src.services.owned import Resource
from src.services.ports import Catalogue, Clock

_BATCH = 250
"""Records in one request: within `MongoTimeouts.socket_ms` even at some milliseconds a record."""
_REFUSED_BY_DATA = frozenset({11000, 85, 86})
"""Duplicate key; an index with the same name or keys but other options."""

_CALLER = [("ownerId", 1), ("phoneLast10", 1)]


@dataclass(frozen=True)
class _Index:
    collection: AsyncIOMotorCollection[Document]
    model: IndexModel
    instead: IndexModel | None = None
    """Created where the data does not allow the first."""


def _indexes(mongo: Mongo) -> list[_Index]:
    by_uid = IndexModel([("contactUID", 1)], name="contact_uid", unique=True, sparse=True)
    duplicates = IndexModel([("contactUID", 1), ("_id", 1)], name="contact_uid_with_duplicates")
    # By time before agent: one scan in the right order serves any number of linked agents, whose
    # records are picked by the key alone.
    by_time = [("callStartedAt", -1), ("AgentID", 1)]
    history = IndexModel([*_CALLER, *by_time], name="history")
    variables = IndexModel(
        [*_CALLER, ("callDirection", 1), *by_time],
        name="outbound_variables",
        partialFilterExpression={"callDirection": CallDirection.OUTBOUND.value},
    )
    analyses = IndexModel(
        [("analysisStatus", 1), ("callEndedAt", 1)],
        name="pending_analyses",
        partialFilterExpression={"analysisStatus": AnalysisStatus.PENDING.value},
    )
    events = IndexModel([(f"{OUTBOX}.at", 1)], name="outbox", sparse=True)
    open_calls = IndexModel([("status", 1), ("callStartedAt", 1)], name="status")
    words = IndexModel([(RETENTION_CHECK, 1)], name="retention_check", sparse=True)
    persons = IndexModel([("userId", 1)], name="person", sparse=True)
    sessions = IndexModel([("sessionId", 1)], name="session", sparse=True)
    return [
        _Index(mongo.contacts, by_uid, instead=duplicates),
        *(
            _Index(mongo.contacts, model)
            for model in (
                history,
                variables,
                analyses,
                events,
                words,
                open_calls,
                persons,
                sessions,
            )
        ),
        _Index(mongo.agents, IndexModel([("agentId", 1)], name="agent_id", unique=True)),
        _Index(mongo.phone_numbers, IndexModel([("number", 1)], name="number", unique=True)),
        *_control_plane_indexes(mongo),
    ]


def _control_plane_indexes(mongo: Mongo) -> list[_Index]:
    """Each resource by its key, and by owner in the order in which it is listed."""
    by_key = [Resource.WEBHOOKS, Resource.SESSIONS, Resource.KEYS, Resource.OWNERS]
    listed = [one for one in Resource if one is not Resource.OWNERS]
    expired = IndexModel([("expiresAt", 1)], name="expired", expireAfterSeconds=0)
    return [
        # A session says who its visitor is and what the agent is told of them: for a day.
        _Index(mongo.collection(Resource.SESSIONS.value.collection), expired),
        *(
            _Index(
                mongo.collection(one.value.collection),
                IndexModel([(one.value.key, 1)], name="key", unique=True),
            )
            for one in by_key
        ),
        *(
            _Index(
                mongo.collection(one.value.collection),
                IndexModel(
                    [("ownerId", 1), (one.value.time, -1), (one.value.key, -1)], name="listed"
                ),
            )
            for one in listed
        ),
    ]


class MongoCatalogue(Catalogue):
    """Writes in batches; running it again changes nothing."""

    def __init__(self, *, mongo: Mongo, clock: Clock) -> None:
        self._mongo = mongo
        self._clock = clock

    @override
    async def prepare(self) -> Sequence[str]:
        problems = [await _create(index) for index in _indexes(self._mongo)]
        return [problem for problem in problems if problem]

    @override
    async def put_agents(self, agents: Sequence[Mapping[str, Any]]) -> None:
        now = self._clock.now()
        dates = {"createdAt": now, "updatedAt": now, "version": 1}
        await _write(
            self._mongo.agents,
            [
                ReplaceOne({"agentId": one["agentId"]}, {**dates, **one}, upsert=True)
                for one in agents
            ],
        )

    @override
    async def bind_numbers(self, bindings: Sequence[NumberBinding]) -> None:
        now = self._clock.now()
        await _write(
            self._mongo.phone_numbers,
            [
                UpdateOne(
                    {"number": one.number},
                    {
                        "$set": {
                            "agentId": one.agent_id,
                            "ownerId": one.owner_id,
                            "updatedAt": now,
                        },
                        "$setOnInsert": {"createdAt": now},
                    },
                    upsert=True,
                )
                for one in bindings
            ],
        )

    @override
    async def put_contacts(self, contacts: Sequence[PastContact]) -> None:
        now = self._clock.now()
        await _write(
            self._mongo.contacts,
            [
                UpdateOne(
                    {"contactUID": one.contact.contact_uid},
                    {"$set": _fields(one), "$setOnInsert": {"createdAt": now}},
                    upsert=True,
                )
                for one in contacts
            ],
        )

    @override
    async def backfill(self) -> int:
        changed = await self._date()
        owners = await self._owners()
        async for batch in self._incomplete():
            fields = [(one["_id"], missing_fields(one, owners)) for one in batch]
            updates = [UpdateOne({"_id": key}, {"$set": new}) for key, new in fields if new]
            await _write(self._mongo.contacts, updates)
            changed += len(updates)
        return changed

    async def _date(self) -> int:
        """Give older agents and numbers a date, without which no list of them has a place for them."""
        dates = {"createdAt": self._clock.now(), "version": 1}
        changed = 0
        with store_errors():
            for collection in (self._mongo.agents, self._mongo.phone_numbers):
                result = await collection.update_many({"createdAt": None}, {"$set": dates})
                changed += result.modified_count
        return changed

    async def _owners(self) -> dict[str, str]:
        with store_errors():
            found = self._mongo.agents.find({}, {"agentId": 1, "ownerId": 1})
            return {str(one.get("agentId")): str(one.get("ownerId") or "") async for one in found}

    async def _incomplete(self) -> AsyncIterator[list[Document]]:
        with store_errors():
            found = self._mongo.contacts.find(NEEDS_BACKFILL, BACKFILL_FIELDS, batch_size=_BATCH)
            while batch := await found.to_list(_BATCH):
                yield batch


async def _create(index: _Index) -> str | None:
    """A sentence about what the data did not allow, or None."""
    name = index.model.document["name"]
    with store_errors():
        try:
            await index.collection.create_indexes([index.model])
        except OperationFailure as error:
            if error.code not in _REFUSED_BY_DATA:
                raise
            if index.instead is not None:
                await index.collection.create_indexes([index.instead])
            return (
                f"index {name} of {index.collection.name} was not created, because documents or"
                f" indexes there conflict with it (code {error.code}): remove them and run this again"
            )
    return None


async def _write(
    collection: AsyncIOMotorCollection[Document],
    writes: Sequence[ReplaceOne[Document] | UpdateOne],
) -> None:
    with store_errors():
        for start in range(0, len(writes), _BATCH):
            await collection.bulk_write(writes[start : start + _BATCH], ordered=False)


def _fields(past: PastContact) -> Document:
    contact = past.contact
    return {
        **start_fields(contact),
        "status": contact.status.value,
        "dynamicVariables": contact.dynamic_variables,
        "conversation_summary": past.summary,
    }
