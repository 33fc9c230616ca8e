"""Documents of owners in memory."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from typing_extensions import override

from src.services.owned import (
    Document,
    OwnedDocuments,
    OwnedStore,
    Position,
    Resource,
    ResourceKind,
)
from tests.fakes.faults import Faults

_RANGES: dict[str, Callable[[Any, Any], bool]] = {
    "$gte": lambda a, b: a >= b,
    "$gt": lambda a, b: a > b,
    "$lte": lambda a, b: a <= b,
    "$lt": lambda a, b: a < b,
    "$in": lambda a, b: a in b,
    "$ne": lambda a, b: a != b,
}


class InMemoryOwnedStore(OwnedStore):
    """All owners' documents, as `documents[resource]`."""

    def __init__(self) -> None:
        self.documents: dict[Resource, list[Document]] = {one: [] for one in Resource}
        self.faults = Faults()

    @override
    def of(self, owner_id: str, resource: Resource) -> OwnedDocuments:
        return _InMemoryOwnedDocuments(
            self.documents[resource], resource.value, owner_id, self.faults
        )


class _InMemoryOwnedDocuments(OwnedDocuments):
    def __init__(
        self, documents: list[Document], kind: ResourceKind, owner_id: str, faults: Faults
    ) -> None:
        if not owner_id:
            raise ValueError("an owner is needed")
        self._documents = documents
        self._kind = kind
        self._owner_id = owner_id
        self._faults = faults

    @override
    async def get(self, key: str) -> Document | None:
        await self._faults.check()
        return next((copy.deepcopy(one) for one in self._own({self._kind.key: key})), None)

    @override
    async def page(
        self,
        *,
        where: Mapping[str, Any] | None = None,
        after: Position | None = None,
        limit: int = 50,
        fields: Sequence[str] = (),
    ) -> Sequence[Document]:
        await self._faults.check()
        dated = [
            one for one in self._own(where or {}) if isinstance(one.get(self._kind.time), datetime)
        ]
        dated.sort(key=self._place, reverse=True)
        if after is not None:
            dated = [one for one in dated if self._place(one) < (after.at, after.key)]
        wanted = {*fields, self._kind.time, self._kind.key}
        return [
            copy.deepcopy({k: v for k, v in one.items() if not fields or k in wanted})
            for one in dated[:limit]
        ]

    @override
    async def existing(self, keys: Collection[str]) -> frozenset[str]:
        await self._faults.check()
        return frozenset(str(one[self._kind.key]) for one in self._own({})) & frozenset(keys)

    @override
    async def insert(self, document: Mapping[str, Any]) -> bool:
        await self._faults.check()
        key = self._kind.key
        if any(one[key] == document[key] for one in self._documents):
            return False
        self._documents.append(copy.deepcopy({**document, "ownerId": self._owner_id}))
        return True

    @override
    async def replace(
        self, key: str, document: Mapping[str, Any], *, version: int | None = None
    ) -> bool:
        await self._faults.check()
        condition = {self._kind.key: key} | ({} if version is None else {"version": version})
        for one in self._own(condition):
            one.clear()
            one.update(copy.deepcopy({**document, self._kind.key: key, "ownerId": self._owner_id}))
            return True
        return False

    @override
    async def update(
        self, key: str, fields: Mapping[str, Any], *, where: Mapping[str, Any] | None = None
    ) -> bool:
        await self._faults.check()
        for one in self._own({**(where or {}), self._kind.key: key}):
            one.update(copy.deepcopy({**fields, "ownerId": self._owner_id}))
            return True
        return False

    @override
    async def delete(self, key: str) -> bool:
        await self._faults.check()
        found = self._own({self._kind.key: key})
        for one in found:
            self._documents.remove(one)
        return bool(found)

    def _own(self, where: Mapping[str, Any]) -> list[Document]:
        return [
            one
            for one in self._documents
            if one.get("ownerId") == self._owner_id
            and all(_matches(one.get(name), value) for name, value in where.items())
        ]

    def _place(self, document: Document) -> tuple[datetime, str]:
        return document[self._kind.time], str(document[self._kind.key])


def _matches(stored: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping) and wanted and all(name in _RANGES for name in wanted):
        return all(
            (stored is not None or name == "$ne") and _RANGES[name](stored, value)
            for name, value in wanted.items()
        )
    return bool(stored == wanted)
