"""What a person may ask of memory: their settings, a copy of everything, its deletion."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, time
from typing import Any, TypeVar

from src.schemas.errors import MemoryStoreError
from src.schemas.memory import DeletionReceipt, DeletionScope, MemorySettings
from src.services.erasure import (
    ErasureRequest,
    FunctionSurface,
    Surface,
    erase_everywhere,
    store_surfaces,
)
from src.services.live_sessions import LiveSessions
from src.services.memory_stores import MemoryStores
from src.services.memory_writer import MemoryWriter
from src.services.ports import Clock

T = TypeVar("T")


class PersonMemory:
    """Works on the stores themselves: who asks for this has time, and must know of a failure."""

    def __init__(
        self,
        *,
        stores: MemoryStores,
        live: LiveSessions,
        clock: Clock,
        surfaces: Sequence[Surface],
        limit_s: float,
    ) -> None:
        """`limit_s` is for each operation of a store; `surfaces` are those beyond memory's own."""
        self._stores = stores
        self._live = live
        self._clock = clock
        self._limit_s = limit_s
        process = FunctionSurface("process", self._erase_in_process)
        self._surfaces = (process, *store_surfaces(stores), *surfaces)

    async def settings(self, user_id: str) -> MemorySettings:
        """What the person chose, else the defaults.

        Raises:
            MemoryStoreError: the archive failed.
        """
        return await self._bounded(self._stores.archive.settings(user_id))

    async def put_settings(self, user_id: str, settings: MemorySettings) -> None:
        """Store the choice; it holds at once for sessions of this process, and for others from their start.

        Raises:
            MemoryStoreError: the archive failed.
        """
        await self._bounded(self._stores.archive.put_settings(user_id, settings))
        for writer in self._live.of(user_id):
            writer.live.settings, writer.live.settings_known = settings, True

    async def export(self, user_id: str) -> dict[str, Any]:
        """Everything kept of the person, as JSON types; `pending` is what is on its way to the archive.

        Raises:
            MemoryStoreError: a store failed.
        """
        for writer in self._live.of(user_id):
            await writer.flush(deadline_s=self._limit_s)
        pending = await self._bounded(self._stores.journal.pending())
        exported = await self._bounded(self._stores.archive.export(user_id))
        theirs = [item.to_dict() for item in pending if item.user_id == user_id]
        return {**exported, "pending": theirs}

    async def delete(
        self,
        request_user: str,
        scope: DeletionScope,
        *,
        session_id: str | None = None,
        since: datetime | None = None,
        caller: tuple[str, str | None] = ("", None),
    ) -> DeletionReceipt:
        """See `UnifiedMemoryService.delete_user_memory`; `caller` is owner and number."""
        owner_id, e164 = caller
        now = self._clock.now()
        day = since or datetime.combine(now.date(), time(), now.tzinfo)
        request = ErasureRequest(
            user_id=request_user,
            scope=scope,
            at=now,
            session_ids=await self._sessions(request_user, scope, session_id),
            since=day if scope == "day" else None,
            owner_id=owner_id,
            e164=e164,
        )
        return await erase_everywhere(self._surfaces, request, limit_s=self._limit_s)

    async def _sessions(
        self, user_id: str, scope: DeletionScope, session_id: str | None
    ) -> tuple[str, ...]:
        """The sessions to delete. Somebody else's is none of them; without an id, the latest is meant."""
        theirs = [writer.live.session_id for writer in self._live.of(user_id)]
        with suppress(MemoryStoreError):
            theirs += await self._bounded(self._stores.archive.sessions_of(user_id))
        theirs = list(dict.fromkeys(theirs))
        if scope != "session":
            return tuple(theirs)
        if session_id is None:
            return tuple(theirs[:1])
        if session_id in theirs or await self._owner(session_id) in ("", user_id):
            return (session_id,)
        return ()

    async def _owner(self, session_id: str) -> str:
        """Whose session it is, as far as that can be found out."""
        if (writer := self._live.find(session_id)) is not None:
            return writer.live.user_id
        with suppress(MemoryStoreError):
            metadata = await self._bounded(self._stores.sessions.metadata(session_id))
            if user_id := metadata.get("user_id"):
                return user_id
        with suppress(MemoryStoreError):
            told = await self._bounded(self._stores.archive.load_conversation(session_id, limit=1))
            return told[0].user_id if told else ""
        return ""

    async def _erase_in_process(self, request: ErasureRequest) -> Mapping[str, int]:
        """What this process holds in memory, so that nothing of it is written afterwards."""
        writers: dict[str, MemoryWriter] = {}
        if request.scope != "session":
            writers = {one.live.session_id: one for one in self._live.of(request.user_id)}
        for session_id in request.session_ids:
            if (writer := self._live.find(session_id)) is not None:
                writers[session_id] = writer
        number = sum([await one.forget(request.since) for one in writers.values()])
        if request.scope == "all":
            for writer in writers.values():
                writer.live.preferences = {}
        return {"": number}

    async def _bounded(self, work: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(self._limit_s):
                return await work
        except TimeoutError as error:
            raise MemoryStoreError("a store took too long") from error
