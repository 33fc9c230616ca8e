"""What the control plane needs of the media server: jobs, rooms, tokens and dialled numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from src.schemas.job_metadata import JobMetadata


class Dispatcher(Protocol):
    """Sends agents into rooms."""

    async def dispatch(self, room: str, metadata: JobMetadata) -> None:
        """Open a room with one job in it; nothing happens if the room is there already.

        Raises:
            MediaServerError: it was refused, or nobody knows whether it was done.
        """

    async def cancel(self, room: str) -> bool:
        """Close the room, and with it whatever rings or talks there; it may be closed already.

        Returns:
            False if it is certain that no agent had taken the job, so that nobody but the caller of
            this method can tell how the call ended.

        Raises:
            MediaServerError: the room may still be open.
        """


@dataclass(frozen=True)
class RoomPass:
    """What one visitor may do: be in one room, and nothing else."""

    room: str
    identity: str
    microphone: bool
    """False lets the visitor write only."""
    job: JobMetadata | None
    """The job that their coming starts, readable by the visitor; None if it was started already."""


class RoomTokens(Protocol):
    """Signs passes."""

    @property
    def server_url(self) -> str:
        """Where a browser reaches the media server: `ws://` or `wss://`."""

    def sign(self, room_pass: RoomPass, *, ttl_s: int) -> str:
        """A token that opens the door for `ttl_s` seconds; who is inside may stay."""


RuleState = Literal["ok", "missing", "differs", "unneeded"]
"""`unneeded`: there is a rule though no number is bound."""


@dataclass(frozen=True)
class NumberDrift:
    """Where the media server differs from what our records say it should know."""

    missing: tuple[str, ...] = ()
    """Bound by us, unknown to the server: calls to them do not arrive."""
    unknown: tuple[str, ...] = ()
    """Known to the server and bound by nobody: calls to them find no agent."""
    rule: RuleState = "ok"
    """The rule that sends agents to calls."""


class NumberProvisioning(Protocol):
    """Keeps the media server's numbers as our records have them."""

    async def reconcile(self) -> None:
        """Make the server know exactly the numbers that are bound; may be repeated, and run at once.

        Raises:
            MediaServerError: the server refused, or did not come to rest.
            ContactStoreError: the records could not be read.
        """

    async def drift(self) -> NumberDrift:
        """What `reconcile` would change.

        Raises:
            MediaServerError: the server refused.
            ContactStoreError: the records could not be read.
        """


class BoundNumbers(Protocol):
    """The numbers of all owners together, and nothing else of them.

    The media server has one list for everybody, so that bringing it up to date is the one thing which
    may not stop at an owner.
    """

    async def bound(self) -> Sequence[str]:
        """Every bound number (E.164), sorted.

        Raises:
            ContactStoreError: the store failed.
        """
