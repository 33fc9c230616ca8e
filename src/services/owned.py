"""The documents of one owner: the one place where reads and writes are confined to a tenant.

Nothing reaches a stored document of the control plane but through `OwnedStore.of(owner_id, …)`, and
what that returns knows no other owner: a caller cannot leave the filter out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Protocol

Document = dict[str, Any]


@dataclass(frozen=True)
class ResourceKind:
    """Where one kind of document is kept; `key` is its identifier, `time` what lists are sorted by."""

    collection: str
    key: str
    time: str = "createdAt"


class Resource(Enum):
    """What an owner has."""

    AGENTS = ResourceKind("Agent", "agentId")
    CONTACTS = ResourceKind("Contact", "contactUID", "callStartedAt")
    PHONE_NUMBERS = ResourceKind("PhoneNumber", "number")
    WEBHOOKS = ResourceKind("Webhook", "webhookId")
    SESSIONS = ResourceKind("WebSession", "sessionId")
    KEYS = ResourceKind("ApiKey", "keyId")
    OWNERS = ResourceKind("Owner", "ownerId")


@dataclass(frozen=True)
class Position:
    """A place in a list that is sorted by time and key, both descending."""

    at: datetime
    key: str


class OwnedDocuments(Protocol):
    """The documents of one owner in one collection.

    What is returned never has the store's own `_id`. `where` holds equalities, and for one field
    `{"$in": [...]}` or a range of `$gte`, `$gt`, `$lte`, `$lt`, as MongoDB writes them.
    Every method raises `ContactStoreError` when the store fails.
    """

    async def get(self, key: str) -> Document | None:
        """The document."""

    async def page(
        self,
        *,
        where: Mapping[str, Any] | None = None,
        after: Position | None = None,
        limit: int = 50,
        fields: Sequence[str] = (),
    ) -> Sequence[Document]:
        """At most `limit` documents that come after a position, newest first.

        Documents without a time are not listed. `fields` names what is wanted; empty is all.
        """

    async def existing(self, keys: Collection[str]) -> frozenset[str]:
        """Those of the keys that this owner has."""

    async def insert(self, document: Mapping[str, Any]) -> bool:
        """Store a new document, with its owner; False if the key is taken (by whomever)."""

    async def replace(
        self, key: str, document: Mapping[str, Any], *, version: int | None = None
    ) -> bool:
        """Put a document in the place of another; False if there is none, or of another `version`."""

    async def update(
        self, key: str, fields: Mapping[str, Any], *, where: Mapping[str, Any] | None = None
    ) -> bool:
        """Set fields; False if there is no such document, or it is not as `where` says."""

    async def delete(self, key: str) -> bool:
        """Remove the document; False if there is none."""


class OwnedStore(Protocol):
    """The stores of the control plane."""

    def of(self, owner_id: str, resource: Resource) -> OwnedDocuments:
        """What one owner has of one resource."""
