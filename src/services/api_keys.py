"""Issues API keys and recognises them.

A token is `fam_sk_<key id>_<secret>` (`fam_pk_…` for publishable keys). The secret has 256 random
bits, so that its plain SHA-256 can be stored: there is no dictionary to try against it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from pydantic import ValidationError

from src.schemas.api_keys import ApiKey, KeyKind, Scope
from src.schemas.errors import FieldProblem, InvalidInputError, NotFoundError
from src.services.owned import Document, OwnedDocuments, OwnedStore, Resource
from src.services.ports import Clock

_MARKS = {KeyKind.SECRET: "sk", KeyKind.PUBLISHABLE: "pk"}
_TOKEN = re.compile(r"fam_(sk|pk)_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:\d{1,5})?")
_TOUCHED_EVERY = timedelta(minutes=1)
_ABSENT = hashlib.sha256(secrets.token_bytes(32)).hexdigest()
_LISTED = 200
_SCOPES = frozenset(scope.value for scope in Scope)


class KeyLookup(Protocol):
    """Finds a key before it is known whose it is: the only read across owners.

    Both raise `ContactStoreError` when the store fails.
    """

    async def find(self, key_id: str) -> Document | None:
        """The stored key."""

    async def touch(self, key_id: str, at: datetime) -> None:
        """Note that the key was used."""


@dataclass(frozen=True, kw_only=True)
class NewKey:
    """What a key is to be."""

    kind: KeyKind = KeyKind.SECRET
    name: str = ""
    scopes: frozenset[Scope] = frozenset(Scope)
    agent_id: str | None = None
    allowed_origins: tuple[str, ...] = ()
    valid_for: timedelta | None = None


@dataclass(frozen=True)
class IssuedKey:
    """A key with its token, which is shown this once."""

    key: ApiKey
    token: str


class ApiKeys:
    """The keys of all owners."""

    def __init__(self, *, store: OwnedStore, lookup: KeyLookup, clock: Clock) -> None:
        self._store = store
        self._lookup = lookup
        self._clock = clock

    async def create(self, owner_id: str, wanted: NewKey) -> IssuedKey:
        """A new key.

        Raises:
            InvalidInputError: a publishable key without its agent or origins, or with a bad one.
            ContactStoreError: the store failed.
        """
        if wanted.kind is KeyKind.PUBLISHABLE:
            await self._check_publishable(owner_id, wanted)
        now = self._clock.now()
        key = ApiKey(
            key_id=secrets.token_hex(8),
            owner_id=owner_id,
            kind=wanted.kind,
            name=wanted.name,
            scopes=wanted.scopes if wanted.kind is KeyKind.SECRET else frozenset(),
            agent_id=wanted.agent_id if wanted.kind is KeyKind.PUBLISHABLE else None,
            allowed_origins=wanted.allowed_origins,
            created_at=now,
            expires_at=None if wanted.valid_for is None else now + wanted.valid_for,
        )
        return await self._issue(key)

    async def list(self, owner_id: str) -> Sequence[ApiKey]:
        """The owner's newest keys, the revoked ones among them.

        Raises:
            ContactStoreError: the store failed.
        """
        stored = await self._keys(owner_id).page(limit=_LISTED)
        return [key for one in stored if (key := _key(one)) is not None]

    async def revoke(self, owner_id: str, key_id: str) -> None:
        """End a key at once.

        Raises:
            NotFoundError: the owner has no such key.
            ContactStoreError: the store failed.
        """
        if not await self._keys(owner_id).update(key_id, {"revokedAt": self._clock.now()}):
            raise NotFoundError("no such key")

    async def rotate(self, owner_id: str, key_id: str, *, overlap: timedelta) -> IssuedKey:
        """A new key in the place of another, which goes on for `overlap`.

        Raises:
            NotFoundError: the owner has no such key, or it is not valid any more.
            ContactStoreError: the store failed.
        """
        old = _key(await self._keys(owner_id).get(key_id) or {})
        now = self._clock.now()
        if old is None or not _is_valid(old, now):
            raise NotFoundError("no such key")
        lifetime = None if old.expires_at is None else old.expires_at - old.created_at
        issued = await self._issue(
            old.model_copy(
                update={
                    "key_id": secrets.token_hex(8),
                    "created_at": now,
                    "expires_at": None if lifetime is None else now + lifetime,
                    "last_used_at": None,
                }
            )
        )
        ends = min(filter(None, (old.expires_at, now + overlap)))
        await self._keys(owner_id).update(key_id, {"expiresAt": ends})
        return issued

    async def recognise(self, token: str) -> ApiKey | None:
        """The key that a token is, if it is valid now.

        Raises:
            ContactStoreError: the store failed.
        """
        match = _TOKEN.fullmatch(token)
        if match is None:
            return None
        mark, key_id, _ = match.groups()
        stored = await self._lookup.find(key_id)
        expected = str((stored or {}).get("hash") or _ABSENT)
        right = hmac.compare_digest(_hash(token), expected)
        key = _key(stored or {})
        now = self._clock.now()
        if not right or key is None or _MARKS[key.kind] != mark or not _is_valid(key, now):
            return None
        if key.last_used_at is None or now - key.last_used_at >= _TOUCHED_EVERY:
            await self._lookup.touch(key_id, now)
        return key

    async def _issue(self, key: ApiKey) -> IssuedKey:
        token = f"fam_{_MARKS[key.kind]}_{key.key_id}_{secrets.token_urlsafe(32)}"
        await self._keys(key.owner_id).insert({**_document(key), "hash": _hash(token)})
        return IssuedKey(key, token)

    async def _check_publishable(self, owner_id: str, wanted: NewKey) -> None:
        agents = self._store.of(owner_id, Resource.AGENTS)
        problems = [
            FieldProblem("allowedOrigins", f"not an origin: {origin}")
            for origin in wanted.allowed_origins
            if not _ORIGIN.fullmatch(origin)
        ]
        if not wanted.allowed_origins:
            problems.append(FieldProblem("allowedOrigins", "a publishable key needs its origins"))
        if wanted.agent_id is None or not await agents.existing([wanted.agent_id]):
            problems.append(
                FieldProblem("agentId", "a publishable key needs an agent of its owner")
            )
        if problems:
            raise InvalidInputError(*problems)

    def _keys(self, owner_id: str) -> OwnedDocuments:
        return self._store.of(owner_id, Resource.KEYS)


def scopes_named(names: Iterable[str]) -> frozenset[Scope]:
    """The scopes of these names; `*` names all, and `read` all that change nothing.

    Raises:
        InvalidInputError: a name is unknown.
    """
    groups = {"*": set(Scope), "read": {one for one in Scope if one.value.endswith(":read")}}
    found: set[Scope] = set()
    for name in names:
        if name in groups:
            found |= groups[name]
        elif name in _SCOPES:
            found.add(Scope(name))
        else:
            raise InvalidInputError(FieldProblem("scopes", f"unknown scope: {name}"))
    return frozenset(found)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _is_valid(key: ApiKey, now: datetime) -> bool:
    return key.revoked_at is None and (key.expires_at is None or now < key.expires_at)


def _document(key: ApiKey) -> Document:
    return {
        "keyId": key.key_id,
        "kind": key.kind.value,
        "name": key.name,
        "scopes": sorted(scope.value for scope in key.scopes),
        "agentId": key.agent_id,
        "allowedOrigins": list(key.allowed_origins),
        "createdAt": key.created_at,
        "expiresAt": key.expires_at,
        "revokedAt": key.revoked_at,
        "lastUsedAt": key.last_used_at,
    }


def _key(stored: Mapping[str, Any]) -> ApiKey | None:
    """The key; None for a document that is none: it opens nothing."""
    try:
        return ApiKey(
            key_id=stored["keyId"],
            owner_id=stored["ownerId"],
            kind=stored["kind"],
            name=stored.get("name") or "",
            # A scope that this version does not know allows nothing in it.
            scopes=frozenset(Scope(one) for one in stored.get("scopes") or () if one in _SCOPES),
            agent_id=stored.get("agentId"),
            allowed_origins=tuple(stored.get("allowedOrigins") or ()),
            created_at=stored["createdAt"],
            expires_at=stored.get("expiresAt"),
            revoked_at=stored.get("revokedAt"),
            last_used_at=stored.get("lastUsedAt"),
        )
    except (KeyError, ValidationError):
        return None
