"""The archive in plain dicts: for tests, for trying things out, and what every other must equal."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from typing_extensions import override

from src.schemas.memory import MemoryEntry, MemoryEvent, MemorySettings, PastSession
from src.services.archive_rules import (
    BEGINNING,
    TABLES,
    person_pseudonym,
    session_pseudonym,
    storable,
    storable_entry,
    storable_event,
    storable_json,
)
from src.services.in_memory_conversation import Conversation, Ledger
from src.services.memory_ports import ConversationArchive
from src.services.ports import Clock
from src.services.retention_ports import Retentions
from src.services.wall_clock import WallClock


class InMemoryArchive(ConversationArchive, Retentions):
    """Forgets with its process."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._clock = clock or WallClock()
        self._conversations: dict[str, Conversation] = {}
        self._settings: dict[str, MemorySettings] = {}
        self._preferences: dict[str, dict[str, Any]] = {}
        self._ledger = Ledger()

    @override
    async def save_conversation(
        self,
        user_id: str,
        session_id: str,
        entries: Sequence[MemoryEntry],
        events: Sequence[MemoryEvent] = (),
        *,
        owner_id: str = "",
        agent_id: str = "",
    ) -> int:
        user_id, session_id, now = storable(user_id), storable(session_id), self._clock.now()
        told = self._conversations.get(session_id) or Conversation("", "", "", now)
        told.identify(user_id, storable(owner_id), storable(agent_id))
        ids = {"session_id": session_id, "user_id": user_id}
        messages = [storable_entry(entry, **ids, now=now) for entry in entries]
        happened = [storable_event(event, **ids, now=now) for event in events]
        new = told.add(messages, told.entries, self._ledger)
        new += told.add(happened, told.events, self._ledger)
        if told.entries or told.events:
            self._conversations[session_id] = told
        return new

    @override
    async def load_conversation(
        self, session_id: str, *, limit: int | None = None
    ) -> list[MemoryEntry]:
        told = self._conversations.get(storable(session_id))
        messages = told.messages if told else []
        return messages if limit is None else messages[max(len(messages) - limit, 0) :]

    @override
    async def load_events(self, session_id: str) -> list[MemoryEvent]:
        told = self._conversations.get(storable(session_id))
        return told.happened if told else []

    @override
    async def sessions_of(self, user_id: str) -> list[str]:
        user_id = storable(user_id)
        found = sorted(
            (
                (told.active_at, session_id)
                for session_id, told in self._conversations.items()
                if user_id and told.user_id == user_id
            ),
            reverse=True,
        )
        return [session_id for _, session_id in found]

    @override
    async def settings(self, user_id: str) -> MemorySettings:
        return self._settings.get(storable(user_id), MemorySettings())

    @override
    async def retention_of(self, user_ids: Collection[str]) -> Mapping[str, int]:
        chosen = {user_id: self._settings.get(storable(user_id)) for user_id in user_ids}
        return {user_id: one.retention_days for user_id, one in chosen.items() if one}

    @override
    async def put_settings(self, user_id: str, settings: MemorySettings) -> None:
        if user_id := storable(user_id):
            self._settings[user_id] = settings

    @override
    async def preferences(self, user_id: str) -> dict[str, Any]:
        return dict(self._preferences.get(storable(user_id), {}))

    @override
    async def put_preferences(self, user_id: str, values: Mapping[str, Any]) -> None:
        if (user_id := storable(user_id)) and values:
            self._preferences.setdefault(user_id, {}).update(storable_json(values))

    @override
    async def unsummarised(self, *, idle_since: datetime, limit: int) -> list[str]:
        found = sorted(
            (told.active_at, session_id)
            for session_id, told in self._conversations.items()
            if told.unsummarised and told.active_at < idle_since
        )
        return [session_id for _, session_id in found[:limit]]

    @override
    async def put_summary(self, session_id: str, summary: str, *, through: int) -> None:
        told = self._conversations.get(storable(session_id))
        if told is None or told.summary_through > through:
            return
        if any(entry.sequence == through for entry in told.entries.values()):
            told.summary, told.summary_through = storable(summary), through

    @override
    async def past_sessions(
        self, user_id: str, *, limit: int, exclude: str | None = None
    ) -> list[PastSession]:
        past = [
            PastSession(
                session_id=session_id,
                summary=told.summary,
                language=told.messages[-1].language,
                at=told.active_at,
            )
            for session_id in await self.sessions_of(user_id)
            if (told := self._conversations[session_id]).summary and session_id != exclude
        ]
        return past[:limit]

    @override
    async def delete_session(self, session_id: str) -> Mapping[str, int]:
        session_id = storable(session_id)
        counts = dict.fromkeys(TABLES, 0)
        told = self._conversations.pop(session_id, None)
        if told is not None:
            counts["conversations"] = 1
            counts["conversation_entries"] = len(told.entries)
            counts["conversation_events"] = len(told.events)
        self._ledger.note(
            [session_pseudonym(session_id)],
            since=BEGINNING,
            now=self._clock.now(),
            gone=[*told.entries.values(), *told.events.values()] if told else [],
        )
        return counts

    @override
    async def delete_today(self, user_id: str, *, since: datetime) -> Mapping[str, int]:
        return self._delete_said(storable(user_id), since)

    @override
    async def delete_all(self, user_id: str) -> Mapping[str, int]:
        user_id = storable(user_id)
        counts = self._delete_said(user_id, BEGINNING)
        counts["memory_settings"] = int(self._settings.pop(user_id, None) is not None)
        counts["memory_preferences"] = len(self._preferences.pop(user_id, {}))
        return counts

    @override
    async def export(self, user_id: str) -> dict[str, Any]:
        user_id = storable(user_id)
        sessions = {}
        for session_id, told in self._conversations.items():
            own = told.user_id == user_id
            entries = [one for one in told.messages if own or one.user_id == user_id]
            events = [one for one in told.happened if own or one.user_id == user_id]
            if user_id and (entries or events):
                sessions[session_id] = {
                    "session_id": session_id,
                    "owner_id": told.owner_id,
                    "agent_id": told.agent_id,
                    "created_at": told.created_at.isoformat(),
                    "summary": told.summary if own else None,
                    "entries": [entry.to_dict() for entry in entries],
                    "events": [event.to_dict() for event in events],
                }
        return {
            "user_id": user_id,
            "settings": asdict(await self.settings(user_id)),
            "preferences": await self.preferences(user_id),
            "sessions": [sessions[session_id] for session_id in sorted(sessions)],
        }

    @override
    async def purge(self, *, now: datetime) -> int:
        gone = 0
        for told in self._conversations.values():
            kept = self._settings.get(told.user_id, MemorySettings())
            gone += told.purge(now - timedelta(days=kept.retention_days))
        self._drop_empty()
        return gone

    def _delete_said(self, user_id: str, since: datetime) -> dict[str, int]:
        counts = dict.fromkeys(TABLES, 0)
        if not user_id:
            return counts
        names = [person_pseudonym(user_id)]
        gone: list[MemoryEntry | MemoryEvent] = []
        for session_id, told in self._conversations.items():
            if told.user_id == user_id:
                names.append(session_pseudonym(session_id))
            entries, events = told.delete(user_id, since)
            gone += [*entries, *events]
            counts["conversation_entries"] += len(entries)
            counts["conversation_events"] += len(events)
        counts["conversations"] = self._drop_empty()
        self._ledger.note(names, since=since, now=self._clock.now(), gone=gone)
        return counts

    def _drop_empty(self) -> int:
        before = len(self._conversations)
        self._conversations = {
            session_id: told
            for session_id, told in self._conversations.items()
            if told.entries or told.events
        }
        return before - len(self._conversations)
