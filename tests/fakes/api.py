"""What the API keeps outside its processes, in memory."""

from __future__ import annotations

from datetime import datetime

from typing_extensions import override

from src.services.api_keys import KeyLookup
from src.services.api_ports import Answers, Rate, RateLimiter
from src.services.owned import Document, Resource
from tests.fakes.faults import Faults
from tests.fakes.owned import InMemoryOwnedStore


class InMemoryKeyLookup(KeyLookup):
    """Looks behind the owners of a store."""

    def __init__(self, store: InMemoryOwnedStore) -> None:
        self._store = store

    @override
    async def find(self, key_id: str) -> Document | None:
        await self._store.faults.check()
        keys = self._store.documents[Resource.KEYS]
        return next((dict(one) for one in keys if one["keyId"] == key_id), None)

    @override
    async def touch(self, key_id: str, at: datetime) -> None:
        await self._store.faults.check()
        for one in self._store.documents[Resource.KEYS]:
            if one["keyId"] == key_id:
                one["lastUsedAt"] = at


class CountingLimiter(RateLimiter):
    """Counts without forgetting: the window never moves on."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    @override
    async def wait_s(self, name: str, rate: Rate) -> int:
        self.counts[name] = self.counts.get(name, 0) + 1
        return 0 if self.counts[name] <= rate.times else rate.seconds


class InMemoryAnswers(Answers):
    """Answers without an end."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.faults = Faults()

    @override
    async def reserve(self, name: str, value: str, ttl_s: int) -> str | None:
        await self.faults.check()
        if name in self.values:
            return self.values[name]
        self.values[name] = value
        return None

    @override
    async def put(self, name: str, value: str, ttl_s: int) -> None:
        await self.faults.check()
        self.values[name] = value

    @override
    async def remove(self, name: str) -> None:
        await self.faults.check()
        self.values.pop(name, None)
