"""Which agent answers which dialled number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from src.schemas.errors import ConflictError, FieldProblem, InvalidInputError, NotFoundError
from src.schemas.phone_numbers_api import PhoneNumberDrift, PhoneNumberRequest, PhoneNumberView
from src.services.call_ports import NumberProvisioning
from src.services.contact_fields import moment, text
from src.services.owned import OwnedStore, Position, Resource
from src.services.owner_settings import settings_of
from src.services.phone_numbers import to_e164
from src.services.ports import Clock


class PhoneNumberBindings:
    """The records come first; the media server is then brought up to date with all of them.

    What it was not told because it was away, the next change of any binding tells it.
    """

    def __init__(
        self, *, owned: OwnedStore, provisioning: NumberProvisioning, clock: Clock
    ) -> None:
        self._owned = owned
        self._provisioning = provisioning
        self._clock = clock

    async def bind(self, owner_id: str, request: PhoneNumberRequest) -> PhoneNumberView:
        """Let an agent answer the number, in place of the agent of the owner that did before.

        Raises:
            InvalidInputError: the agent is not the owner's, or the number is none.
            ConflictError: the number is taken.
            MediaServerError: the binding is stored, but calls may not arrive yet; ask again.
            ContactStoreError: the store failed.
        """
        number = await self._number(owner_id, request)
        numbers = self._owned.of(owner_id, Resource.PHONE_NUMBERS)
        now = self._clock.now()
        fields = {"agentId": request.agent_id, "label": request.label, "updatedAt": now}
        new = await numbers.insert({"number": number, "createdAt": now, **fields})
        if not new and not await numbers.update(number, fields):
            raise ConflictError("this number is taken")
        await self._provisioning.reconcile()
        return _view(await numbers.get(number) or {"number": number, "createdAt": now, **fields})

    async def page(
        self, owner_id: str, *, after: Position | None = None, limit: int = 50
    ) -> Sequence[PhoneNumberView]:
        """The owner's numbers, newest first.

        Raises:
            ContactStoreError: the store failed.
        """
        numbers = self._owned.of(owner_id, Resource.PHONE_NUMBERS)
        return [_view(one) for one in await numbers.page(after=after, limit=limit)]

    async def unbind(self, owner_id: str, number: str) -> None:
        """Let nobody answer the number (E.164) any more.

        Raises:
            NotFoundError: the owner has no such number.
            MediaServerError: it is unbound, and a caller hears that nobody is there; the media server
                still takes calls to it until it is brought up to date.
            ContactStoreError: the store failed.
        """
        if not await self._owned.of(owner_id, Resource.PHONE_NUMBERS).delete(number):
            raise NotFoundError("no such number")
        await self._provisioning.reconcile()

    async def drift(self, owner_id: str) -> PhoneNumberDrift:
        """Where the media server differs; of other owners' numbers it tells nothing.

        Raises:
            MediaServerError: it could not be asked.
            ContactStoreError: the store failed.
        """
        found = await self._provisioning.drift()
        own = await self._owned.of(owner_id, Resource.PHONE_NUMBERS).existing(found.missing)
        return PhoneNumberDrift(
            missing=tuple(sorted(own)), unknown_count=len(found.unknown), rule=found.rule
        )

    async def _number(self, owner_id: str, request: PhoneNumberRequest) -> str:
        owner = await settings_of(self._owned, owner_id)
        number = to_e164(request.number, region=owner.default_region)
        problems = [] if number else [FieldProblem("number", "not a phone number")]
        agents = self._owned.of(owner_id, Resource.AGENTS)
        if not await agents.existing([request.agent_id]):
            problems.append(FieldProblem("agentId", "no such agent"))
        if number is None or problems:
            raise InvalidInputError(*problems)
        return number


def _view(document: Mapping[str, Any]) -> PhoneNumberView:
    return PhoneNumberView(
        number=str(document["number"]),
        agent_id=text(document.get("agentId")) or "",
        label=text(document.get("label")),
        created_at=moment(document.get("createdAt")),
        updated_at=moment(document.get("updatedAt")),
    )
