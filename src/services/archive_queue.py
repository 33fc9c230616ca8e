"""Brings the items of one session to the archive, in order, however long that takes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from src.logs import get_logger
from src.schemas.errors import MemoryStoreError
from src.schemas.memory import MemoryEntry, MemoryEvent
from src.services.background import Background
from src.services.live_session import LiveSession, is_since
from src.services.memory_privacy import Item, allowed
from src.services.memory_stores import MemoryStores, WritePolicy
from src.services.ports import Clock

logger = get_logger(__name__)


class ArchiveQueue:
    """One task at a time saves everything that waits; what is saved leaves the journal."""

    def __init__(
        self,
        *,
        live: LiveSession,
        stores: MemoryStores,
        clock: Clock,
        background: Background,
        policy: WritePolicy,
    ) -> None:
        self._live = live
        self._stores = stores
        self._clock = clock
        self._background = background
        self._policy = policy
        self._items: list[Item] = []
        self._task: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> Sequence[Item]:
        """What the archive does not have yet, in order."""
        return tuple(self._items)

    @property
    def task(self) -> asyncio.Task[None] | None:
        """The task at work, if one is."""
        return None if self._task is None or self._task.done() else self._task

    def put(self, item: Item) -> None:
        """Save the item in the background, after those before it.

        It is for the archive to number it where nobody could be asked how far the session had got: the
        session store may have lost the session, and count from one.
        """
        if not self._live.looked_up or any(not one.sequence for one in self._items):
            item = replace(item, sequence=0)
        self._items.append(item)
        if self.task is None:
            self._task = self._background.spawn(self._run(), name="archive")

    def forget(self, since: datetime | None = None) -> None:
        """Leave out what was said (from `since` on)."""
        self._items = [item for item in self._items if not is_since(item, since)]

    async def _run(self) -> None:
        pause_s = self._policy.first_pause_s
        while self._items:
            batch = tuple(self._items)
            if await self._saved(batch):
                saved = set(map(id, batch))
                self._items = [item for item in self._items if id(item) not in saved]
                pause_s = self._policy.first_pause_s
            else:
                await self._clock.sleep(pause_s)
                pause_s = min(2 * pause_s, self._policy.longest_pause_s)

    async def _saved(self, batch: Sequence[Item]) -> bool:
        try:
            async with asyncio.timeout(self._policy.archive_s):
                await self._learn_settings()
                await save_items(self._stores, batch, self._live)
                await self._stores.journal.remove(batch)
        except (TimeoutError, MemoryStoreError):
            return False
        return True

    async def _learn_settings(self) -> None:
        """Where the defaults stood in for the person's settings, undo what these forbid."""
        live = self._live
        if live.settings_known:
            return
        settings = await self._stores.archive.settings(live.user_id)
        sessions = self._stores.sessions
        if live.keep_allowed(settings):
            if settings.enabled:
                await sessions.save_session(live.session_id, tuple(live.messages))
            else:
                await sessions.delete_session(live.session_id)
        live.settings, live.settings_known = settings, True


async def save_items(stores: MemoryStores, items: Sequence[Item], live: LiveSession) -> int:
    """Archive items of one session as far as the person's settings allow; the number that were new.

    Raises:
        MemoryStoreError: the archive failed.
    """
    kept = [item for one in items if (item := allowed(one, live.settings)) is not None]
    if not kept:
        return 0
    return await stores.archive.save_conversation(
        live.user_id,
        live.session_id,
        [item for item in kept if isinstance(item, MemoryEntry)],
        [item for item in kept if isinstance(item, MemoryEvent)],
        owner_id=live.owner_id,
        agent_id=live.agent_id,
    )
