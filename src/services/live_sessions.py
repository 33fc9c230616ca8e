"""The sessions that this process serves, each with its writer and its person's settings."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

from src.schemas.errors import MemoryStoreError
from src.schemas.memory import MemorySettings
from src.services.background import Background
from src.services.identity import memory_user_id
from src.services.live_session import LiveSession
from src.services.memory_privacy import Masking
from src.services.memory_stores import GuardedStores, WritePolicy
from src.services.memory_writer import MemoryWriter
from src.services.ports import Clock
from src.services.session_view import learn

MAX_SESSIONS = 512
"""Sessions of one process; beyond that, those with nothing left to write are dropped."""


@dataclass
class _Session:
    writer: MemoryWriter
    begun: bool = False
    beginning: asyncio.Lock = field(default_factory=asyncio.Lock)


class LiveSessions:
    """Begins a session when it is first heard of."""

    def __init__(
        self,
        *,
        guarded: GuardedStores,
        masking: Masking,
        clock: Clock,
        background: Background,
        policy: WritePolicy,
    ) -> None:
        self._guarded = guarded
        self._masking = masking
        self._clock = clock
        self._background = background
        self._policy = policy
        self._sessions: dict[str, _Session] = {}

    def find(self, session_id: str) -> MemoryWriter | None:
        """The session's writer, if this process serves the session."""
        session = self._sessions.get(session_id)
        return session.writer if session else None

    def of(self, user_id: str) -> Iterator[MemoryWriter]:
        """The writers of a person's sessions."""
        for session in tuple(self._sessions.values()):
            if session.writer.live.user_id == user_id:
                yield session.writer

    def all(self) -> list[MemoryWriter]:
        """Every writer."""
        return [session.writer for session in self._sessions.values()]

    def drop(self, session_id: str) -> None:
        """Forget a session that is over."""
        self._sessions.pop(session_id, None)

    async def begun(
        self, session_id: str, *, user_id: str = "", owner_id: str = "", agent_id: str = ""
    ) -> MemoryWriter:
        """The session's writer, once it knows what is to be known at the start of a session.

        Those who wait are served in the order in which they came.
        """
        session = self._sessions.get(session_id)
        if session is None:
            self._make_room()
            session = self._sessions[session_id] = _Session(self._new_writer(session_id))
        async with session.beginning:
            if not session.begun:
                session.writer.live.owner_id = owner_id
                session.writer.live.agent_id = agent_id
                await self._begin(session.writer, user_id)
                session.begun = True
            elif user_id and session.writer.live.provisional:
                await self._learn_person(session.writer.live, user_id)
        return session.writer

    async def _begin(self, writer: MemoryWriter, user_id: str) -> None:
        live, sessions = writer.live, self._guarded.stores.sessions
        stored = await writer.copy.ask(lambda: sessions.metadata(live.session_id)) or {}
        live.metadata.update(stored)
        # Also where the store has the session: only who knows how far it had got can see that it was lost.
        await learn(writer, self._guarded)
        stored = live.metadata
        live.owner_id = live.owner_id or stored.get("owner_id", "")
        live.agent_id = live.agent_id or stored.get("agent_id", "")
        user_id = user_id or stored.get("user_id", "")
        live.provisional = not user_id
        if live.provisional:
            user_id = memory_user_id(live.owner_id, session_id=live.session_id)
        await self._learn_person(live, user_id)

    async def _learn_person(self, live: LiveSession, user_id: str) -> None:
        """Read what the person chose; while the archive is away, the defaults mask everything."""
        live.user_id = user_id
        archive, guard = self._guarded.stores.archive, self._guarded.archive
        try:
            live.settings, live.preferences = await asyncio.gather(
                guard.call(lambda: archive.settings(user_id)),
                guard.call(lambda: archive.preferences(user_id)),
            )
        except MemoryStoreError:
            live.settings, live.settings_known = MemorySettings(), False
        else:
            live.settings_known = True

    def _new_writer(self, session_id: str) -> MemoryWriter:
        return MemoryWriter(
            live=LiveSession(session_id),
            guarded=self._guarded,
            masking=self._masking,
            clock=self._clock,
            background=self._background,
            policy=self._policy,
        )

    def _make_room(self) -> None:
        if len(self._sessions) >= MAX_SESSIONS:
            for session_id in [one for one, held in self._sessions.items() if held.writer.idle]:
                del self._sessions[session_id]
