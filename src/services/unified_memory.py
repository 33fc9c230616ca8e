"""One memory of a conversation, whether it is spoken or typed."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from src.logs import get_logger
from src.schemas.errors import MemoryStoreError
from src.schemas.memory import (
    LANGUAGE_SWITCH,
    MODE_SWITCH,
    WINDOW,
    ConversationContext,
    DeletionReceipt,
    DeletionScope,
    LanguageTrigger,
    MemoryEntry,
    MemoryEvent,
    MemorySettings,
    Mode,
)
from src.services.background import Background
from src.services.erasure import Surface
from src.services.in_memory_archive import InMemoryArchive
from src.services.in_memory_journal import InMemoryJournal
from src.services.in_memory_sessions import InMemorySessions
from src.services.live_sessions import LiveSessions
from src.services.memory_ports import Redactor
from src.services.memory_privacy import Masking, NoRedactor
from src.services.memory_replay import replay
from src.services.memory_stores import MemoryPolicy, MemoryStores, guard
from src.services.memory_writer import MemoryWriter, Written
from src.services.person_memory import PersonMemory
from src.services.ports import Clock
from src.services.session_view import SessionView, event_fields, newest, switched
from src.services.wall_clock import WallClock

logger = get_logger(__name__)


class UnifiedMemoryService:
    """Entries and events of sessions, in order, within what their person allows to be kept.

    Nothing here raises because a store is away: reads then know less, writes go to the journal.
    Exceptions are `put_settings`, `settings_of`, `export` and `replay`, whose callers must know.
    """

    def __init__(
        self,
        *,
        stores: MemoryStores | None = None,
        redactor: Redactor | None = None,
        clock: Clock | None = None,
        policy: MemoryPolicy | None = None,
        surfaces: Sequence[Surface] = (),
    ) -> None:
        """Without stores, memory lives as long as the process; without a redactor, nothing is masked.

        `surfaces` are further places that a deletion has to reach.
        """
        self._clock = clock or WallClock()
        self._stores = stores or MemoryStores(
            InMemorySessions(self._clock), InMemoryArchive(clock=self._clock), InMemoryJournal()
        )
        self._policy = policy or MemoryPolicy()
        self._background = Background()
        self._guarded = guard(
            self._stores, clock=self._clock, background=self._background, policy=self._policy
        )
        self._view = SessionView(self._guarded)
        self._live = LiveSessions(
            guarded=self._guarded,
            masking=Masking(redactor=redactor or NoRedactor(), background=self._background),
            clock=self._clock,
            background=self._background,
            policy=self._policy.writes,
        )
        self._person = PersonMemory(
            stores=self._stores,
            live=self._live,
            clock=self._clock,
            surfaces=surfaces,
            limit_s=self._policy.slow_s,
        )

    async def begin_session(
        self,
        session_id: str,
        *,
        user_id: str = "",
        owner_id: str = "",
        agent_id: str = "",
        metadata: Mapping[str, str] | None = None,
    ) -> ConversationContext:
        """Read the person's settings and preferences, and what is known of the session.

        Later calls need only the session's id. A session that nobody began begins with its first entry.
        """
        writer = await self._live.begun(
            session_id, user_id=user_id, owner_id=owner_id, agent_id=agent_id
        )
        await self._introduce(writer, metadata)
        return await self.resume(session_id)

    async def resume(self, session_id: str) -> ConversationContext:
        """The session as far as it is known, from the archive if the session store has lost it."""
        return await self.get_context(session_id, max_messages=WINDOW)

    def prepare(self, session_id: str, text: str, *, language: str = "en") -> None:
        """Mask ahead what the user seems to be saying, so that writing it waits for nothing."""
        if (writer := self._live.find(session_id)) is not None:
            writer.prepare(text, language=language)

    async def add_entry(self, session_id: str, entry: MemoryEntry, user_id: str = "") -> Written:
        """Add one message; its id, if it has one, makes sure that it is added once."""
        writer = await self._live.begun(session_id, user_id=user_id or entry.user_id)
        written = await writer.write(
            replace(
                entry.capped(),
                id=entry.id or uuid.uuid4().hex,
                session_id=session_id,
                user_id=user_id or entry.user_id or writer.live.user_id,
                timestamp=entry.timestamp or self._clock.now(),
                sequence=0,
            )
        )
        await self._introduce(writer)
        return written

    async def add_event(
        self, session_id: str, event_type: str, data: Mapping[str, Any], *, event_id: str = ""
    ) -> Written:
        """Add one event; a switch of mode or language is what the session's metadata says from then on."""
        writer = await self._live.begun(session_id)
        written = await writer.write(
            MemoryEvent(
                event_type=event_type,
                data=dict(data),
                id=event_id or uuid.uuid4().hex,
                session_id=session_id,
                user_id=writer.live.user_id,
                timestamp=self._clock.now(),
            )
        )
        await self._introduce(writer, switched(event_type, data))
        return written

    async def get_context(
        self,
        session_id: str,
        max_messages: int = 10,
        include_rag: bool = True,  # noqa: FBT001, FBT002 - the interface that was asked for
    ) -> ConversationContext:
        """What the next reply may know: messages, languages, passages of earlier answers."""
        writer = await self._live.begun(session_id)
        return await self._view.context(writer, max_messages=max_messages, include_rag=include_rag)

    async def get_history(self, session_id: str, max_messages: int = 10) -> list[MemoryEntry]:
        """The last messages, oldest first; at most `WINDOW`."""
        writer = await self._live.begun(session_id)
        return list(newest(await self._view.messages(writer), max_messages))

    async def get_events(
        self, session_id: str, event_type: str | None = None, limit: int = WINDOW
    ) -> list[dict[str, Any]]:
        """The last events, oldest first: their own fields, `event_type` and `timestamp`."""
        writer = await self._live.begun(session_id)
        events = await self._view.events(writer)
        wanted = [one for one in events if event_type in (None, one.event_type)]
        return [event_fields(event) for event in newest(wanted, limit)]

    async def track_language_switch(
        self, session_id: str, from_language: str, to_language: str, trigger: LanguageTrigger
    ) -> None:
        """Note that the session goes on in another language, which the person prefers from now on."""
        data = {"from_language": from_language, "to_language": to_language, "trigger": trigger}
        await self.add_event(session_id, LANGUAGE_SWITCH, data)
        writer = await self._live.begun(session_id)
        writer.live.preferences = {**writer.live.preferences, "language": to_language}
        if writer.live.settings.enabled and writer.live.settings_known:
            _ = self._background.spawn(
                self._remember_language(writer.live.user_id, to_language), name="preference"
            )

    async def handle_mode_switch(
        self, session_id: str, from_mode: Mode, to_mode: Mode
    ) -> ConversationContext:
        """Note that the session goes on in another mode; what it knows stays."""
        await self.add_event(session_id, MODE_SWITCH, {"from_mode": from_mode, "to_mode": to_mode})
        return await self.get_context(session_id)

    async def settings_of(self, user_id: str) -> MemorySettings:
        """What the person chose, else the defaults.

        Raises:
            MemoryStoreError: the archive failed.
        """
        return await self._person.settings(user_id)

    async def put_settings(self, user_id: str, settings: MemorySettings) -> None:
        """Store the choice; it holds at once for sessions of this process, and for others from their start.

        Raises:
            MemoryStoreError: the archive failed.
        """
        await self._person.put_settings(user_id, settings)

    async def export(self, user_id: str) -> dict[str, Any]:
        """Everything kept of the person, as JSON types; `pending` is what is on its way to the archive.

        Raises:
            MemoryStoreError: a store failed.
        """
        return await self._person.export(user_id)

    async def delete_user_memory(
        self,
        user_id: str,
        scope: DeletionScope,
        session_id: str | None = None,
        *,
        since: datetime | None = None,
        caller: tuple[str, str | None] = ("", None),
    ) -> DeletionReceipt:
        """Delete what is kept of a person, everywhere; what could not be reached is in the receipt.

        Args:
            user_id: The person.
            scope: One session, what was said today, or everything, settings and preferences too.
            session_id: For `session`; None means the person's latest. Another person's is not deleted.
            since: For `day`: its start, aware; None means midnight UTC.
            caller: The owner and the person's E.164 number, by which call records are found that do
                not name the person.
        """
        return await self._person.delete(
            user_id, scope, session_id=session_id, since=since, caller=caller
        )

    async def flush(self, session_id: str, *, deadline_s: float = 20.0) -> int:
        """At the end of a session: wait until the archive has it; the number of items it has not.

        Those wait in the journal for `replay`.
        """
        if (writer := self._live.find(session_id)) is None:
            return 0
        left = await writer.flush(deadline_s=deadline_s)
        if left:
            fields = {"session_id": session_id, "items": left}
            logger.warning("memory left in the journal", extra=fields)
        elif writer.idle:
            self._live.drop(session_id)
        return left

    async def end_session(
        self, session_id: str, *, deadline_s: float = 20.0
    ) -> tuple[MemoryEntry, ...]:
        """`flush`, and what this process wrote in the session: in order, as it is stored."""
        writer = self._live.find(session_id)
        await self.flush(session_id, deadline_s=deadline_s)
        return tuple(writer.live.written.values()) if writer else ()

    async def replay(self) -> int:
        """Store what earlier processes left in the journal; the number of items that left it.

        Raises:
            MemoryStoreError: the journal or the archive failed; the rest waits for the next replay.
        """
        return await replay(self._stores)

    async def aclose(self) -> None:
        """End every task; what is not archived is in the journal."""
        await self._background.aclose()

    async def _introduce(
        self, writer: MemoryWriter, values: Mapping[str, str] | None = None
    ) -> None:
        """Keep the session's metadata up to date."""
        live = writer.live
        known = {"user_id": live.user_id, "owner_id": live.owner_id, "agent_id": live.agent_id}
        new = {
            name: value
            for name, value in {**known, **(values or {})}.items()
            if value and live.metadata.get(name) != value
        }
        if new:
            await writer.copy.put_metadata(new)

    async def _remember_language(self, user_id: str, language: str) -> None:
        try:
            await self._guarded.archive.call(
                lambda: self._stores.archive.put_preferences(user_id, {"language": language})
            )
        except MemoryStoreError:
            logger.warning("language preference not stored", extra={"language": language})
