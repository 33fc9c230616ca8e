"""A call that this phone makes."""

from __future__ import annotations

import asyncio
import secrets
import time

from typing_extensions import override

from local.phone import sdp
from local.phone.call import Call, CallRefusedError
from local.phone.dialog import Dialog
from local.phone.endpoint import HOST, ClientTransaction, SipEndpoint
from local.phone.media import Media
from local.phone.sip import HostPort, Request, Response

_ANONYMOUS = '"Anonymous" <sip:anonymous@anonymous.invalid>'


class OutboundCall(Call):
    """Rings at the other side until it is answered, refused or cancelled.

    Attributes:
        invited_at: When the INVITE went out.
    """

    def __init__(
        self, endpoint: SipEndpoint, media: Media, *, number: str, caller: str | None
    ) -> None:
        super().__init__(endpoint, media, number=number, caller=caller)
        self.invited_at = 0.0
        self._progressed = asyncio.Event()
        self._call_id = f"{secrets.token_hex(8)}@{HOST}"
        self._tag = secrets.token_hex(4)
        self._settled = asyncio.Event()
        self._refusal: CallRefusedError | None = None
        self._invite: ClientTransaction | None = None
        self._is_cancelled = False

    def invite(self, server: HostPort) -> None:
        """Call the number at this server."""
        self.invited_at = time.time()
        self._invite = self._endpoint.start(self._request(server), server, self._take_response)

    async def wait_ringing(self, timeout_s: float = 10.0) -> None:
        """Return once it rings at the other side, or was answered without.

        Raises:
            CallRefusedError: it was refused, or cancelled here.
            TimeoutError: it did neither in time.
        """
        async with asyncio.timeout(timeout_s):
            await self._progressed.wait()
        if self._refusal is not None:
            raise self._refusal

    async def wait_answered(self, timeout_s: float = 30.0) -> None:
        """Return once it is answered.

        Raises:
            CallRefusedError: it was refused, or cancelled here.
            TimeoutError: it rang that long and was cancelled.
        """
        try:
            async with asyncio.timeout(timeout_s):
                await self._settled.wait()
        except TimeoutError:
            await self.cancel()
            raise
        if self._refusal is not None:
            raise self._refusal

    async def cancel(self) -> None:
        """Stop ringing and wait until the other side has confirmed it, or has had its time to.

        A call that is answered meanwhile is hung up.
        """
        if self._invite is None or self._settled.is_set():
            return
        self._is_cancelled = True
        # RFC 3261 9.1: no CANCEL before a provisional response; until then one is owed.
        if self._invite.answered.is_set():
            self._send_cancel(self._invite)
        try:
            async with asyncio.timeout(self._endpoint.timers.give_up_s):
                await self._settled.wait()
        except TimeoutError:
            self._refuse(408, "the cancelled call was never confirmed to be over")
        await self.hang_up()

    @override
    def belongs(self, call_id: str, local_tag: str) -> bool:
        return (call_id, local_tag) == (self._call_id, self._tag)

    @override
    async def abandon(self) -> None:
        await self.cancel()
        await self.hang_up()

    def _request(self, server: HostPort) -> Request:
        uri = f"sip:{self.number}@{server[0]}:{server[1]}"
        user = "anonymous" if self.caller is None else self.caller
        caller = _ANONYMOUS if self.caller is None else f"<{self._endpoint.contact(user)}>"
        headers = [("Via", self._endpoint.new_via()), ("Max-Forwards", "70")]
        headers += [("From", f"{caller};tag={self._tag}"), ("To", f"<{uri}>")]
        headers += [("Call-ID", self._call_id), ("CSeq", "1 INVITE")]
        headers += [("Contact", f"<{self._endpoint.contact(user)}>")]
        if self.caller is None:
            headers.append(("Privacy", "id"))
        headers += [("Allow", "INVITE, ACK, BYE, CANCEL, OPTIONS")]
        headers += [("Content-Type", "application/sdp")]
        body = sdp.describe(self._media.address)
        return Request(headers=tuple(headers), body=body, method="INVITE", uri=uri)

    def _send_cancel(self, invite: ClientTransaction) -> None:
        kept = ("via", "from", "to", "call-id", "max-forwards", "route")
        headers = [(name, value) for name, value in invite.request.headers if name.lower() in kept]
        headers.append(("CSeq", f"{invite.request.sequence} CANCEL"))
        cancel = Request(headers=tuple(headers), method="CANCEL", uri=invite.request.uri)
        # Its own answer says nothing about the call: that comes as the INVITE's 487.
        self._endpoint.start(cancel, invite.peer, lambda _: None)

    def _take_response(self, response: Response) -> None:
        if response.status < 200:
            self._take_provisional(response)
        elif response.status < 300:
            self._take_answer(response)
        else:
            self._refuse(response.status, response.reason)

    def _take_provisional(self, response: Response) -> None:
        if response.status in {180, 183} and not self._progressed.is_set():
            self.ringing_at = time.time()
            self._progressed.set()
        if self._is_cancelled and self._invite is not None:
            self._send_cancel(self._invite)

    def _take_answer(self, answer: Response) -> None:
        invite = self._invite
        if invite is None:
            return
        self.answered_at = time.time()
        self._dialog = Dialog.of_sent(invite.request, answer, invite.peer)
        invite.ack = self._dialog.ack(self._endpoint.new_via(), invite.request.sequence)
        remote = sdp.read(answer.body)
        if remote is None:
            self._refusal = CallRefusedError(488, "answered without audio that we know")
            self._endpoint.tasks.spawn(self.hang_up(), name="sip hang up")
        else:
            self._start_media(remote)
        self._settle()

    def _refuse(self, status: int, reason: str) -> None:
        self._refusal = CallRefusedError(status, reason)
        self._end("here" if self._is_cancelled else "there")
        self._settle()

    def _settle(self) -> None:
        self._progressed.set()
        self._settled.set()
