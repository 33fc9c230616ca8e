"""Who an owner means by an id, and what the owner's own documents hold of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from src.schemas.errors import FieldProblem, InvalidInputError
from src.schemas.memory import DeletionScope, Mode
from src.services.contact_fields import text
from src.services.identity import memory_user_id
from src.services.owned import Document, OwnedStore, Position, Resource
from src.services.phone_numbers import caller_number, same_person

_BATCH = 100
_CALL_FIELDS = (
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
    mode: Mode = "voice"
    """Of a web session: how it begins."""


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


class PersonDocuments:
    """Reads call records and web sessions of a person."""

    def __init__(self, store: OwnedStore) -> None:
        self._store = store

    async def web_sessions(
        self, who: Person, scope: DeletionScope, session_id: str | None
    ) -> list[str]:
        """Web sessions to delete, which hold who somebody is and what the agent is told of them.

        Raises:
            ContactStoreError: the store failed.
        """
        if session_id is not None:
            sessions = self._store.of(who.owner_id, Resource.SESSIONS)
            return list(await sessions.existing([session_id]))
        if scope != "all" or who.given_id is None:
            return []
        where = {"userId": who.given_id}
        found = self._all(who.owner_id, Resource.SESSIONS, where, ("sessionId",))
        return [str(one["sessionId"]) async for one in found]

    async def calls(self, who: Person) -> AsyncIterator[Document]:
        """Records of calls with the person; one may come twice.

        Those that a deletion would find: by their id, and by their number as the history lookup has it.

        Raises:
            ContactStoreError: the store failed.
        """
        async for one in self._all(
            who.owner_id, Resource.CONTACTS, {"userId": who.user_id}, _CALL_FIELDS
        ):
            yield one
        caller = caller_number(who.e164, None, region=None)
        if caller.last10 is None:
            return
        async for one in self._all(
            who.owner_id, Resource.CONTACTS, {"phoneLast10": caller.last10}, _CALL_FIELDS
        ):
            if same_person(caller, text(one.get("phone")), text(one.get("originalPhone"))):
                yield one

    async def _all(
        self, owner_id: str, resource: Resource, where: Mapping[str, Any], fields: Sequence[str]
    ) -> AsyncIterator[Document]:
        """Every document that is as wanted, however many there are."""
        kind, after = resource.value, None
        while True:
            found = await self._store.of(owner_id, resource).page(
                where=where, after=after, limit=_BATCH, fields=fields
            )
            for one in found:
                yield one
            if len(found) < _BATCH:
                return
            after = Position(found[-1][kind.time], str(found[-1][kind.key]))
