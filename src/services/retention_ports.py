"""What the retention of call records needs from its stores."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True)
class SpokenCall:
    """A call record that still holds what was said."""

    key: object
    """The store's own name of the record."""
    user_id: str
    """The person's pseudonym in memory; empty if the record names nobody."""
    said_at: datetime
    """When the call ended; aware, UTC."""
    analysis_pending: bool = False


class SpokenCalls(Protocol):
    """Call records that hold what was said, each with the moment it is to be looked at next.

    Every method raises `ContactStoreError` on failure, and may be repeated without harm.
    """

    async def to_check(self, *, now: datetime, limit: int) -> Sequence[SpokenCall]:
        """Records whose moment is before `now`, the earliest first."""

    async def check_again(self, moments: Mapping[SpokenCall, datetime]) -> None:
        """Have records looked at again; one that was emptied meanwhile stays done with."""

    async def empty(self, calls: Collection[SpokenCall]) -> int:
        """Take what was said out of records, and never look at them again; their number.

        How the call went stays, as do its summary and its variables, which have a window of their
        own. A record that waits for its analysis is left as it is.
        """


class Retentions(Protocol):
    """How long people want to be remembered."""

    async def retention_of(self, user_ids: Collection[str]) -> Mapping[str, int]:
        """Days (`retention_days`) of those of the people who chose; others are left out.

        Raises:
            MemoryStoreError: the store failed or did not answer in time.
        """
