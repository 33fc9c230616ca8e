"""Placing calls, and the work that follows them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from src.schemas.contact import Turn


class DialRequest(BaseModel):
    """One call to place."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    room: str
    phone: str
    """E.164."""
    participant_identity: str
    ring_timeout_s: float


class SummaryTask(BaseModel):
    """A finished call that a worker has claimed in order to summarise it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    contact_uid: str
    transcript: tuple[Turn, ...]
    language: str
    attempt: int
    """1 for the first try."""
    claim: str
    """Proof of the claim: unique per claim."""
