"""API keys by their visible part."""

from __future__ import annotations

from datetime import datetime

from typing_extensions import override

from src.adapters.mongo import Mongo, store_errors
from src.services.api_keys import KeyLookup
from src.services.owned import Document, Resource


class MongoKeyLookup(KeyLookup):
    """Reads keys of every owner; only recognising a token may."""

    def __init__(self, mongo: Mongo) -> None:
        self._keys = mongo.collection(Resource.KEYS.value.collection)

    @override
    async def find(self, key_id: str) -> Document | None:
        with store_errors():
            found: Document | None = await self._keys.find_one({"keyId": key_id}, {"_id": 0})
        return found

    @override
    async def touch(self, key_id: str, at: datetime) -> None:
        with store_errors():
            await self._keys.update_one({"keyId": key_id}, {"$set": {"lastUsedAt": at}})
