"""A dry run of a call's first moments: the functions of the call path, without a call."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

from pydantic import ValidationError

from src.schemas.agent_meta_schema import AgentMeta
from src.schemas.calls import CallPolicy
from src.schemas.contact import CallDirection
from src.schemas.errors import (
    ConflictError,
    FieldProblem,
    InvalidInputError,
    MemoryStoreError,
    NotFoundError,
)
from src.schemas.preview import (
    Preview,
    PreviewedHistory,
    PreviewedVariables,
    PreviewRequest,
    RefusedContact,
)
from src.schemas.receipt import FeatureReceipt
from src.services.agent_config import build_agent_config
from src.services.background import Background
from src.services.caller_memory import CallerMemory, Recollection
from src.services.contact_fields import text
from src.services.conversation_history import Caller, MemorySources
from src.services.identity import memory_user_id
from src.services.language import LanguagePolicy
from src.services.owned import OwnedStore, Resource
from src.services.owner_settings import settings_of
from src.services.phone_numbers import CallerNumber, caller_number
from src.services.script import Scene, write_script
from src.services.template_names import is_name


class Preferences(Protocol):
    """What is remembered of people's choices."""

    async def preferences(self, user_id: str) -> Mapping[str, Any]:
        """The preferences by name.

        Raises:
            MemoryStoreError: the store failed.
        """


class CallPreview:
    """Shows what a call would begin with; writes nothing."""

    def __init__(
        self,
        *,
        owned: OwnedStore,
        sources: MemorySources,
        preferences: Preferences,
        policy: CallPolicy,
    ) -> None:
        """`policy` is the workers' own, so that the same deadlines and the same region hold."""
        self._owned = owned
        self._sources = sources
        self._preferences = preferences
        self._policy = policy

    async def preview(self, owner_id: str, agent_id: str, request: PreviewRequest) -> Preview:
        """What the call would begin with now.

        A store of memories that fails or is late costs what it would have given, as in a call.

        Raises:
            NotFoundError: the owner has no such agent.
            ConflictError: the stored agent is of no use to a call.
            InvalidInputError: the number cannot be called, a variable's name cannot stand in a template.
            ContactStoreError: the agent cannot be read.
        """
        meta = await self._agent(owner_id, agent_id)
        number = await self._number(owner_id, request)
        dialled = await self._dialled(owner_id, agent_id, request, number)
        clock = self._sources.clock
        began = clock.monotonic()
        found, (language, missing) = await asyncio.gather(
            self._recollection(meta, number, request), self._language(meta, number)
        )
        scene = Scene(
            now=clock.now(),
            direction=request.direction,
            person=number,
            dialled=dialled,
            language=language,
        )
        script = write_script(found.meta, found.values, scene)
        return Preview(
            agent_id=agent_id,
            direction=request.direction,
            phone=number.e164,
            language=language,
            greeting=script.greeting,
            missing_variables=script.missing,
            history=_history(meta, found),
            variables=_variables(found),
            degradations=(*found.degradations, *missing),
            took_ms=round((clock.monotonic() - began) * 1000, 2),
        )

    async def _agent(self, owner_id: str, agent_id: str) -> AgentMeta:
        stored = await self._owned.of(owner_id, Resource.AGENTS).get(agent_id)
        if stored is None:
            raise NotFoundError("there is no such agent")
        try:
            return AgentMeta.for_call(build_agent_config(stored))[0]
        except ValidationError as error:
            fields = sorted({".".join(map(str, one["loc"])) for one in error.errors()})
            raise ConflictError(f"calls cannot use what is stored: {', '.join(fields)}") from None

    async def _number(self, owner_id: str, request: PreviewRequest) -> CallerNumber:
        unusable = [
            FieldProblem(f"dynamicVariables.{name}", "cannot be used as a name in a template")
            for name in request.dynamic_variables
            if not is_name(name)
        ]
        owner = await settings_of(self._owned, owner_id)
        region = owner.default_region or self._policy.default_region
        number = caller_number(request.phone, None, region=region)
        if request.direction is CallDirection.OUTBOUND and number.e164 is None:
            unusable.append(FieldProblem("phone", "not a phone number that can be called"))
        if unusable:
            raise InvalidInputError(*unusable)
        return number

    async def _dialled(
        self, owner_id: str, agent_id: str, request: PreviewRequest, number: CallerNumber
    ) -> str | None:
        """The callee's number, or the one of the agent's that was bound last."""
        if request.direction is CallDirection.OUTBOUND:
            return number.e164
        numbers = self._owned.of(owner_id, Resource.PHONE_NUMBERS)
        bound = await numbers.page(where={"agentId": agent_id}, limit=1, fields=("number",))
        return text(bound[0].get("number")) if bound else None

    async def _recollection(
        self, meta: AgentMeta, number: CallerNumber, request: PreviewRequest
    ) -> Recollection:
        policy = self._policy
        # Outbound, a look-up has as long as it rings; late, it still joins the call.
        inbound = request.direction is CallDirection.INBOUND
        deadline_s = policy.ringing_memory_deadline_s if inbound else policy.late_memory_s
        background = Background()
        try:
            memory = CallerMemory(
                meta=meta,
                caller=Caller(number=number),
                live=request.dynamic_variables,
                sources=self._sources,
                background=background,
            )
            return await memory.within(deadline_s)
        finally:
            await background.aclose()

    async def _language(self, meta: AgentMeta, number: CallerNumber) -> tuple[str, tuple[str, ...]]:
        """The language this person spoke last, if the agent has it; and what could not be asked."""
        known: Mapping[str, Any] = {}
        missing: tuple[str, ...] = ()
        if number.e164 is not None and len(meta.all_languages) > 1:
            user_id = memory_user_id(meta.owner_id, e164=number.e164)
            try:
                async with asyncio.timeout(self._policy.memory_deadline_s):
                    known = await self._preferences.preferences(user_id)
            except (TimeoutError, MemoryStoreError):
                missing = ("conversation_late",)
        current = text(known.get("language"))
        return LanguagePolicy(meta.all_languages, current=current).current, missing


def _history(meta: AgentMeta, found: Recollection) -> PreviewedHistory:
    receipt = found.receipt.history
    return PreviewedHistory(
        **_feature(receipt),
        window_start=receipt.window_start,
        block=found.meta.Context.removeprefix(meta.Context).removeprefix("\n\n"),
    )


def _variables(found: Recollection) -> PreviewedVariables:
    receipt = found.receipt.variables
    filled = {name: found.values[name] for name in receipt.variables}
    return PreviewedVariables(**_feature(receipt), filled=filled)


def _feature(receipt: FeatureReceipt) -> dict[str, Any]:
    return {
        "outcome": receipt.outcome,
        "contact_uids": receipt.contact_uids,
        "refused": tuple(
            RefusedContact(contact_uid=uid, reason=reason)
            for reason, uids in receipt.refused_uids.items()
            for uid in uids
        ),
        "agent_ids": receipt.agent_ids,
        "took_ms": receipt.took_ms,
    }
