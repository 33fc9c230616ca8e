"""The stores of unified memory, and the limits they are used under."""

from __future__ import annotations

from dataclasses import dataclass, field

from src.services.background import Background
from src.services.breaker import Breaker, BreakerPolicy
from src.services.memory_ports import ConversationArchive, MemoryJournal, SessionStore
from src.services.ports import Clock

_PROBE = "probe"
"""A session and a person that nobody is."""


@dataclass(frozen=True)
class MemoryStores:
    """Where memory is kept."""

    sessions: SessionStore
    archive: ConversationArchive
    journal: MemoryJournal


@dataclass(frozen=True)
class GuardedStores:
    """The stores, and what bounds the operations that somebody waits for."""

    stores: MemoryStores
    sessions: Breaker
    archive: Breaker


@dataclass(frozen=True)
class WritePolicy:
    """The limits of writing; durations in seconds."""

    budget_s: float = 0.1
    """How long a write is waited for; it goes on in the background."""
    masking_s: float = 0.05
    """A masking that takes longer is noted on the entry as late."""
    journal_s: float = 0.5
    archive_s: float = 2.0
    """One transaction of the archive."""
    first_pause_s: float = 0.25
    """After a failed transaction; doubled after each further one."""
    longest_pause_s: float = 8.0


@dataclass(frozen=True)
class MemoryPolicy:
    """The limits of unified memory; durations in seconds."""

    writes: WritePolicy = field(default_factory=WritePolicy)
    sessions: BreakerPolicy = field(default_factory=lambda: BreakerPolicy(timeout_s=0.08))
    """Given up before a writer stops waiting, who then still hears that the journal has the item, and
    does not wait for the store a second time to read."""
    archive: BreakerPolicy = field(default_factory=lambda: BreakerPolicy(timeout_s=0.2))
    """For what is read at the start of a session, or while somebody waits."""
    slow_s: float = 10.0
    """For what no call waits for: an export, a change of settings, one surface of a deletion."""


def guard(
    stores: MemoryStores, *, clock: Clock, background: Background, policy: MemoryPolicy
) -> GuardedStores:
    """The stores with a breaker each."""
    sessions = Breaker(
        name="session_store",
        probe=lambda: stores.sessions.metadata(_PROBE),
        clock=clock,
        background=background,
        policy=policy.sessions,
    )
    archive = Breaker(
        name="archive",
        probe=lambda: stores.archive.settings(_PROBE),
        clock=clock,
        background=background,
        policy=policy.archive,
    )
    return GuardedStores(stores, sessions, archive)
