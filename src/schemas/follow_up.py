"""What follows a call: its analysis, the events that tell of it, its record if the worker died."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import AwareDatetime, BaseModel, ConfigDict

from src.schemas.analysis import AnalysisStatus, CallAnalysis
from src.schemas.contact import ContactStatus, NewContact, Turn


class FollowUp(StrEnum):
    """A job that a call leaves to the queue; its subject is the contactUID."""

    ANALYSE = "analyse_call"
    RELAY = "relay_call_events"


class PendingAnalysis(BaseModel):
    """A call that waits for its analysis."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    contact_uid: str
    owner_id: str
    agent_id: str
    transcript: tuple[Turn, ...]
    language: str
    attempts: int
    """Tries so far."""


class FinishedAnalysis(BaseModel):
    """How the analysis of a call ended."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: AnalysisStatus
    at: AwareDatetime
    analysis: CallAnalysis | None = None
    """Present if and only if the status is `done`."""
    error: str | None = None
    """Why it failed; holds nothing that was said."""

    def document(self, attempts: int) -> dict[str, Any]:
        """What the call's record keeps of it under `analysis`, after so many tries."""
        kept: dict[str, Any] = {
            "status": self.status.value,
            "attempts": attempts,
            "analysedAt": self.at,
        }
        if self.error is not None:
            kept["error"] = self.error
        if self.analysis is not None:
            kept |= {
                "outcome": self.analysis.outcome.value,
                "fields": self.analysis.fields,
                "fieldsError": self.analysis.fields_error,
                "openItems": list(self.analysis.open_items),
                "optOut": self.analysis.opt_out,
                "language": self.analysis.language,
            }
        return kept


class OpenCall(BaseModel):
    """A call whose record is not closed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    contact: NewContact
    """`contact.status` is the stored one."""
    erased: bool = False
    """What was said in it was deleted while it went on."""
    hangup_requested: bool = False
    unserved_since: AwareDatetime | None = None
    """When it was first seen that no agent serves it."""

    @property
    def status(self) -> ContactStatus:
        """How far the call got."""
        return self.contact.status
