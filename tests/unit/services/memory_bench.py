"""A memory service with everything it works with."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from src.schemas.errors import MemoryStoreError
from src.schemas.memory import MemoryEntry
from src.services.breaker import BreakerPolicy
from src.services.erasure import Surface
from src.services.memory_stores import MemoryPolicy, WritePolicy
from src.services.unified_memory import UnifiedMemoryService
from tests.fakes.clock import FakeClock
from tests.fakes.memory import FakeStores
from tests.fakes.redactor import FakeRedactor

AWAY = MemoryStoreError("away")
USER = "u-1"
SESSION = "s1"
POLICY = MemoryPolicy(
    writes=WritePolicy(budget_s=5), sessions=BreakerPolicy(timeout_s=0.02, probe_s=0.02)
)


def said(text: str, role: str = "user", mode: str = "voice", **fields: Any) -> MemoryEntry:
    """A message."""
    return MemoryEntry(role=role, content=text, mode=mode, **fields)  # type: ignore[arg-type]  # of a test's own literals


class Bench:
    """Two processes may follow each other over the same stores."""

    def __init__(self, *, surfaces: Sequence[Surface] = (), policy: MemoryPolicy = POLICY) -> None:
        self.clock = FakeClock()
        self.fakes = FakeStores(self.clock)
        self.redactor = FakeRedactor()
        self._surfaces = surfaces
        self._policy = policy
        self.memory = self.process()
        self._processes = [self.memory]

    def process(self) -> UnifiedMemoryService:
        """A service as a new process makes it."""
        return UnifiedMemoryService(
            stores=self.fakes.stores,
            redactor=self.redactor,
            clock=self.clock,
            policy=self._policy,
            surfaces=self._surfaces,
        )

    async def restart(self) -> None:
        """End the process and begin another."""
        await self.memory.aclose()
        self.memory = self.process()

    async def say(self, *texts: str, session: str = SESSION, user: str = USER) -> None:
        """Messages, one after the other, a second apart."""
        for text in texts:
            self.clock.advance(1)
            await self.memory.add_entry(session, said(text, id=text), user)

    async def archived(self, session: str = SESSION) -> list[str]:
        """What the archive has of a session once everything is written."""
        await self.memory.flush(session, deadline_s=5)
        return [one.content for one in await self.fakes.raw.archive.load_conversation(session)]

    async def live(self, session: str = SESSION) -> list[str]:
        """What the session store has."""
        return [one.content for one in await self.fakes.raw.sessions.load_session(session)]

    async def history(self, session: str = SESSION) -> list[str]:
        """What the service tells."""
        return [one.content for one in await self.memory.get_history(session, 50)]

    async def journalled(self) -> list[str]:
        """Contents of the entries in the journal."""
        pending = await self.fakes.raw.journal.pending()
        return [one.content for one in pending if isinstance(one, MemoryEntry)]


@asynccontextmanager
async def bench(**fields: Any) -> AsyncIterator[Bench]:
    """A bench whose tasks end with the test."""
    made = Bench(**fields)
    try:
        yield made
    finally:
        for faults in (made.fakes.session_faults, made.fakes.archive_faults):
            faults.error = None
            faults.up.set()
        made.redactor.free.set()
        await made.memory.aclose()


async def until(condition: Any) -> None:
    """Wait until it holds."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - no condition here has an event
            await asyncio.sleep(0.001)
