"""The memory receipt: what a call was told of earlier calls, and why. Holds no words, numbers or names."""

from __future__ import annotations

from enum import StrEnum

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field


class MemoryOutcome(StrEnum):
    """How one memory feature ended for this call."""

    OFF = "off"
    NO_PHONE = "no_phone"
    NOTHING_FOUND = "nothing_found"
    APPLIED = "applied"
    LATE = "late"
    """Missed the deadline and has not arrived (yet); `APPLIED` replaces it if it joins later."""
    FAILED = "failed"


class RefusalReason(StrEnum):
    """Why a candidate record was not used."""

    DIFFERENT_NUMBER = "different_number"
    """Same last ten digits, but both numbers are full E.164 and differ: another person."""
    AMBIGUOUS = "ambiguous"
    """The caller's number has no country, and the candidates belong to more than one."""
    DUPLICATE = "duplicate"
    """An older record of a contactUID that was already taken."""
    BEYOND_MAXIMUM = "beyond_maximum"
    """Within the window, but more than the configured number of newer ones exist."""
    BEYOND_TOKENS = "beyond_tokens"
    """The block had no room left for it."""


class FeatureReceipt(BaseModel):
    """What one of the two features did."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcome: MemoryOutcome = MemoryOutcome.OFF
    contact_uids: tuple[str, ...] = ()
    """The records that were used, oldest first."""
    variables: tuple[str, ...] = ()
    """Names (never values) of the variables that were filled."""
    agent_ids: tuple[str, ...] = ()
    window_start: AwareDatetime | None = None
    refused: dict[RefusalReason, int] = Field(default_factory=dict)
    refused_uids: dict[RefusalReason, tuple[str, ...]] = Field(
        default_factory=dict, exclude=True, repr=False
    )
    """Which records were refused, newest first. Not stored: a record of another person is not this
    call's to name."""
    took_ms: float = 0.0


class MemoryReceipt(BaseModel):
    """Stored on the call's own contact record."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    history: FeatureReceipt = FeatureReceipt()
    variables: FeatureReceipt = FeatureReceipt()
