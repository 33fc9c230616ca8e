"""Somebody talks or types in the browser."""

from __future__ import annotations

from uuid import uuid4

from livekit import rtc

from src.handlers.call import Call
from src.handlers.call_handler import build_agent, greet, remember, so_far
from src.handlers.call_start import (
    begin,
    configured_agent,
    conversation_ready,
    is_ours,
    mark_answered,
)
from src.handlers.session import Modality, start_session
from src.schemas.contact import ContactStatus
from src.schemas.job_metadata import JobMetadata
from src.services.conversation_history import Caller
from src.services.phone_numbers import caller_number


class WebCallHandler:
    """One session for voice and text; without a number, memory of calls finds nothing."""

    def __init__(self, call: Call, metadata: JobMetadata) -> None:
        self._call = call
        self._metadata = metadata

    async def run(self) -> None:
        """Serve the session up to its greeting; it goes on by itself."""
        call, metadata = self._call, self._metadata
        call.status = ContactStatus.ABANDONED
        participant = await call.other_side(rtc.ParticipantKind.PARTICIPANT_KIND_STANDARD)
        if not await is_ours(call):
            return
        meta = await configured_agent(call, metadata)
        uid = metadata.contact_uid or uuid4().hex
        caller = Caller(number=caller_number(None, None, region=None), contact_uid=uid)
        memory = begin(call, meta, metadata, caller, status=ContactStatus.RINGING)
        recollection = remember(call, await memory.within(call.services.policy.memory_deadline_s))
        await conversation_ready(call, meta, metadata)
        agent = build_agent(call, recollection.meta, recollection.values, chat_ctx=so_far(call))
        await start_session(call, agent, meta, Modality(text=True), participant.identity)
        mark_answered(call)
        greet(call, agent)
