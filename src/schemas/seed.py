"""What the seed command loads: agents, the numbers that lead to them, and finished calls."""

from __future__ import annotations

from typing import Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from src.schemas.contact import CallDirection, ContactStatus, NewContact
from src.schemas.job_metadata import E164


class NumberBinding(BaseModel):
    """A dialled number and the agent that answers it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: E164
    agent_id: str = Field(alias="agentId", min_length=1)
    owner_id: str = Field(default="", exclude=True)
    """The agent's owner; filled in when the file is read."""


class PastContact(BaseModel):
    """A finished call, ready to be stored."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    contact: NewContact
    summary: str | None


class SeedContact(BaseModel):
    """A finished call as the file names it: the fields of the contact document.

    A date may be given as an age, so that an example stays within the usual history windows.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    contactUID: str = Field(min_length=1)  # noqa: N815 - the document's own name, as below
    AgentID: str = Field(min_length=1)
    phone: str = Field(min_length=1)
    callDirection: CallDirection  # noqa: N815
    status: ContactStatus = ContactStatus.COMPLETED
    dynamicVariables: dict[str, str] = Field(default_factory=dict)  # noqa: N815
    conversation_summary: str | None = None
    campaignId: str | None = None  # noqa: N815
    callStartedAt: AwareDatetime | None = None  # noqa: N815
    startedDaysAgo: float | None = Field(default=None, ge=0)  # noqa: N815

    @model_validator(mode="after")
    def _has_one_date(self) -> SeedContact:
        if (self.callStartedAt is None) == (self.startedDaysAgo is None):
            raise ValueError("give either callStartedAt or startedDaysAgo")
        return self


class SeedDocument(BaseModel):
    """A text for a knowledge base."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ownerId: str = Field(min_length=1)  # noqa: N815
    knowledgeBaseId: str = Field(min_length=1)  # noqa: N815
    name: str = Field(min_length=1)
    """File name with its extension, which says how the text is read."""
    text: str = Field(min_length=1)
    language: str = "en"


class SeedFile(BaseModel):
    """The file as a whole; agents are checked one by one, as `AgentMeta`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    agents: tuple[dict[str, Any], ...] = ()
    phoneNumbers: tuple[NumberBinding, ...] = ()  # noqa: N815
    contacts: tuple[SeedContact, ...] = ()
    documents: tuple[SeedDocument, ...] = ()


class SeedCounts(BaseModel):
    """What a run of the seed command wrote."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    agents: int = 0
    phone_numbers: int = 0
    contacts: int = 0
    documents: int = 0
    backfilled: int = 0
    """Older contact records that lookups can find from now on."""
    problems: tuple[str, ...] = ()
    """Indexes that the data did not allow."""
