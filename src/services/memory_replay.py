"""Brings to the stores what an earlier process left in the journal."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from src.logs import get_logger
from src.schemas.errors import MemoryStoreError
from src.schemas.memory import WINDOW, MemoryEntry
from src.services.archive_queue import save_items
from src.services.live_session import LiveSession
from src.services.memory_privacy import Item
from src.services.memory_stores import MemoryStores

logger = get_logger(__name__)


async def replay(stores: MemoryStores) -> int:
    """Archive what is in the journal, session by session; the number of items that left it.

    May run in several processes at once, and beside the process that writes: every id is stored once.
    A session that still lives in the session store is given what it misses; one that does not is not
    begun anew, since it is rebuilt from the archive when somebody comes back to it.

    Raises:
        MemoryStoreError: the journal or the archive failed; what is not stored stays in the journal.
    """
    sessions: dict[str, list[Item]] = {}
    for item in await stores.journal.pending():
        sessions.setdefault(item.session_id, []).append(item)
    for session_id, items in sessions.items():
        await _replay_session(stores, session_id, items)
    return sum(map(len, sessions.values()))


async def _replay_session(stores: MemoryStores, session_id: str, items: Sequence[Item]) -> None:
    live = LiveSession(session_id, user_id=items[-1].user_id)
    live.settings = await stores.archive.settings(live.user_id)
    archived: list[Item] = [
        *await stores.archive.load_conversation(session_id),
        *await stores.archive.load_events(session_id),
    ]
    there = {(type(one), one.id) for one in archived}
    new = [item for item in items if (type(item), item.id) not in there]
    last = max((one.sequence for one in archived), default=0)
    await _store(stores, live, new, last=last)
    await stores.journal.remove(items)
    logger.info("journal replayed", extra={"session_id": session_id, "items": len(items)})


async def _store(
    stores: MemoryStores, live: LiveSession, items: Sequence[Item], *, last: int
) -> None:
    """Archive items that come after `last`, the highest sequence of the archive."""
    numbered = await _in_session_store(stores, live, items)
    if numbered is not None and all(item.sequence > last for item in numbered):
        await save_items(stores, numbered, live)
        return
    await save_items(stores, [replace(item, sequence=0) for item in items], live)
    if numbered is not None:  # the store lost the session before it was given these, and began anew
        messages = await stores.archive.load_conversation(live.session_id, limit=WINDOW)
        with suppress(MemoryStoreError):
            await stores.sessions.save_session(live.session_id, messages)


async def _in_session_store(
    stores: MemoryStores, live: LiveSession, items: Sequence[Item]
) -> Sequence[Item] | None:
    """The items as numbered by the session store, which has them now; None if it has no such session."""
    try:
        metadata = await stores.sessions.metadata(live.session_id)
        window = await stores.sessions.load_session(live.session_id)
        live.owner_id, live.agent_id = metadata.get("owner_id", ""), metadata.get("agent_id", "")
        if not window:
            return None
        return [await _appended(stores, item, window) for item in items]
    except MemoryStoreError:
        return None


async def _appended(stores: MemoryStores, item: Item, window: Sequence[MemoryEntry]) -> Item:
    if _trimmed(item, window):
        return item
    item = replace(item, sequence=0)
    if isinstance(item, MemoryEntry):
        appended = await stores.sessions.append(item)
    else:
        appended = await stores.sessions.append_event(item)
    return replace(item, sequence=appended.sequence)


def _trimmed(item: Item, window: Sequence[MemoryEntry]) -> bool:
    """Whether the item was in the session once, and has made room for newer ones."""
    oldest = window[0].timestamp
    full = len(window) >= WINDOW
    return full and oldest is not None and item.timestamp is not None and item.timestamp < oldest
