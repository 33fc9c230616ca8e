"""What is known of a call once it was analysed."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict


class AnalysisStatus(StrEnum):
    """Where the analysis of a finished call stands; all but `PENDING` are final."""

    PENDING = "pending"
    DONE = "done"
    NO_CONVERSATION = "no_conversation"
    """One side said nothing: there is nothing to analyse, and nothing is made up."""
    FAILED = "failed"


class Outcome(StrEnum):
    """How a call went for the one who was spoken with, as its transcript shows it."""

    RESOLVED = "resolved"
    """What they wanted, or what the call was for, was answered or done within the call."""
    FOLLOW_UP = "follow_up"
    """Something agreed or promised, by either side, is to be done after the call."""
    CALLBACK = "callback"
    """They asked to be called, or to call, at another time, with the matter itself still open."""
    TRANSFERRED = "transferred"
    """They were handed to a person or to another agent."""
    DECLINED = "declined"
    """They turned down what the call was for."""
    UNRESOLVED = "unresolved"
    """The call ended without what they wanted, and with nothing agreed."""
    WRONG_PERSON = "wrong_person"
    """Somebody else was reached than the one the call was for."""
    VOICEMAIL = "voicemail"
    """A machine answered."""
    UNCLEAR = "unclear"
    """The transcript does not tell."""


class CallAnalysis(BaseModel):
    """One call, analysed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    summary: str
    """Three to four sentences in the call's language."""
    summary_en: str | None
    """The same in English; None if the call was in English."""
    outcome: Outcome
    fields: dict[str, Any] | None
    """What the agent's `analysisSchema` asks for, valid against it unless it was masked afterwards.

    None if the agent asks for nothing, or for the reason in `fields_error`.
    """
    fields_error: str | None = None
    """Why the fields are missing; quotes the schema at most, never what was said."""
    open_items: tuple[str, ...] = ()
    """What was promised and not done within the call, one sentence each."""
    opt_out: bool = False
    """They asked not to be called again."""
    language: str
    """BCP 47, as the call's record has it."""
