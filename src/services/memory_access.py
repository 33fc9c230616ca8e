"""An owner's way to the memory of their sessions and people."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from src.schemas.errors import FieldProblem, InvalidInputError, NotFoundError
from src.schemas.events import Event, EventType
from src.schemas.memory import (
    ConversationContext,
    DeletionReceipt,
    DeletionScope,
    MemorySettings,
    Mode,
)
from src.services.identity import memory_user_id
from src.services.owned import Document, OwnedStore, Resource
from src.services.phone_numbers import caller_number
from src.services.unified_memory import UnifiedMemoryService
from src.services.webhook_ports import EventSink

T = TypeVar("T")

_SHOWN = 50
_EXPORTED_CALLS = 1000
_EXPORTED_FIELDS = (
    "contactUID",
    "AgentID",
    "callDirection",
    "status",
    "phone",
    "originalPhone",
    "dynamicVariables",
    "conversation_summary",
    "conversation_summary_en",
    "analysis",
    "transcript",
    "callStartedAt",
    "callEndedAt",
)


@dataclass(frozen=True)
class Person:
    """Somebody an owner's agents remember."""

    owner_id: str
    user_id: str
    """The pseudonym that memory knows them by."""
    e164: str | None = None
    given_id: str | None = None
    """The owner's own id of them."""


class MemoryAccess:
    """Everything is found through what the owner has: nobody else's id leads anywhere."""

    def __init__(
        self, *, memory: UnifiedMemoryService, store: OwnedStore, events: EventSink
    ) -> None:
        self._memory = memory
        self._store = store
        self._events = events

    async def session(self, owner_id: str, session_id: str) -> ConversationContext:
        """The session as memory knows it.

        Raises:
            NotFoundError: the owner has no such session.
            ContactStoreError: the store failed.
        """
        await self._person_of(owner_id, session_id)
        return await self._briefly(
            session_id, lambda: self._memory.get_context(session_id, max_messages=_SHOWN)
        )

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

        return await self._changed(owner_id, session_id, switch)

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
        contacts = self._store.of(owner_id, Resource.CONTACTS)
        wheres: list[dict[str, Any]] = [{"userId": who.user_id}]
        if who.e164 is not None:
            wheres.append({"phone": who.e164})
        calls: dict[str, Document] = {}
        for where in wheres:
            for one in await contacts.page(
                where=where, limit=_EXPORTED_CALLS, fields=_EXPORTED_FIELDS
            ):
                calls[str(one["contactUID"])] = one
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
        invitations = await self._close_sessions(who, scope, session_id)
        receipt = replace(receipt, surfaces={**receipt.surfaces, "web_sessions": invitations})
        await self._events.publish(
            Event(
                id=f"{receipt.id}:{EventType.MEMORY_DELETED}",
                type=EventType.MEMORY_DELETED,
                owner_id=who.owner_id,
                at=receipt.at,
                data={
                    "receiptId": receipt.id,
                    "scope": scope,
                    "complete": receipt.complete,
                    "surfaces": dict(receipt.surfaces),
                },
            )
        )
        return receipt

    async def _close_sessions(
        self, who: Person, scope: DeletionScope, session_id: str | None
    ) -> int:
        """Remove the person's web sessions, which hold who they are and what the agent is told of them."""
        sessions = self._store.of(who.owner_id, Resource.SESSIONS)
        if session_id is not None:
            return int(await sessions.delete(session_id))
        if scope != "all" or who.given_id is None:
            return 0
        removed = 0
        while found := await sessions.page(where={"userId": who.given_id}, limit=_SHOWN):
            for one in found:
                removed += await sessions.delete(str(one["sessionId"]))
        return removed

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
            await change(context)
            return await self._memory.get_context(session_id, max_messages=_SHOWN)

        return await self._briefly(session_id, work)

    async def _person_of(self, owner_id: str, session_id: str) -> Person:
        web = await self._store.of(owner_id, Resource.SESSIONS).get(session_id)
        if web is not None:
            user = web.get("userId")
            pseudonym = memory_user_id(
                owner_id, user=user if isinstance(user, str) else None, session_id=session_id
            )
            return Person(owner_id, pseudonym)
        calls = await self._store.of(owner_id, Resource.CONTACTS).page(
            where={"sessionId": session_id}, limit=1, fields=("userId",)
        )
        if not calls:
            raise NotFoundError("no such session")
        return Person(owner_id, str(calls[0].get("userId") or ""))

    async def _briefly(self, session_id: str, work: Callable[[], Awaitable[T]]) -> T:
        """Work on a session that another process serves: nothing of it is held on to here."""
        try:
            return await work()
        finally:
            await self._memory.flush(session_id)


def person(owner_id: str, person_id: str) -> Person:
    """Whom an id means: a number with its country (`+15551234567`), else the owner's own id of them.

    Raises:
        InvalidInputError: it begins with + and is no phone number.
    """
    if not person_id.startswith("+"):
        return Person(owner_id, memory_user_id(owner_id, user=person_id), given_id=person_id)
    number = caller_number(person_id, None, region=None)
    if number.e164 is None:
        raise InvalidInputError(FieldProblem("path.userId", "not a phone number with its country"))
    return Person(owner_id, memory_user_id(owner_id, e164=number.e164), number.e164)
