"""What every call type does before it talks: whose call it is, which agent, its record."""

from __future__ import annotations

import asyncio

from livekit import rtc

from src.handlers.call import Call
from src.handlers.conversation import Conversation
from src.logs import get_logger
from src.schemas.agent_meta_schema import AgentMeta
from src.schemas.contact import ContactStatus, NewContact
from src.schemas.errors import AgentNotFoundError, ContactStoreError
from src.schemas.job_metadata import JobMetadata
from src.schemas.memory import ConversationContext
from src.services.caller_memory import CallerMemory
from src.services.conversation_history import Caller
from src.services.identity import memory_user_id

logger = get_logger(__name__)

_OTHER_AGENT_WAIT_S = 1.0


async def is_ours(call: Call) -> bool:
    """Whether this job is the one to speak; a second dispatch of the same call leaves quietly.

    The lease outlives a worker that died, so it only binds while its holder is in the room.
    """
    if await call.services.lease.acquire(call.room, call.ctx.job.id):
        call.ours = True
        return True
    if not await _other_agent_comes(call.ctx.room):
        logger.warning("took over a call whose agent is gone")
        call.ours = True
        return True
    logger.warning("another job serves this call, leaving")
    call.end("served by another job")
    return False


async def _other_agent_comes(room: rtc.Room) -> bool:
    def present() -> bool:
        return any(
            p.kind == rtc.ParticipantKind.PARTICIPANT_KIND_AGENT
            for p in room.remote_participants.values()
        )

    came = asyncio.Event()

    def joined(_: rtc.RemoteParticipant) -> None:
        if present():
            came.set()

    room.on("participant_connected", joined)
    try:
        if not present():
            async with asyncio.timeout(_OTHER_AGENT_WAIT_S):
                await came.wait()
    except TimeoutError:
        return False
    finally:
        room.off("participant_connected", joined)
    return True


async def configured_agent(call: Call, metadata: JobMetadata) -> AgentMeta:
    """The agent that the job's metadata names or carries.

    Raises:
        AgentNotFoundError: it names none, or none that exists.
        pydantic.ValidationError: what it carries is no agent.
    """
    if metadata.agent_config is not None:
        meta, refused = AgentMeta.for_call(metadata.agent_config)
        if refused:
            logger.warning("memory settings refused, feature off", extra={"fields": list(refused)})
            call.degrade("memory_settings_refused")
        return meta
    if metadata.agent_id is None:
        raise AgentNotFoundError("the job names no agent")
    found = await call.services.directory.by_id(metadata.agent_id)
    if found.from_cache:
        call.degrade("agent_from_cache")
    return found.meta


def begin(
    call: Call, meta: AgentMeta, metadata: JobMetadata, caller: Caller, *, status: ContactStatus
) -> CallerMemory:
    """Who calls and whom is known: open the record and the conversation, look up what is remembered.

    Nobody waits for the record, since the end of the call completes it.
    """
    call.caller = caller
    call.live_values = metadata.dynamic_values
    call.language = meta.language
    session_id = metadata.session_id or str(caller.contact_uid)
    user_id = memory_user_id(
        meta.owner_id,
        e164=caller.number.e164,
        user=metadata.user_id,
        session_id=session_id,
    )
    known = _contact(call, meta, metadata, caller, status)
    call.contact = known.model_copy(update={"session_id": session_id, "user_id": user_id})
    call.record_opened = call.background.spawn(_open(call, call.contact), name="open-record")
    call.opened = call.background.spawn(
        _open_conversation(call, meta, metadata, session_id, user_id), name="open-conversation"
    )
    return call.recall(meta)


async def _open_conversation(
    call: Call, meta: AgentMeta, metadata: JobMetadata, session_id: str, user_id: str
) -> None:
    thinking = call.services.thinking
    begun = thinking.memory.begin_session(
        session_id, user_id=user_id, owner_id=meta.owner_id, agent_id=meta.agent_id
    )
    # What earlier calls of a number leave to later ones is for the agent's own settings to say.
    note = thinking.opening.opening_note(user_id, session_id) if metadata.user_id else _no_note()
    opened, call.opening_note = await asyncio.gather(begun, note)
    if call.conversation is None:  # else the call began without it
        call.conversation = Conversation(call, meta, opened, metadata.mode)
        call.language = call.conversation.language


async def _no_note() -> str:
    return ""


async def conversation_ready(call: Call, meta: AgentMeta, metadata: JobMetadata) -> None:
    """Wait for what memory knows of the session; without an answer in time it counts as new."""
    if call.opened is not None:
        await asyncio.wait([call.opened], timeout=call.services.policy.memory_deadline_s)
    if call.conversation is None and call.contact is not None:
        call.degrade("conversation_late")
        new = ConversationContext(session_id=call.contact.session_id or call.contact.contact_uid)
        call.conversation = Conversation(call, meta, new, metadata.mode)


def _contact(
    call: Call, meta: AgentMeta, metadata: JobMetadata, caller: Caller, status: ContactStatus
) -> NewContact:
    number = caller.number
    return NewContact(
        contact_uid=caller.contact_uid,
        owner_id=meta.owner_id,
        agent_id=meta.agent_id,
        phone=number.e164 or number.raw,
        original_phone=number.raw,
        phone_last10=number.last10,
        call_direction=call.direction,
        status=status,
        dynamic_variables=dict(call.live_values),
        campaign_id=metadata.campaign_id,
        room=call.room,
        call_started_at=call.services.sources.clock.now(),
    )


def mark_answered(call: Call) -> None:
    """The two sides can hear each other; from here on the call counts as held."""
    call.status = ContactStatus.COMPLETED
    _ = call.background.spawn(_mark_in_progress(call), name="mark-answered")


async def mark_failed(call: Call, contact_uid: str) -> None:
    """A call that failed before its own record was opened still has the one it was asked for with."""
    await _mark(call, contact_uid, ContactStatus.FAILED)


async def _mark_in_progress(call: Call) -> None:
    if call.record_opened is not None and call.contact is not None:
        await asyncio.wait([call.record_opened])
        await _mark(call, call.contact.contact_uid, ContactStatus.IN_PROGRESS)


async def _mark(call: Call, contact_uid: str, status: ContactStatus) -> None:
    try:
        async with asyncio.timeout(call.services.policy.record_write_s):
            await call.services.records.mark(contact_uid, status)
    except (TimeoutError, ContactStoreError):
        call.degrade("record_late")
        logger.warning("call record not marked", extra={"contact_uid": contact_uid})


async def _open(call: Call, contact: NewContact) -> None:
    try:
        async with asyncio.timeout(call.services.policy.record_write_s):
            await call.services.records.open(contact)
    except (TimeoutError, ContactStoreError):
        call.degrade("record_late")
        logger.warning("call record not opened", extra={"contact_uid": contact.contact_uid})
