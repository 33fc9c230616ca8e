"""A call that this phone receives."""

from __future__ import annotations

import asyncio
import time

from typing_extensions import override

from local.phone import sdp
from local.phone.call import Call
from local.phone.dialog import Dialog
from local.phone.endpoint import ServerTransaction, SipEndpoint
from local.phone.hearing import CallEndedError
from local.phone.media import Media
from local.phone.sip import parse_uri


class InboundCall(Call):
    """Waits to be answered or refused; the caller may give up before."""

    def __init__(
        self,
        endpoint: SipEndpoint,
        media: Media,
        invite: ServerTransaction,
        remote: sdp.RemoteMedia,
    ) -> None:
        sender = invite.request.sender
        user = parse_uri(sender.uri).user
        super().__init__(
            endpoint,
            media,
            number=parse_uri(invite.request.uri).user,
            caller=None if user.lower() == "anonymous" else user,
        )
        self._invite = invite
        self._remote = remote

    def ring(self) -> None:
        """Tell the caller that it rings."""
        if not self._invite.is_completed:
            self.ringing_at = time.time()
            self._invite.respond(180, user=self.number)

    async def answer(self, *, ring_s: float = 0.0) -> None:
        """Take the call, after ringing for `ring_s`.

        Raises:
            CallEndedError: the caller gave up.
        """
        try:
            async with asyncio.timeout(ring_s):
                await self.ended.wait()
        except TimeoutError:
            pass
        if self.ended.is_set():
            raise CallEndedError("the caller gave up")
        events = self._remote.telephone_event
        body = sdp.describe(self._media.address, telephone_event=events)
        self._dialog = Dialog.of_received(self._invite.request, self._invite.tag, self._invite.peer)
        self._invite.respond(200, user=self.number, body=body)
        self.answered_at = time.time()
        self._start_media(self._remote)

    async def refuse(self, status: int, timeout_s: float = 5.0) -> None:
        """Do not take the call; returns once the caller's side has acknowledged it.

        Raises:
            CallEndedError: the caller gave up before.
            TimeoutError: it was never acknowledged.
        """
        if self.ended.is_set():
            raise CallEndedError("the caller gave up")
        self._invite.respond(status, user=self.number)
        self._end("here")
        async with asyncio.timeout(timeout_s):
            await self._invite.acknowledged.wait()

    @property
    def is_acknowledged(self) -> bool:
        """Whether the caller's side confirmed our answer."""
        return self._invite.acknowledged.is_set()

    def take_cancel(self) -> None:
        """The caller gave up."""
        if not self._invite.is_completed:
            self._invite.respond(487, user=self.number)
            self._end("there")

    @override
    def belongs(self, call_id: str, local_tag: str) -> bool:
        return (call_id, local_tag) == (self._invite.request.call_id, self._invite.tag)

    @override
    async def abandon(self) -> None:
        if self._dialog is None and not self.ended.is_set():
            await self.refuse(480)
        await self.hang_up()

    def is_of(self, invite: ServerTransaction) -> bool:
        """Whether this is the call of that INVITE."""
        return self._invite is invite
