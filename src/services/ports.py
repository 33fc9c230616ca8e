"""What the services need from the outside world. Each adapter and each fake implements one of these."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from src.schemas.agent_meta_schema import AgentMeta
from src.schemas.calls import DialRequest
from src.schemas.contact import (
    CallEnd,
    ContactQuery,
    ContactStatus,
    NewContact,
    PastConversation,
    RememberedVariables,
    Turn,
)
from src.schemas.seed import NumberBinding, PastContact


class Clock(Protocol):
    """Time as a port, so that tests own it."""

    def now(self) -> datetime:
        """The wall clock: aware, UTC."""

    def monotonic(self) -> float:
        """Seconds that never go back."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class ContactHistory(Protocol):
    """Reads of earlier calls. The store matches candidates; who is the same person is decided above it."""

    def conversations(self, query: ContactQuery) -> AsyncGenerator[PastConversation, None]:
        """Calls with a non-blank summary, newest first (ties: by contactUID, descending).

        Raises:
            ContactStoreError: the store failed.
        """

    def variables(self, query: ContactQuery) -> AsyncGenerator[RememberedVariables, None]:
        """Outbound calls that carry at least one non-blank variable, newest first (ties as above).

        Raises:
            ContactStoreError: the store failed.
        """


class CallRecords(Protocol):
    """Writes of the current call's contact record. Every write may be repeated without harm.

    What a write tells of (see `call_events`) is put into the record's outbox by the same write, once.
    """

    async def open(self, contact: NewContact) -> None:
        """Create the record, or complete the one a campaign made; a final status is never undone.

        Raises:
            ContactStoreError: the store failed.
        """

    async def mark(self, contact_uid: str, status: ContactStatus) -> None:
        """Move the call on; a final status is never undone.

        Raises:
            ContactStoreError: the store failed.
        """

    async def withdrawn(self, contact_uid: str) -> bool:
        """Whether the call is not to be placed any more: its end was asked for, or it is over.

        Raises:
            ContactStoreError: the store failed.
        """

    async def close(self, contact: NewContact, end: CallEnd) -> None:
        """Store transcript, status and receipt, and that the call waits for its analysis: all or nothing.

        Creates the record if `open` never got through. The first close wins.

        Raises:
            ContactStoreError: the store failed.
        """


class Agents(Protocol):
    """Reads of agents."""

    async def by_id(self, agent_id: str) -> AgentMeta:
        """The agent.

        Raises:
            AgentNotFoundError: there is none.
            ContactStoreError: the store failed.
        """

    async def by_number(self, number: str) -> AgentMeta:
        """The agent bound to a dialled number (E.164).

        Raises:
            AgentNotFoundError: no agent is bound to it.
            ContactStoreError: the store failed.
        """


class CallLease(Protocol):
    """Makes sure that one job, not two, speaks in a call."""

    async def acquire(self, call_key: str, holder: str) -> bool:
        """Whether `holder` may serve the call. True when the store is away: the caller is always answered."""


class Summariser(Protocol):
    """Writes the summary of one call."""

    async def summarise(self, transcript: Sequence[Turn], *, language: str) -> str:
        """Three to four sentences.

        Raises:
            LanguageModelError: no usable answer.
        """


class Telephony(Protocol):
    """Places calls."""

    async def dial(self, request: DialRequest) -> None:
        """Ring the callee and return once they answer.

        Raises:
            CallNotAnsweredError: they did not.
        """

    async def hang_up(self, room: str) -> None:
        """End the call by closing its room."""


class TokenCounter(Protocol):
    """Counts tokens as the language model does."""

    def __call__(self, text: str) -> int:
        """Tokens in `text`."""


class AgentCache(Protocol):
    """The last known copy of each agent, for calls that arrive while the agent store is away."""

    async def put(self, key: str, agent: AgentMeta) -> None:
        """Keep a copy; failures are swallowed and logged."""

    async def get(self, key: str) -> AgentMeta | None:
        """The copy, or None if there is none or the cache is away."""


class CallJournal(Protocol):
    """Finished calls on this machine's disk until the store has them."""

    async def write(self, contact: NewContact, end: CallEnd) -> None:
        """Keep the call, durably; replaces an earlier copy."""

    async def pending(self) -> Sequence[tuple[NewContact, CallEnd]]:
        """The calls kept, oldest first. What cannot be read is set aside and counted, never raised."""

    async def remove(self, contact_uid: str) -> None:
        """Forget the call; nothing happens if it is not there."""


class Catalogue(Protocol):
    """The collections as the seed command fills them. Every write may be repeated without harm."""

    async def prepare(self) -> Sequence[str]:
        """Create the indexes; one sentence per index that the data did not allow.

        Raises:
            ContactStoreError: the store failed.
        """

    async def put_agents(self, agents: Sequence[Mapping[str, Any]]) -> None:
        """Store agents as documents (see `agent_config`), replacing those of the same `agentId`.

        Raises:
            ContactStoreError: the store failed.
        """

    async def bind_numbers(self, bindings: Sequence[NumberBinding]) -> None:
        """Let dialled numbers lead to agents.

        Raises:
            ContactStoreError: the store failed.
        """

    async def put_contacts(self, contacts: Sequence[PastContact]) -> None:
        """Store finished calls, replacing those of the same contactUID.

        Raises:
            ContactStoreError: the store failed.
        """

    async def backfill(self) -> int:
        """Give older contact records the fields that lookups need; the number of records changed.

        Raises:
            ContactStoreError: the store failed.
        """
