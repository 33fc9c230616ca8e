"""Placing calls, and the limits they are served under."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class DialRequest(BaseModel):
    """One call to place."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    room: str
    phone: str
    """E.164."""
    participant_identity: str
    ring_timeout_s: float


class CallPolicy(BaseModel):
    """The limits every call is served under; durations in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    memory_deadline_s: float = 0.3
    """For both look-ups while somebody waits: after an answer, in a web session."""
    ringing_memory_deadline_s: float = 1.0
    """For both look-ups while an inbound call rings: nobody waits in silence, and the greeting comes
    as soon after the answer as it would otherwise. Also for a handoff, where a moment is natural and
    nothing could join later."""
    late_memory_s: float = 5.0
    """How long a look-up that missed its deadline may still run, to join before a later turn."""
    agent_deadline_s: float = 0.3
    """For the agent store, before the last known copy is used."""
    attribute_wait_s: float = 0.3
    """For a caller's number that arrives after the caller."""
    participant_wait_s: float = 20.0
    ring_timeout_s: float = 30.0
    record_write_s: float = 2.0
    """One write of a contact record."""
    record_budget_s: float = 120.0
    """All tries of the last write of a call together."""
    apology_s: float = 10.0
    """The sentence said when a call fails."""
    memory_flush_s: float = 20.0
    """At the end of a call, for the archive to have all of it; the rest waits in the journal."""
    history_max_tokens: int = 1200
    default_region: str | None = None
    """ISO 3166 region in which national numbers are read; None leaves them national."""


class TurnPolicy(BaseModel):
    """When a caller's turn counts as over; durations in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    vad_silence_s: float = 0.3
    threshold: float | None = None
    """Probability from which a pause is taken for the end of the turn; None takes the model's own."""
    endpoint_min_s: float = 0.58
    """From the caller's last sound to the end of a turn that sounds complete.

    Longer than a pause for thought of half a second and the time it takes to notice that the caller
    goes on: nobody is cut off there, whatever the detector thinks.
    """
    endpoint_max_s: float = 1.0
    """The same for a turn that sounds unfinished."""
