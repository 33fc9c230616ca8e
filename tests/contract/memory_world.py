"""The world of the memory state machine: stores that fail, processes that die, and a plain model."""

import asyncio
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime, time
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from typing_extensions import override

from src.adapters.memory_journal import FileMemoryJournal
from src.adapters.postgres import Postgres
from src.adapters.postgres_memory import PostgresMemoryStore
from src.adapters.redis_client import connect_redis
from src.adapters.redis_memory import RedisMemoryStore
from src.schemas.memory import WINDOW, MemoryEntry, Mode
from src.services.breaker import BreakerPolicy
from src.services.cross_session import SessionSummaries
from src.services.in_memory_archive import InMemoryArchive
from src.services.in_memory_journal import InMemoryJournal
from src.services.in_memory_sessions import InMemorySessions
from src.services.memory_stores import MemoryPolicy, MemoryStores, WritePolicy
from src.services.ports import Clock
from src.services.unified_memory import UnifiedMemoryService
from tests.contract.memory_stores import content_of, ttls
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Faults
from tests.fakes.memory import Mortal, dump, failing
from tests.fakes.redactor import FakeRedactor
from tests.fakes.summariser import EchoingSummariser

T = TypeVar("T")
OWNERS = {"s1": "u-1", "s2": "u-1", "s3": "u-2"}
"""Sessions and whose they are."""
PATIENT = 30.0


class Still(FakeClock):
    """Sleeping lets others run, and moves nothing."""

    @override
    async def sleep(self, seconds: float) -> None:
        for _ in range(20):
            await asyncio.sleep(0)


class Inline(ThreadPoolExecutor):
    """Does the work of threads at once, so that a story can be told again."""

    @override
    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - as a thread would
            future.set_exception(error)
        return future


@dataclass
class Told:
    """An entry or event as the model knows it."""

    id: str
    at: datetime
    certain: bool = True
    """False: its writer never learned whether it was stored, so both is right."""


@dataclass
class Session:
    """A session as the model knows it."""

    entries: list[Told] = field(default_factory=list)
    events: list[Told] = field(default_factory=list)
    window_from: int = 0
    """Older entries may be missing from the live window: a part of the session was deleted."""


class World(ABC):
    """What outlives a process: the stores. Everything in them is reached through `stores`."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    @property
    @abstractmethod
    def stores(self) -> MemoryStores:
        """The stores themselves."""

    @abstractmethod
    async def lose_sessions(self) -> None:
        """The session store loses everything it holds."""

    @abstractmethod
    async def content(self) -> str:
        """All that the stores hold."""

    @abstractmethod
    async def lifetimes(self) -> list[float]:
        """Seconds that each session has left."""

    @abstractmethod
    async def open(self) -> None:
        """Find the stores empty."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of the stores."""


class InMemoryWorld(World):
    """In this process."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._sessions = InMemorySessions(clock)
        self._archive = InMemoryArchive(clock=clock)
        self._journal = InMemoryJournal()

    @property
    @override
    def stores(self) -> MemoryStores:
        return MemoryStores(self._sessions, self._archive, self._journal)

    @override
    async def open(self) -> None:
        asyncio.get_running_loop().set_default_executor(Inline())

    @override
    async def close(self) -> None:
        pass

    @override
    async def lose_sessions(self) -> None:
        self._sessions.__init__(self.clock)  # type: ignore[misc]  # emptied where others refer to it

    @override
    async def content(self) -> str:
        return dump(self._sessions, self._archive, self._journal)

    @override
    async def lifetimes(self) -> list[float]:
        now = self.clock.now()
        ends = [one.expires_at for one in self._sessions._sessions.values()]
        # What is over waits to be swept out, and is as good as gone.
        return [(end - now).total_seconds() if end else -1 for end in ends if not end or end > now]


class Play:
    """A process over a world, and what the model says it did."""

    def __init__(self, world: World, clock: FakeClock) -> None:
        self.world = world
        self.clock = clock
        self.model = {name: Session() for name in OWNERS}
        self.deleted: set[str] = set()
        self.switches = 0
        self._number = 0
        self.session_faults, self.archive_faults = Faults(), Faults()
        self.mortal = Mortal()
        self.memory = self._process()

    def _process(self) -> UnifiedMemoryService:
        self.mortal = Mortal()
        stores = self.mortal.stores(self.world.stores)
        slow = BreakerPolicy(timeout_s=PATIENT, probe_s=PATIENT)
        return UnifiedMemoryService(
            stores=MemoryStores(
                failing(stores.sessions, self.session_faults),
                failing(stores.archive, self.archive_faults),
                stores.journal,
            ),
            redactor=FakeRedactor(),
            clock=self.clock,
            policy=MemoryPolicy(
                writes=WritePolicy(budget_s=PATIENT, archive_s=PATIENT, journal_s=PATIENT),
                sessions=slow,
                archive=slow,
                slow_s=PATIENT,
            ),
        )

    def message(self, mode: Mode) -> MemoryEntry:
        """One that no other is like."""
        self.clock.advance(1)
        self._number += 1
        return MemoryEntry(
            role="user" if self._number % 2 else "assistant",
            content=f"word{self._number}x",
            mode=mode,
            id=f"word{self._number}x",
            timestamp=self.clock.now(),
        )

    async def say(self, session: str, *entries: MemoryEntry) -> None:
        """Add at once; the order is that of the calls."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self.memory.add_entry(session, entry, OWNERS[session]))
                for entry in entries
            ]
        for entry, task in zip(entries, tasks, strict=True):
            assert task.result().stored
            self.note(session, entry, certain=True)

    async def again(self, session: str, told: Told) -> None:
        """The same message is delivered another time."""
        entry = replace(self.message("voice"), id=told.id, content=told.id, timestamp=told.at)
        await self.memory.add_entry(session, entry, OWNERS[session])

    def note(self, session: str, entry: MemoryEntry, *, certain: bool) -> None:
        """The model's part of it."""
        assert entry.timestamp is not None
        self.model[session].entries.append(Told(entry.id, entry.timestamp, certain))

    async def happen(self, session: str, event_type: str, **data: str) -> None:
        """An event."""
        self.clock.advance(1)
        self.switches += 1
        name = f"event{self.switches}x"
        await self.memory.begin_session(session, user_id=OWNERS[session])
        await self.memory.add_event(session, event_type, {**data, "name": name}, event_id=name)
        self.model[session].events.append(Told(name, self.clock.now()))

    async def die_while_saying(
        self, session: str, entry: MemoryEntry, *, after: int, done_first: bool
    ) -> None:
        """The process dies at one of its operations; the next one begins with a replay."""
        self.mortal.die_after(after, done_first=done_first)
        saying = asyncio.ensure_future(self.memory.add_entry(session, entry, OWNERS[session]))
        death = asyncio.ensure_future(self.mortal.dead.wait())
        await asyncio.wait({saying, death}, return_when=asyncio.FIRST_COMPLETED)
        acknowledged = saying.done() and saying.result().stored
        saying.cancel()
        death.cancel()
        await asyncio.gather(saying, death, return_exceptions=True)
        self.note(session, entry, certain=acknowledged)
        await self.restart()

    async def restart(self) -> None:
        """A new process, when all stores are there."""
        await self.memory.aclose()
        self.session_faults.error = self.archive_faults.error = None
        self.memory = self._process()
        await self.memory.replay()

    async def settle(self) -> None:
        """All stores are there, and have everything."""
        self.session_faults.error = self.archive_faults.error = None
        for session in OWNERS:
            assert await self.memory.flush(session, deadline_s=PATIENT) == 0
        assert await self.memory.replay() == 0
        assert await self.world.stores.journal.pending() == ()

    async def look(self) -> None:
        """Everything is there, once, in order; nothing is there that was deleted."""
        await self.settle()
        for name, session in self.model.items():
            await self._look_at(name, session)
        await self._look_for_deleted()
        assert all(0 < left <= 86_400 for left in await self.world.lifetimes())

    async def _look_at(self, name: str, session: Session) -> None:
        archive = self.world.stores.archive
        archived = await archive.load_conversation(name)
        found = [one.id for one in archived]
        _resolve(session.entries, found)
        expected = [one.id for one in session.entries]
        assert found == expected, (name, found[-5:], expected[-5:])
        assert sorted(one.sequence for one in archived) == [one.sequence for one in archived]
        history = [one.id for one in await self.memory.get_history(name, WINDOW)]
        assert len(history) <= WINDOW
        assert found[len(found) - len(history) :] == history, (name, found[-5:], history[-5:])
        least = min(WINDOW, len(found) - session.window_from)
        assert len(history) >= least, (name, len(history), least, len(found))
        events = [one.id for one in await archive.load_events(name)]
        happened = [one.id for one in session.events]
        assert events == happened, (name, events, happened)
        live = await self.world.stores.sessions.load_session(name)
        assert [one.sequence for one in live] == sorted({one.sequence for one in live})

    async def _look_for_deleted(self) -> None:
        content = await self.world.content()
        assert [one for one in self.deleted if one in content] == []

    async def delete(self, scope: Any, user: str, session: str | None = None) -> None:
        """Delete, in the model too."""
        await self.settle()
        await self.look()
        self.clock.advance(1)
        now = self.clock.now()
        midnight = datetime.combine(now.date(), time(), now.tzinfo)
        receipt = await self.memory.delete_user_memory(user, scope, session)
        assert receipt.complete
        for name, one in self.model.items():
            theirs = OWNERS[name] == user
            if (scope == "session" and name == session) or (scope == "all" and theirs):
                self._forget(one, datetime.min.replace(tzinfo=now.tzinfo))
            elif scope == "day" and theirs:
                self._forget(one, midnight)
        await self.look()

    def _forget(self, session: Session, since: datetime) -> None:
        gone = {one.id for one in (*session.entries, *session.events) if one.at >= since}
        session.entries = [one for one in session.entries if one.id not in gone]
        session.events = [one for one in session.events if one.id not in gone]
        session.window_from = len(session.entries)
        self.deleted |= gone

    async def summarise(self) -> None:
        """Every session that is over gets a summary, with words of it."""
        await self.settle()
        self.clock.advance(3600)
        summaries = SessionSummaries(
            archive=self.world.stores.archive,
            summariser=EchoingSummariser(),
            redactor=FakeRedactor(),
            clock=self.clock,
        )
        await summaries.run_once()
        assert await summaries.run_once() == 0

    async def export(self, user: str) -> None:
        """A copy of everything is what the model knows."""
        await self.look()
        exported = await self.memory.export(user)
        assert exported["pending"] == []
        found = {
            one["session_id"]: [entry["id"] for entry in one["entries"]]
            for one in exported["sessions"]
        }
        expected = {
            name: [one.id for one in session.entries]
            for name, session in self.model.items()
            if OWNERS[name] == user and (session.entries or session.events)
        }
        assert found == expected


def _resolve(told: list[Told], found: list[str]) -> None:
    """Whether the uncertain ones were stored is known now."""
    there = set(found)
    told[:] = [one for one in told if one.certain or one.id in there]
    for one in told:
        one.certain = True


class RealWorld(World):
    """Valkey, PostgreSQL and a folder, which each life of the world finds empty."""

    redis_url = ""
    postgres_url = ""
    folder = Path()

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._redis = connect_redis(self.redis_url, timeout_s=PATIENT)
        self._postgres = Postgres(url=self.postgres_url)
        self._journal = self.folder / uuid.uuid4().hex
        self._stores = MemoryStores(
            RedisMemoryStore(self._redis, clock=clock, deadline_s=PATIENT),
            PostgresMemoryStore(postgres=self._postgres, clock=clock, deadline_s=PATIENT),
            FileMemoryJournal(self._journal),
        )

    @property
    @override
    def stores(self) -> MemoryStores:
        return self._stores

    @override
    async def open(self) -> None:
        await self._redis.flushall()
        with psycopg.connect(self.postgres_url, autocommit=True) as connection:
            connection.execute(f"TRUNCATE {', '.join(_tables(connection))} CASCADE")

    @override
    async def lose_sessions(self) -> None:
        await self._redis.flushall()

    @override
    async def content(self) -> str:
        with psycopg.connect(self.postgres_url) as connection:
            rows = [
                connection.execute(f"SELECT t::text FROM {table} t").fetchall()  # noqa: S608 - names of our own
                for table in _tables(connection)
            ]
        files = [path.read_text() for path in self._journal.glob("*") if path.is_file()]
        return str((rows, files, await content_of(self._redis)))

    @override
    async def lifetimes(self) -> list[float]:
        return list((await ttls(self._redis)).values())

    @override
    async def close(self) -> None:
        await self._redis.aclose()
        await self._postgres.aclose()


def _tables(connection: psycopg.Connection[Any]) -> list[str]:
    found = connection.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        " AND tablename <> 'alembic_version' AND tablename NOT LIKE 'procrastinate%'"
    )
    return [f'"{name}"' for (name,) in found]
