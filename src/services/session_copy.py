"""The session store's copy of one session, kept right across outages and losses of that store."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TypeVar

from src.logs import get_logger
from src.schemas.errors import MemoryStoreError
from src.schemas.memory import WINDOW, Appended, MemoryEntry
from src.services.background import Background
from src.services.live_session import LiveSession, is_since
from src.services.memory_privacy import Item, allowed
from src.services.memory_stores import GuardedStores

logger = get_logger(__name__)
T = TypeVar("T")


class SessionCopy:
    """Appends to the store; what it misses while it is away is given to it before anything newer."""

    def __init__(
        self, *, live: LiveSession, guarded: GuardedStores, background: Background
    ) -> None:
        self.lock = asyncio.Lock()
        """Held while the copy changes."""
        self._live = live
        self._guarded = guarded
        self._sessions = guarded.stores.sessions
        self._background = background
        # What is older than the window would be trimmed at once.
        self._missed: deque[Item] = deque(maxlen=2 * WINDOW)
        self._metadata_missed = False
        self._may_be_lost = False
        self._refill: asyncio.Task[None] | None = None

    @property
    def behind(self) -> bool:
        """Whether the store does not have all that was written."""
        return bool(self._missed) or self._metadata_missed

    @property
    def missed(self) -> Sequence[Item]:
        """Messages and events that the store does not have yet."""
        return tuple(self._missed)

    @property
    def away(self) -> bool:
        """Whether an append would have to wait for the store, or for what it missed."""
        return self._guarded.sessions.is_open or self.behind

    async def ask(self, operation: Callable[[], Awaitable[T]]) -> T | None:
        """The store's answer; None if it is away."""
        try:
            return await self._guarded.sessions.call(operation)
        except MemoryStoreError:
            return None

    async def append(self, item: Item) -> Appended | None:
        """What the store did with it; None if it is away. Hold the lock."""
        if isinstance(item, MemoryEntry):
            return await self.ask(partial(self._sessions.append, item))
        return await self.ask(partial(self._sessions.append_event, item))

    def miss(self, item: Item) -> None:
        """Give the item to the store once it is back."""
        self._may_be_lost = self._may_be_lost or not self.behind
        self._missed.append(item)
        self._catch_up()

    async def put_metadata(self, values: Mapping[str, str]) -> None:
        """Set fields of the session's metadata, here and in the store."""
        self._live.metadata.update(values)
        if not self._live.settings.enabled:
            return
        if self.away or not await self._metadata_put():
            self._metadata_missed = True
            self._catch_up()

    async def fill(self) -> bool:
        """The store lost the session: give it what this process knows. Hold the lock.

        What was deleted meanwhile is refused by the store. Whether the store was there to take it.
        """
        live = self._live
        if not live.settings.enabled:
            return True
        logger.warning("session is filled again", extra={"session_id": live.session_id})
        messages, events = tuple(live.messages), tuple(live.events)
        try:
            await self._guarded.sessions.call(
                lambda: self._sessions.save_session(live.session_id, messages)
            )
            for event in events:
                await self._guarded.sessions.call(partial(self._sessions.append_event, event))
        except MemoryStoreError:
            return False
        return await self._metadata_put()

    def numbered(self, item: Item) -> Item:
        """With the next sequence, so that what follows an outage comes after it.

        Not while nothing is known of the session: then the stores, which are given the items in order,
        number them.
        """
        live = self._live
        known = live.looked_up or live.last
        if not known or any(not one.sequence for one in self._missed):
            return item
        return replace(item, sequence=live.last + 1)

    def forget(self, since: datetime | None) -> None:
        """Leave out what was said (from `since` on). Hold the lock."""
        kept = [item for item in self._missed if not is_since(item, since)]
        self._missed.clear()
        self._missed.extend(kept)

    def _catch_up(self) -> None:
        if self._refill is None or self._refill.done():
            self._refill = self._background.spawn(self._give_missed(), name="refill")

    async def _give_missed(self) -> None:
        while self.behind:
            await self._guarded.sessions.recovered()
            async with self.lock:
                await self._give_next()

    async def _give_next(self) -> None:
        if self._may_be_lost:
            await self._look_for_session()
        elif self._missed:
            item = allowed(self._missed[0], self._live.settings)
            if item is None:  # the person's settings became known meanwhile
                self._missed.popleft()
            elif (appended := await self.append(item)) is not None:
                self._number(self._missed.popleft(), appended.sequence)
        else:
            self._metadata_missed = not await self._metadata_put()

    async def _look_for_session(self) -> None:
        """A store that comes back may come back empty."""
        session_id = self._live.session_id
        stored = await self.ask(lambda: self._sessions.load_session(session_id))
        if stored is None:
            return
        if not stored:
            if not await self.fill():
                return
            self._missed.clear()
        self._may_be_lost = False

    def _number(self, item: Item, sequence: int) -> None:
        """Items that were written before anything was known of the session have no number yet."""
        if not item.sequence and sequence:
            self._live.renumber(item, sequence)

    async def _metadata_put(self) -> bool:
        values = dict(self._live.metadata)
        if not values or not self._live.settings.enabled:
            return True
        session_id = self._live.session_id
        with suppress(MemoryStoreError):
            await self._guarded.sessions.call(
                lambda: self._sessions.put_metadata(session_id, values)
            )
            return True
        return False
