"""One outbound call at a time: placed, looked at, ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from src.logs import get_logger
from src.schemas.call_requests import CallRequest, CallView
from src.schemas.contact import CallDirection, CallEnd, ContactStatus, NewContact
from src.schemas.errors import (
    ConflictError,
    ContactStoreError,
    FieldProblem,
    InvalidInputError,
    MediaServerError,
    NotFoundError,
)
from src.schemas.job_metadata import JobMetadata
from src.services.call_ports import Dispatcher
from src.services.contact_fields import FINAL_STATUSES, moment, start_fields, text, variables
from src.services.owned import Document, OwnedStore, Resource
from src.services.owner_settings import settings_of
from src.services.phone_numbers import caller_number, to_e164
from src.services.ports import CallRecords, Clock
from src.services.request_checks import agent_problems, variable_problems

logger = get_logger(__name__)

_ROOM_PREFIX = "call-"
_E164_CHARS = 16
"""A plus and fifteen digits (ITU-T E.164); some plans have longer ones, which are for use within them."""


class OutboundCalls:
    """Calls of an owner's agents. The record comes first: no call is placed that nobody knows of."""

    def __init__(
        self, *, owned: OwnedStore, records: CallRecords, dispatcher: Dispatcher, clock: Clock
    ) -> None:
        self._owned = owned
        self._records = records
        self._dispatcher = dispatcher
        self._clock = clock

    async def place(self, owner_id: str, request: CallRequest) -> CallView:
        """Call somebody now; the worker takes it from here.

        Raises:
            InvalidInputError: the agent is not the owner's, the number is none, a variable's name
                cannot stand in a template.
            MediaServerError: no job could be started; the call's record is marked as failed.
            ContactStoreError: the store failed.
        """
        await self._check_agent(owner_id, request)
        contact = self._contact(owner_id, request, await self._number(owner_id, request.phone))
        document = {
            **start_fields(contact),
            "contactUID": contact.contact_uid,
            "status": contact.status.value,
            "dynamicVariables": dict(contact.dynamic_variables),
            "createdAt": contact.call_started_at,
            "room": f"{_ROOM_PREFIX}{contact.contact_uid}",
        }
        await self._owned.of(owner_id, Resource.CONTACTS).insert(document)
        try:
            await self._dispatcher.dispatch(document["room"], _job(contact))
        except MediaServerError:
            await self._give_up(contact, document["room"])
            raise
        return _view(document)

    async def status(self, owner_id: str, contact_uid: str) -> CallView:
        """Where the call stands.

        Raises:
            NotFoundError: the owner placed no such call.
            ContactStoreError: the store failed.
        """
        return _view(await self._call(owner_id, contact_uid))

    async def hang_up(self, owner_id: str, contact_uid: str) -> CallView:
        """End the call, also one that rings or that no worker has taken yet; may be repeated.

        Raises:
            NotFoundError: the owner placed no such call.
            ConflictError: it was over before anybody asked for its end.
            MediaServerError: the call may still go on; asking again tries again.
            ContactStoreError: the store failed.
        """
        document = await self._call(owner_id, contact_uid)
        if _is_over(document):
            return _ended_as_asked(document)
        # First of all: a worker that takes the job from now on sees it, and does not dial.
        await self._owned.of(owner_id, Resource.CONTACTS).update(
            contact_uid,
            {"hangupRequestedAt": self._clock.now()},
            where={"callEndedAt": None, "hangupRequestedAt": None},
        )
        document = await self._call(owner_id, contact_uid)
        if _is_over(document):
            return _ended_as_asked(document)
        room = text(document.get("room"))  # a record that waits for its turn has none yet
        if room and not await self._dispatcher.cancel(room):
            await self._close(_stored_contact(owner_id, document), ContactStatus.ABANDONED)
        return _view(await self._call(owner_id, contact_uid))

    async def _check_agent(self, owner_id: str, request: CallRequest) -> None:
        problems = variable_problems(request.dynamic_variables)
        problems += await agent_problems(self._owned, owner_id, request.agent_id)
        if problems:
            raise InvalidInputError(*problems)

    async def _number(self, owner_id: str, phone: str) -> str:
        owner = await settings_of(self._owned, owner_id)
        e164 = to_e164(phone, region=owner.default_region)
        if e164 is None or len(e164) > _E164_CHARS:
            raise InvalidInputError(FieldProblem("phone", "not a phone number that can be called"))
        return e164

    def _contact(self, owner_id: str, request: CallRequest, e164: str) -> NewContact:
        return NewContact(
            contact_uid=uuid4().hex,
            owner_id=owner_id,
            agent_id=request.agent_id,
            phone=e164,
            original_phone=request.phone,
            phone_last10=caller_number(e164, None, region=None).last10,
            call_direction=CallDirection.OUTBOUND,
            status=ContactStatus.DIALING,
            dynamic_variables=request.dynamic_variables,
            campaign_id=request.campaign_id,
            call_started_at=self._clock.now(),
        )

    async def _call(self, owner_id: str, contact_uid: str) -> Document:
        document = await self._owned.of(owner_id, Resource.CONTACTS).get(contact_uid)
        if document is None or document.get("callDirection") != CallDirection.OUTBOUND:
            raise NotFoundError("no such call")
        return document

    async def _give_up(self, contact: NewContact, room: str) -> None:
        """The job may have been started all the same: record and room both stop a late worker."""
        try:
            await self._close(contact, ContactStatus.FAILED)
            await self._dispatcher.cancel(room)
        except (ContactStoreError, MediaServerError):
            fields = {"contact_uid": contact.contact_uid}
            logger.warning("a call that was not placed is left to the sweep", extra=fields)

    async def _close(self, contact: NewContact, status: ContactStatus) -> None:
        await self._records.close(contact, CallEnd(status=status, ended_at=self._clock.now()))


def _job(contact: NewContact) -> JobMetadata:
    return JobMetadata(
        call_type=CallDirection.OUTBOUND,
        agent_id=contact.agent_id,
        contact_uid=contact.contact_uid,
        phone=contact.phone,
        dynamic_values=dict(contact.dynamic_variables),
        campaign_id=contact.campaign_id,
    )


def _is_over(document: Mapping[str, Any]) -> bool:
    return document.get("status") in FINAL_STATUSES


def _ended_as_asked(document: Document) -> CallView:
    if not document.get("hangupRequestedAt"):
        raise ConflictError("the call is over")
    return _view(document)


def _stored_contact(owner_id: str, document: Mapping[str, Any]) -> NewContact:
    created = moment(document.get("createdAt"))
    started = moment(document.get("callStartedAt")) or created
    return NewContact.model_validate(
        {
            "contact_uid": document["contactUID"],
            "owner_id": owner_id,
            "agent_id": text(document.get("AgentID")) or "",
            "phone": text(document.get("phone")),
            "original_phone": text(document.get("originalPhone")),
            "phone_last10": text(document.get("phoneLast10")),
            "call_direction": CallDirection.OUTBOUND,
            "status": ContactStatus.DIALING,
            "dynamic_variables": variables(document),
            "campaign_id": text(document.get("campaignId")),
            "call_started_at": started,
        }
    )


def _view(document: Mapping[str, Any]) -> CallView:
    times = ("callStartedAt", "callEndedAt", "hangupRequestedAt")
    return CallView.model_validate(
        {
            "contactUID": document["contactUID"],
            "agentId": text(document.get("AgentID")) or "",
            "phone": text(document.get("phone")) or "",
            "status": text(document.get("status")) or "unknown",
            "campaignId": text(document.get("campaignId")),
            "createdAt": moment(document.get("createdAt")) or moment(document.get("callStartedAt")),
            **{name: moment(document.get(name)) for name in times},
        }
    )
