"""From a dispatched job to the handler of its call type."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

from livekit.agents import JobContext
from pydantic import ValidationError

from src.handlers.call import Call, CallServices
from src.handlers.call_end import finish_call
from src.handlers.call_handler import apologise
from src.handlers.call_start import mark_failed
from src.handlers.inbound_call_handler import InboundCallHandler
from src.handlers.outbound_call_handler import OutboundCallHandler
from src.handlers.sorry import APOLOGY, UNAVAILABLE
from src.handlers.web_call_handler import WebCallHandler
from src.logs import get_logger, trace_of
from src.schemas.contact import CallDirection, ContactStatus
from src.schemas.errors import AgentNotFoundError, NobodyCameError
from src.schemas.job_metadata import JobMetadata

logger = get_logger(__name__)


class Handler(Protocol):
    """Serves the calls of one type."""

    async def run(self) -> None:
        """Serve the call up to its greeting."""


_HANDLERS: Mapping[CallDirection, Callable[[Call, JobMetadata], Handler]] = {
    CallDirection.INBOUND: InboundCallHandler,
    CallDirection.OUTBOUND: OutboundCallHandler,
    CallDirection.WEB: WebCallHandler,
}
_CALLS: dict[str, Call] = {}
"""The calls of this process by job id: LiveKit hands the end of a session only its job context."""


def parse_metadata(raw: str) -> JobMetadata:
    """The job's metadata; absent or broken means an inbound call, found by the dialled number."""
    try:
        return JobMetadata.model_validate_json(raw)
    except ValidationError as error:
        if raw:
            fields = sorted({str(e["loc"][0]) for e in error.errors() if e["loc"]})
            logger.warning("job metadata refused, taken as inbound", extra={"fields": fields})
        return JobMetadata(call_type=CallDirection.INBOUND)


async def serve_call(ctx: JobContext, services: CallServices) -> None:
    """Serve one job up to its greeting; a failure is said, not left as silence."""
    metadata = parse_metadata(ctx.job.metadata)
    call = Call(ctx=ctx, services=services, direction=metadata.call_type)
    call.give_up = partial(_fail, call, APOLOGY, metadata.contact_uid)
    _CALLS[ctx.job.id] = call
    ctx.room.on("disconnected", lambda *_: call.over.set())
    _ = call.background.spawn(services.connect(), name="connect-stores")
    await ctx.connect()
    handler = _HANDLERS[metadata.call_type](call, metadata)
    work = call.background.spawn(handler.run(), name=f"{metadata.call_type}-call")
    over = call.background.spawn(call.over.wait(), name="call-over")
    try:
        await asyncio.wait([work, over], return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            await work
    except NobodyCameError:
        logger.warning("nobody came")
        call.end("nobody came")
    except AgentNotFoundError:
        logger.error("no agent for this call")  # noqa: TRY400 - expected, no trace needed
        await _fail(call, UNAVAILABLE, metadata.contact_uid)
    except Exception as error:  # noqa: BLE001 - the edge of the job: whatever it is, the caller is told
        logger.error("call failed", extra={"trace": trace_of(error)})  # noqa: TRY400 - see trace_of
        await _fail(call, APOLOGY, metadata.contact_uid)
    finally:
        over.cancel()
        work.cancel()


async def _fail(call: Call, sentence: str, contact_uid: str | None) -> None:
    """Tell the caller if there is one, and mark the record, also one that a campaign made."""
    if call.over.is_set():
        pass  # the caller is gone already
    elif call.direction is CallDirection.OUTBOUND and call.session is None:
        await call.telephony.hang_up(call.room)  # nobody answered yet
    else:
        await apologise(call, sentence)
    call.status = ContactStatus.FAILED
    if call.contact is None and contact_uid is not None:
        await mark_failed(call, contact_uid)
    call.end("failed")


async def end_call(ctx: JobContext) -> None:
    """LiveKit's `on_session_end`: the last transcript is in, the process may end after this."""
    call = _CALLS.pop(ctx.job.id, None)
    if call is not None:
        await finish_call(call)
