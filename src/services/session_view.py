"""Reads a session: from its store, and where that has nothing, from what else knows it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from src.schemas.errors import MemoryStoreError
from src.schemas.memory import (
    LANGUAGE_SWITCH,
    MODE_SWITCH,
    WINDOW,
    ConversationContext,
    MemoryEntry,
    MemoryEvent,
)
from src.services.memory_stores import GuardedStores
from src.services.memory_writer import MemoryWriter

Item = TypeVar("Item", bound=MemoryEntry | MemoryEvent)


class SessionView:
    """Every read is bounded by the breakers; a store that is away only makes it know less."""

    def __init__(self, guarded: GuardedStores) -> None:
        self._guarded = guarded

    async def context(
        self, writer: MemoryWriter, *, max_messages: int, include_rag: bool
    ) -> ConversationContext:
        """What the next reply may know of the session."""
        messages = await self.messages(writer)
        events, metadata = await asyncio.gather(self.events(writer), self.metadata(writer))
        latest = messages[-1] if messages else None
        mode = metadata.get("mode") or (latest.mode if latest else "voice")
        return ConversationContext(
            session_id=writer.live.session_id,
            messages=newest(messages, max_messages),
            language=metadata.get("language") or (latest.language if latest else "en"),
            mode="text" if mode == "text" else "voice",
            language_switches=tuple(
                event_fields(one) for one in events if one.event_type == LANGUAGE_SWITCH
            ),
            passages=_passages(messages) if include_rag else (),
            preferences=dict(writer.live.preferences),
            metadata=metadata,
        )

    async def messages(self, writer: MemoryWriter) -> Sequence[MemoryEntry]:
        """The last messages of the session, oldest first."""
        live, sessions = writer.live, self._guarded.stores.sessions
        if not live.looked_up:  # the archive was away when the session began
            await learn(writer, self._guarded)
        stored = await writer.copy.ask(lambda: sessions.load_session(live.session_id))
        if stored and not _is_behind(stored, live.messages):
            return stored
        if stored:
            told = _together(stored, live.messages)
            await self._catch_up(writer)
            return told
        if await self._relearn(writer, known=bool(live.messages), away=stored is None):
            await self._refill(writer)
        return tuple(live.messages)

    async def events(self, writer: MemoryWriter) -> Sequence[MemoryEvent]:
        """The last events of the session, oldest first."""
        live, sessions = writer.live, self._guarded.stores.sessions
        stored = await writer.copy.ask(lambda: sessions.load_events(live.session_id))
        if stored and not _is_behind(stored, live.events):
            return stored
        if stored:
            return _together(stored, live.events)
        # Without the archive's word, no events do not tell that the messages are lost as well: what
        # this process knows may be less than the store has.
        relearned = await self._relearn(writer, known=bool(live.events), away=stored is None)
        if relearned and live.looked_up:
            await self._refill(writer)
        return tuple(live.events)

    async def metadata(self, writer: MemoryWriter) -> dict[str, str]:
        """The session's metadata."""
        live, sessions = writer.live, self._guarded.stores.sessions
        stored = await writer.copy.ask(lambda: sessions.metadata(live.session_id)) or {}
        newer = live.metadata if writer.copy.behind else {}
        return {**live.metadata, **stored, **newer}

    async def _catch_up(self, writer: MemoryWriter) -> None:
        """A store that is behind, with nothing on its way to it, was away or lost the session once."""
        async with writer.copy.lock:
            if not writer.copy.behind and writer.live.looked_up:
                await writer.copy.fill()

    async def _relearn(self, writer: MemoryWriter, *, known: bool, away: bool) -> bool:
        """Learn of a session that its store does not tell of; whether the store can be given it back.

        What this process knows may have been deleted by another; the archive has the last word.
        """
        if writer.live.looked_up and (away or not known):
            return False
        await learn(writer, self._guarded)
        return not away

    async def _refill(self, writer: MemoryWriter) -> None:
        async with writer.copy.lock:
            if writer.live.messages or writer.live.events:
                await writer.copy.fill()


async def learn(writer: MemoryWriter, guarded: GuardedStores) -> None:
    """Bring what this process knows of the session up to what the archive knows, if that answers."""
    live, archive = writer.live, guarded.stores.archive
    before = (*writer.archive.waiting, *writer.copy.missed)
    try:
        messages, events = await asyncio.gather(
            guarded.archive.call(lambda: archive.load_conversation(live.session_id, limit=WINDOW)),
            guarded.archive.call(lambda: archive.load_events(live.session_id)),
        )
    except MemoryStoreError:
        return
    async with writer.copy.lock:
        live.looked_up = True
        on_their_way = (*before, *writer.archive.waiting, *writer.copy.missed)
        live.replace([*messages, *events, *on_their_way])
    if messages:
        latest = messages[-1]
        known = {"user_id": latest.user_id, "language": latest.language, "mode": latest.mode}
        live.metadata = {**known, **live.metadata}


def newest(items: Sequence[Item], number: int) -> tuple[Item, ...]:
    """The last ones, in their order."""
    return tuple(items[-number:]) if number > 0 else ()


def event_fields(event: MemoryEvent) -> dict[str, Any]:
    """An event as one flat dict: its own fields, `event_type`, and `timestamp` (ISO 8601)."""
    at = event.timestamp.isoformat() if event.timestamp else None
    return {"timestamp": at, **event.data, "event_type": event.event_type}


def switched(event_type: str, data: Mapping[str, Any]) -> dict[str, str]:
    """What an event changes in the session's metadata."""
    if event_type == MODE_SWITCH:
        return {"mode": str(data.get("to_mode", ""))}
    if event_type == LANGUAGE_SWITCH:
        return {"language": str(data.get("to_language", ""))}
    return {}


def _is_behind(stored: Sequence[Item], known: Sequence[Item]) -> bool:
    """Whether something is known that is newer than what the store has."""
    if not known:
        return False
    return not known[-1].sequence or known[-1].sequence > stored[-1].sequence


def _together(stored: Sequence[Item], known: Sequence[Item]) -> Sequence[Item]:
    """What is known, after what only the store has."""
    there, first = {one.id for one in known}, known[0].sequence
    older = [one for one in stored if one.id not in there and (not first or one.sequence < first)]
    return [*older, *known][-WINDOW:]


def _passages(messages: Sequence[MemoryEntry]) -> tuple[str, ...]:
    """Each once, at its last place."""
    newest_first = [
        passage for entry in reversed(messages) for passage in reversed(entry.retrieved_passages)
    ]
    return tuple(reversed(dict.fromkeys(newest_first)))
