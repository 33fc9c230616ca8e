"""What every call type does before it talks: whose call it is, which agent, its record."""

from __future__ import annotations

import asyncio

from livekit import rtc

from src.handlers.call import Call
from src.logs import get_logger
from src.schemas.agent_meta_schema import AgentMeta
from src.schemas.contact import ContactStatus, NewContact
from src.schemas.errors import AgentNotFoundError, ContactStoreError
from src.schemas.job_metadata import JobMetadata

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


def open_record(
    call: Call, meta: AgentMeta, uid: str, *, status: ContactStatus, campaign_id: str | None
) -> None:
    """Begin the call's contact record; nobody waits for it, since the end of the call completes it."""
    number = call.caller.number if call.caller else None
    call.contact = NewContact(
        contact_uid=uid,
        owner_id=meta.owner_id,
        agent_id=meta.agent_id,
        phone=(number.e164 or number.raw) if number else None,
        original_phone=number.raw if number else None,
        phone_last10=number.last10 if number else None,
        call_direction=call.direction,
        status=status,
        dynamic_variables=dict(call.live_values),
        campaign_id=campaign_id,
        call_started_at=call.services.sources.clock.now(),
    )
    call.record_opened = call.background.spawn(_open(call, call.contact), name="open-record")


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
