"""Places and ends phone calls through LiveKit SIP."""

from __future__ import annotations

import asyncio

import aiohttp
from google.protobuf.duration_pb2 import Duration
from livekit import api
from typing_extensions import override

from src.adapters.livekit_server import delete_room
from src.logs import get_logger
from src.schemas.calls import DialRequest
from src.schemas.contact import ContactStatus
from src.schemas.errors import CallNotAnsweredError
from src.services.ports import Telephony

logger = get_logger(__name__)

_STATUS_BY_SIP = {
    # RFC 3261 section 21; 486/600 busy, 603/403/607/608 declined, 408/480/487 nobody answered.
    486: ContactStatus.BUSY,
    600: ContactStatus.BUSY,
    403: ContactStatus.REJECTED,
    603: ContactStatus.REJECTED,
    607: ContactStatus.REJECTED,
    608: ContactStatus.REJECTED,
    408: ContactStatus.NO_ANSWER,
    480: ContactStatus.NO_ANSWER,
    487: ContactStatus.NO_ANSWER,
    404: ContactStatus.INVALID_NUMBER,
    410: ContactStatus.INVALID_NUMBER,
    414: ContactStatus.INVALID_NUMBER,
    484: ContactStatus.INVALID_NUMBER,
    604: ContactStatus.INVALID_NUMBER,
}
_ANSWER_MARGIN_S = 5.0  # the server's own answer may come this much after the ringing ended


class LiveKitTelephony(Telephony):
    """One outbound trunk of one LiveKit server."""

    def __init__(self, *, livekit_api: api.LiveKitAPI, trunk_id: str) -> None:
        self._api = livekit_api
        self._trunk_id = trunk_id

    @override
    async def dial(self, request: DialRequest) -> None:
        if not self._trunk_id:
            logger.error("no outbound trunk is configured")
            raise CallNotAnsweredError(ContactStatus.FAILED)
        try:
            async with asyncio.timeout(request.ring_timeout_s + _ANSWER_MARGIN_S):
                await self._api.sip.create_sip_participant(
                    api.CreateSIPParticipantRequest(
                        sip_trunk_id=self._trunk_id,
                        sip_call_to=request.phone,
                        room_name=request.room,
                        participant_identity=request.participant_identity,
                        wait_until_answered=True,
                        ringing_timeout=_duration(request.ring_timeout_s),
                    )
                )
        except api.SipCallError as error:
            raise _not_answered(error) from error
        except api.ServerError as error:
            raise CallNotAnsweredError(_status_without_sip(error)) from error
        except TimeoutError as error:
            raise CallNotAnsweredError(ContactStatus.NO_ANSWER) from error
        except aiohttp.ClientError as error:
            raise CallNotAnsweredError(ContactStatus.FAILED) from error

    @override
    async def hang_up(self, room: str) -> None:
        try:
            async with asyncio.timeout(_ANSWER_MARGIN_S):
                await delete_room(self._api, room)
        except (api.ServerError, TimeoutError, aiohttp.ClientError) as error:
            logger.warning("room not closed", extra={"error": type(error).__name__})


def _duration(seconds: float) -> Duration:
    whole = int(seconds)
    return Duration(seconds=whole, nanos=int((seconds - whole) * 1e9))


def _not_answered(error: api.SipCallError) -> CallNotAnsweredError:
    code = error.sip_status_code
    if code is None:
        return CallNotAnsweredError(_status_without_sip(error))
    status = _STATUS_BY_SIP.get(code, ContactStatus.UNREACHABLE)
    return CallNotAnsweredError(status, sip_status=code)


def _status_without_sip(error: api.ServerError) -> ContactStatus:
    # An unanswered call comes back as `canceled` ("sip request timed out") or `deadline_exceeded`.
    if error.code in ("canceled", "deadline_exceeded"):
        return ContactStatus.NO_ANSWER
    if error.code == "invalid_argument":
        return ContactStatus.INVALID_NUMBER
    return ContactStatus.FAILED
