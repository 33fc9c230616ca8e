"""API keys: who may do what, in whose name."""

from __future__ import annotations

from enum import StrEnum

from pydantic import AwareDatetime, BaseModel, ConfigDict


class KeyKind(StrEnum):
    """Where a key may be known."""

    SECRET = "secret"  # noqa: S105 - the name of a kind
    """In an owner's backend only."""
    PUBLISHABLE = "publishable"
    """In pages that anybody can read: opens web sessions with one agent, from some origins."""


class Scope(StrEnum):
    """One thing that a key allows."""

    AGENTS_READ = "agents:read"
    AGENTS_WRITE = "agents:write"
    CONTACTS_READ = "contacts:read"
    CALLS_WRITE = "calls:write"
    NUMBERS_READ = "numbers:read"
    NUMBERS_WRITE = "numbers:write"
    SESSIONS_WRITE = "sessions:write"
    MEMORY_READ = "memory:read"
    MEMORY_WRITE = "memory:write"
    WEBHOOKS_READ = "webhooks:read"
    WEBHOOKS_WRITE = "webhooks:write"
    SETTINGS_READ = "settings:read"
    SETTINGS_WRITE = "settings:write"


class ApiKey(BaseModel):
    """A key, without the secret part, which is nowhere stored."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key_id: str
    """The part of the token that may be seen."""
    owner_id: str
    kind: KeyKind
    name: str = ""
    scopes: frozenset[Scope] = frozenset()
    agent_id: str | None = None
    """Publishable keys: the one agent they lead to."""
    allowed_origins: tuple[str, ...] = ()
    """Publishable keys: the origins (`https://example.com`) of the pages that may use them."""
    created_at: AwareDatetime
    expires_at: AwareDatetime | None = None
    revoked_at: AwareDatetime | None = None
    last_used_at: AwareDatetime | None = None
