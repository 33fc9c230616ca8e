"""We call somebody."""

from __future__ import annotations

import asyncio
from uuid import uuid4

from src.handlers.call import Call
from src.handlers.call_handler import build_agent, greet, join_late_memory, remember, so_far
from src.handlers.call_start import (
    begin,
    configured_agent,
    conversation_ready,
    is_ours,
    mark_answered,
)
from src.handlers.session import Modality, start_session
from src.logs import get_logger
from src.schemas.calls import DialRequest
from src.schemas.contact import ContactStatus
from src.schemas.errors import CallNotAnsweredError, ContactStoreError
from src.schemas.job_metadata import JobMetadata
from src.services.caller_memory import CallerMemory, Recollection
from src.services.conversation_history import Caller
from src.services.phone_numbers import caller_number

logger = get_logger(__name__)

CALLEE = "callee"


class OutboundCallHandler:
    """Rings the callee, remembers while it rings, greets after the answer."""

    def __init__(self, call: Call, metadata: JobMetadata) -> None:
        self._call = call
        self._metadata = metadata

    async def run(self) -> None:
        """Serve the call up to its greeting; the session goes on by itself."""
        call, metadata = self._call, self._metadata
        if metadata.phone is None:
            raise ValueError("an outbound job needs a phone number")
        if not await is_ours(call):
            return
        meta = await configured_agent(call, metadata)
        uid = metadata.contact_uid or uuid4().hex
        caller = Caller(number=caller_number(metadata.phone, None, region=None), contact_uid=uid)
        call.dialled = metadata.phone
        # Until somebody answers, an end from our side is that.
        call.status = ContactStatus.ABANDONED
        memory = begin(call, meta, metadata, caller, status=ContactStatus.DIALING)
        if await self._withdrawn(uid):
            call.end("withdrawn")
            return
        dial = call.background.spawn(
            call.telephony.dial(self._request(metadata.phone)), name="dial"
        )
        try:
            recollection = await self._while_it_rings(memory, dial)
            await conversation_ready(call, meta, metadata)
            agent = build_agent(call, recollection.meta, recollection.values, chat_ctx=so_far(call))
            session = await start_session(
                call, agent, meta, Modality(listening=False), identity=CALLEE
            )
            await dial
        except CallNotAnsweredError as error:
            logger.info("call not answered", extra={"status": error.status.value})
            if not await self._withdrawn(uid):  # else the network only reports that we gave up
                call.status = error.status
            call.end("not answered")
            return
        session.input.set_audio_enabled(True)  # from here on it is the callee, not the ringing
        mark_answered(call)
        call.answered_by(CALLEE)
        greet(call, agent)
        join_late_memory(call, memory)

    async def _while_it_rings(self, memory: CallerMemory, dial: asyncio.Task[None]) -> Recollection:
        """What memory has once it is complete, or shortly after the callee answered.

        Raises:
            CallNotAnsweredError: the call ended first.
        """
        looked_up = self._call.background.spawn(memory.within(None), name="memory-while-ringing")
        await asyncio.wait([looked_up, dial], return_when=asyncio.FIRST_COMPLETED)
        if dial.done():
            await dial
        recollection = await memory.within(self._call.services.policy.memory_deadline_s)
        return remember(self._call, recollection)

    async def _withdrawn(self, contact_uid: str) -> bool:
        """Whether somebody called the call off; without an answer in time it goes on."""
        try:
            async with asyncio.timeout(self._call.services.policy.agent_deadline_s):
                return await self._call.services.records.withdrawn(contact_uid)
        except (TimeoutError, ContactStoreError):
            return False

    def _request(self, phone: str) -> DialRequest:
        return DialRequest(
            room=self._call.room,
            phone=phone,
            participant_identity=CALLEE,
            ring_timeout_s=self._call.services.policy.ring_timeout_s,
        )
