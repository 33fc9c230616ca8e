"""An owner's way to the memory of their sessions and people."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

from src.schemas.errors import NotFoundError
from src.schemas.events import Event, EventType
from src.schemas.memory import (
    ConversationContext,
    DeletionReceipt,
    DeletionScope,
    MemorySettings,
    Mode,
)
from src.services.contact_fields import text
from src.services.identity import memory_user_id
from src.services.owned import Document, OwnedStore, Resource
from src.services.person_documents import Person, PersonDocuments, person
from src.services.unified_memory import UnifiedMemoryService
from src.services.webhook_ports import EventSink

T = TypeVar("T")

_WEB_SESSIONS = "web_sessions"
_SHOWN = 50


class MemoryAccess:
    """Everything is found through what the owner has: nobody else's id leads anywhere."""

    def __init__(
        self, *, memory: UnifiedMemoryService, store: OwnedStore, events: EventSink
    ) -> None:
        self._memory = memory
        self._store = store
        self._events = events
        self._documents = PersonDocuments(store)

    async def session(self, owner_id: str, session_id: str) -> ConversationContext:
        """The session as memory knows it.

        Raises:
            NotFoundError: the owner has no such session.
            ContactStoreError: the store failed.
        """
        who = await self._person_of(owner_id, session_id)
        return await self._briefly(session_id, lambda: self._context(who, session_id))

    async def events(self, owner_id: str, session_id: str) -> Sequence[Mapping[str, Any]]:
        """What happened in the session besides messages.

        Raises:
            NotFoundError: the owner has no such session.
            ContactStoreError: the store failed.
        """
        await self._person_of(owner_id, session_id)
        return await self._briefly(session_id, lambda: self._memory.get_events(session_id))

    async def switch_mode(self, owner_id: str, session_id: str, mode: Mode) -> ConversationContext:
        """Let the session go on in a mode.

        Raises:
            NotFoundError: the owner has no such session.
            ContactStoreError: the store failed.
        """

        async def switch(context: ConversationContext) -> None:
            if context.mode != mode:
                await self._memory.handle_mode_switch(session_id, context.mode, mode)

        changed = await self._changed(owner_id, session_id, switch)
        # What the next visit begins in, unless it asks for something else.
        await self._store.of(owner_id, Resource.SESSIONS).update(session_id, {"mode": mode})
        return changed

    async def choose_language(
        self, owner_id: str, session_id: str, language: str
    ) -> ConversationContext:
        """Let the session go on in a language.

        Raises:
            NotFoundError: the owner has no such session.
            ContactStoreError: the store failed.
        """

        async def switch(context: ConversationContext) -> None:
            if context.language != language:
                await self._memory.track_language_switch(
                    session_id, context.language, language, "explicit_setting"
                )

        return await self._changed(owner_id, session_id, switch)

    async def delete_session(self, owner_id: str, session_id: str) -> DeletionReceipt:
        """Delete what is kept of a session, everywhere.

        Raises:
            NotFoundError: the owner has no such session.
            ContactStoreError: the store failed.
        """
        person = await self._person_of(owner_id, session_id)
        return await self._delete(person, "session", session_id)

    async def settings(self, owner_id: str, person_id: str) -> MemorySettings:
        """What a person chose, else the defaults.

        Raises:
            InvalidInputError: the id begins with + and is no phone number.
            MemoryStoreError: the archive failed.
        """
        return await self._memory.settings_of(person(owner_id, person_id).user_id)

    async def put_settings(self, owner_id: str, person_id: str, settings: MemorySettings) -> None:
        """Store what a person chose.

        Raises:
            InvalidInputError: the id begins with + and is no phone number.
            MemoryStoreError: the archive failed.
        """
        await self._memory.put_settings(person(owner_id, person_id).user_id, settings)

    async def export(self, owner_id: str, person_id: str) -> tuple[dict[str, Any], list[Document]]:
        """Everything kept of a person: memory, and the records of calls with them.

        Raises:
            InvalidInputError: the id begins with + and is no phone number.
            MemoryStoreError, ContactStoreError: a store failed.
        """
        who = person(owner_id, person_id)
        memory = await self._memory.export(who.user_id)
        calls = {str(one["contactUID"]): one async for one in self._documents.calls(who)}
        return memory, list(calls.values())

    async def delete(
        self, owner_id: str, person_id: str, scope: Literal["day", "all"]
    ) -> DeletionReceipt:
        """Delete what is kept of a person, everywhere; what could not be reached is in the receipt.

        Raises:
            InvalidInputError: the id begins with + and is no phone number.
        """
        return await self._delete(person(owner_id, person_id), scope, None)

    async def _delete(
        self, who: Person, scope: DeletionScope, session_id: str | None
    ) -> DeletionReceipt:
        receipt = await self._memory.delete_user_memory(
            who.user_id, scope, session_id, caller=(who.owner_id, who.e164)
        )
        sessions = await self._documents.web_sessions(who, scope, session_id)
        if session_id is not None and sessions and not receipt.complete:
            # By its record the same request finds the session again.
            sessions, receipt = [], replace(receipt, failed=(*receipt.failed, _WEB_SESSIONS))
        receipt = replace(receipt, surfaces={**receipt.surfaces, _WEB_SESSIONS: len(sessions)})
        # Before the records go: when one of the two fails, the same request does both.
        await self._events.publish(_event(who.owner_id, receipt))
        for one in sessions:
            await self._store.of(who.owner_id, Resource.SESSIONS).delete(one)
        return receipt

    async def _changed(
        self,
        owner_id: str,
        session_id: str,
        change: Callable[[ConversationContext], Awaitable[None]],
    ) -> ConversationContext:
        who = await self._person_of(owner_id, session_id)

        async def work() -> ConversationContext:
            context = await self._memory.begin_session(
                session_id, user_id=who.user_id, owner_id=owner_id
            )
            await change(_as_begun(who, context))
            return await self._context(who, session_id)

        return await self._briefly(session_id, work)

    async def _context(self, who: Person, session_id: str) -> ConversationContext:
        context = await self._memory.get_context(session_id, max_messages=_SHOWN)
        return _as_begun(who, context)

    async def _person_of(self, owner_id: str, session_id: str) -> Person:
        web = await self._store.of(owner_id, Resource.SESSIONS).get(session_id)
        if web is not None:
            user = web.get("userId")
            pseudonym = memory_user_id(
                owner_id, user=user if isinstance(user, str) else None, session_id=session_id
            )
            mode: Mode = "text" if web.get("mode") == "text" else "voice"
            return Person(owner_id, pseudonym, mode=mode)
        calls = await self._store.of(owner_id, Resource.CONTACTS).page(
            where={"sessionId": session_id}, limit=1, fields=("userId",)
        )
        if not calls:
            raise NotFoundError("no such session")
        return Person(owner_id, text(calls[0].get("userId")) or await self._known_by(session_id))

    async def _known_by(self, session_id: str) -> str:
        """Whose the session is for memory, where a deletion has emptied the record of the call before."""
        context = await self._briefly(session_id, lambda: self._memory.get_context(session_id))
        return context.metadata.get("user_id", "")

    async def _briefly(self, session_id: str, work: Callable[[], Awaitable[T]]) -> T:
        """Work on a session that another process serves: nothing of it is held on to here."""
        try:
            return await work()
        finally:
            await self._memory.flush(session_id)


def _as_begun(who: Person, context: ConversationContext) -> ConversationContext:
    """The context; of a session in which nothing happened yet, memory does not know the mode."""
    known = context.messages or "mode" in context.metadata
    return context if known else replace(context, mode=who.mode)


def _event(owner_id: str, receipt: DeletionReceipt) -> Event:
    return Event(
        id=f"{receipt.id}:{EventType.MEMORY_DELETED}",
        type=EventType.MEMORY_DELETED,
        owner_id=owner_id,
        at=receipt.at,
        data={
            "receiptId": receipt.id,
            "scope": receipt.scope,
            "complete": receipt.complete,
            "surfaces": dict(receipt.surfaces),
        },
    )
