"""The media server in memory: jobs, rooms, tokens and dialled numbers."""

from collections.abc import Sequence

from typing_extensions import override

from src.schemas.job_metadata import JobMetadata
from src.services.call_ports import (
    BoundNumbers,
    Dispatcher,
    NumberDrift,
    NumberProvisioning,
    RoomPass,
    RoomTokens,
)
from tests.fakes.faults import Faults


class FakeDispatcher(Dispatcher):
    """`jobs` by room; a room in `taken` has an agent; closed rooms gather in `cancelled`."""

    def __init__(self) -> None:
        self.jobs: dict[str, JobMetadata] = {}
        self.taken: set[str] = set()
        self.cancelled: list[str] = []
        self.faults = Faults()

    @override
    async def dispatch(self, room: str, metadata: JobMetadata) -> None:
        await self.faults.check()
        self.jobs.setdefault(room, metadata)

    @override
    async def cancel(self, room: str) -> bool:
        await self.faults.check()
        self.cancelled.append(room)
        return self.jobs.pop(room, None) is None or room in self.taken


class FakeRoomTokens(RoomTokens):
    """A token is its place in `passes`."""

    def __init__(self) -> None:
        self.passes: list[tuple[RoomPass, int]] = []

    @property
    @override
    def server_url(self) -> str:
        return "wss://media.example.com"

    @override
    def sign(self, room_pass: RoomPass, *, ttl_s: int) -> str:
        self.passes.append((room_pass, ttl_s))
        return f"token-{len(self.passes)}"


class FakeProvisioning(NumberProvisioning):
    """Counts what it is asked; `found` is the drift it tells of."""

    def __init__(self, found: NumberDrift | None = None) -> None:
        self.reconciled = 0
        self.found = found or NumberDrift()
        self.faults = Faults()

    @override
    async def reconcile(self) -> None:
        await self.faults.check()
        self.reconciled += 1

    @override
    async def drift(self) -> NumberDrift:
        await self.faults.check()
        return self.found


class InMemoryNumbers(BoundNumbers):
    """A set of numbers."""

    def __init__(self, *numbers: str) -> None:
        self.numbers = set(numbers)

    @override
    async def bound(self) -> Sequence[str]:
        return sorted(self.numbers)
