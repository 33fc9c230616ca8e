"""The documents of one owner, in MongoDB."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from motor.motor_asyncio import AsyncIOMotorCollection
from pymongo.errors import DuplicateKeyError
from typing_extensions import override

from src.adapters.mongo import Mongo, store_errors
from src.services.owned import (
    Document,
    OwnedDocuments,
    OwnedStore,
    Position,
    Resource,
    ResourceKind,
)


class MongoOwnedStore(OwnedStore):
    """Every filter and every document it writes names the owner."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo

    @override
    def of(self, owner_id: str, resource: Resource) -> OwnedDocuments:
        kind = resource.value
        return _MongoOwnedDocuments(self._mongo.collection(kind.collection), kind, owner_id)


class _MongoOwnedDocuments(OwnedDocuments):
    def __init__(
        self, collection: AsyncIOMotorCollection[Document], kind: ResourceKind, owner_id: str
    ) -> None:
        if not owner_id:
            raise ValueError("an owner is needed")
        self._collection = collection
        self._kind = kind
        self._owner_id = owner_id

    @override
    async def get(self, key: str) -> Document | None:
        with store_errors():
            document: Document | None = await self._collection.find_one(
                self._filter({self._kind.key: key}), {"_id": 0}
            )
        return document

    @override
    async def page(
        self,
        *,
        where: Mapping[str, Any] | None = None,
        after: Position | None = None,
        limit: int = 50,
        fields: Sequence[str] = (),
    ) -> Sequence[Document]:
        time, key = self._kind.time, self._kind.key
        wanted = dict.fromkeys({*fields, time, key}, 1) if fields else {}
        conditions: list[Document] = [dict(where or {}), {time: {"$type": "date"}}]
        if after is not None:
            conditions.append(
                {
                    "$or": [
                        {time: {"$lt": after.at}},
                        {time: after.at, key: {"$lt": after.key}},
                    ]
                }
            )
        with store_errors():
            found = self._collection.find(
                self._filter({"$and": [one for one in conditions if one]}), {**wanted, "_id": 0}
            )
            return await found.sort([(time, -1), (key, -1)]).limit(limit).to_list(limit)

    @override
    async def existing(self, keys: Collection[str]) -> frozenset[str]:
        key = self._kind.key
        with store_errors():
            found = self._collection.find(self._filter({key: {"$in": sorted(set(keys))}}), {key: 1})
            return frozenset([str(one[key]) async for one in found])

    @override
    async def insert(self, document: Mapping[str, Any]) -> bool:
        with store_errors():
            try:
                await self._collection.insert_one({**document, "ownerId": self._owner_id})
            except DuplicateKeyError:
                return False
        return True

    @override
    async def replace(
        self, key: str, document: Mapping[str, Any], *, version: int | None = None
    ) -> bool:
        condition: Document = {} if version is None else {"version": version}
        kept = {**document, self._kind.key: key, "ownerId": self._owner_id}
        with store_errors():
            result = await self._collection.replace_one(
                self._filter({self._kind.key: key, **condition}), kept
            )
        return result.matched_count > 0

    @override
    async def update(
        self, key: str, fields: Mapping[str, Any], *, where: Mapping[str, Any] | None = None
    ) -> bool:
        kept = {**fields, "ownerId": self._owner_id}
        with store_errors():
            result = await self._collection.update_one(
                {"$and": [self._filter({self._kind.key: key}), dict(where or {})]}, {"$set": kept}
            )
        return result.matched_count > 0

    @override
    async def delete(self, key: str) -> bool:
        with store_errors():
            result = await self._collection.delete_one(self._filter({self._kind.key: key}))
        return result.deleted_count > 0

    def _filter(self, condition: Document) -> Document:
        return {"ownerId": self._owner_id, **condition}
