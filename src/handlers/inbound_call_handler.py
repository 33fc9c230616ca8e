"""Somebody calls us."""

from __future__ import annotations

import asyncio
from uuid import uuid4

from livekit import rtc

from src.handlers.call import Call
from src.handlers.call_handler import (
    build_agent,
    greet,
    join_late_memory,
    rebuild,
    remember,
    so_far,
)
from src.handlers.call_start import (
    begin,
    configured_agent,
    conversation_ready,
    is_ours,
    mark_answered,
)
from src.handlers.session import PHONE, start_session
from src.logs import get_logger
from src.schemas.agent_meta_schema import AgentMeta
from src.schemas.contact import ContactStatus
from src.schemas.errors import AgentNotFoundError
from src.schemas.job_metadata import JobMetadata
from src.services.conversation_history import Caller
from src.services.phone_numbers import caller_number, to_e164

logger = get_logger(__name__)

CALLER = "sip.phoneNumber"
DIALLED = "sip.trunkPhoneNumber"
CALL_ID = "sip.callID"


class InboundCallHandler:
    """Answers a phone call: who, memory while it rings, answer, rebuild, greeting."""

    def __init__(self, call: Call, metadata: JobMetadata) -> None:
        self._call = call
        self._metadata = metadata

    async def run(self) -> None:
        """Serve the call up to its greeting; the session goes on by itself."""
        call = self._call
        call.status = ContactStatus.ABANDONED
        participant = await call.other_side(rtc.ParticipantKind.PARTICIPANT_KIND_SIP)
        if not await is_ours(call):
            return
        attributes = await self._attributes(participant)
        call.dialled = to_e164(attributes.get(DIALLED), region=call.services.policy.default_region)
        meta = await self._agent()
        await self._talk(meta, self._caller(attributes), participant.identity)

    async def _attributes(self, participant: rtc.RemoteParticipant) -> dict[str, str]:
        """The participant's attributes; the caller's number may come a moment after the caller."""
        arrived = asyncio.Event()

        def changed(_: object, who: rtc.Participant) -> None:
            if who.identity == participant.identity and participant.attributes.get(CALLER):
                arrived.set()

        self._call.ctx.room.on("participant_attributes_changed", changed)
        try:
            if not participant.attributes.get(CALLER):
                async with asyncio.timeout(self._call.services.policy.attribute_wait_s):
                    await arrived.wait()
        except TimeoutError:
            logger.info("the caller's number is withheld")
        finally:
            self._call.ctx.room.off("participant_attributes_changed", changed)
        return dict(participant.attributes)

    async def _agent(self) -> AgentMeta:
        if self._metadata.agent_config is not None or self._metadata.agent_id is not None:
            return await configured_agent(self._call, self._metadata)
        if self._call.dialled is None:
            raise AgentNotFoundError("the dialled number is unknown")
        found = await self._call.services.directory.by_number(self._call.dialled)
        if found.from_cache:
            self._call.degrade("agent_from_cache")
        return found.meta

    def _caller(self, attributes: dict[str, str]) -> Caller:
        number = caller_number(
            attributes.get(CALLER), None, region=self._call.services.policy.default_region
        )
        # One record per call even if the job is dispatched twice: the call names itself.
        uid = self._metadata.contact_uid or attributes.get(CALL_ID) or uuid4().hex
        return Caller(number=number, contact_uid=uid)

    async def _talk(self, meta: AgentMeta, caller: Caller, identity: str) -> None:
        """Look up while it rings; then answer, put the memory in and greet."""
        call = self._call
        memory = begin(call, meta, self._metadata, caller, status=ContactStatus.RINGING)
        recollection = remember(
            call, await memory.within(call.services.policy.ringing_memory_deadline_s)
        )
        await conversation_ready(call, meta, self._metadata)
        plain = build_agent(call, meta, call.live_values)
        await start_session(call, plain, meta, PHONE, identity)
        mark_answered(call)
        agent = build_agent(call, recollection.meta, recollection.values, chat_ctx=so_far(call))
        await rebuild(call, agent)
        greet(call, agent)
        join_late_memory(call, memory)
