"""A phone: one SIP port, any number of calls at once, in both directions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from local.phone import sdp
from local.phone.call import Call
from local.phone.endpoint import HOST, ServerTransaction, SipEndpoint, Timers, Traced
from local.phone.inbound import InboundCall
from local.phone.media import Media, RtpPorts
from local.phone.outbound import OutboundCall
from local.phone.sip import HostPort
from local.phone.tasks import OwnedTasks

CALLER = "+15551234567"
_FAREWELL_S = 2.0


class Phone:
    """Use it with `async with`: leaving ends its calls and its tasks.

    Args:
        sip_port: The port it listens on; 0 takes any.
        rtp_ports: Where its audio ports come from, one of every two for a call.
        server: Where it sends the calls that it makes.
        timers: When to send again.
    """

    def __init__(
        self,
        *,
        rtp_ports: range,
        sip_port: int = 0,
        server: HostPort = (HOST, 5060),
        timers: Timers | None = None,
    ) -> None:
        self.server = server
        self.calls: list[Call] = []
        self._sip_port = sip_port
        self._rtp_ports = RtpPorts(HOST, rtp_ports)
        self._tasks = OwnedTasks()
        self._endpoint = SipEndpoint(
            on_request=self._take_request, tasks=self._tasks, timers=timers or Timers()
        )
        self._unclaimed: list[InboundCall] = []
        self._arrived = asyncio.Condition()

    async def __aenter__(self) -> Self:
        await self._endpoint.open(self._sip_port)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_FAREWELL_S):
                await asyncio.gather(
                    *(call.abandon() for call in self.calls), return_exceptions=True
                )
        await self._tasks.close()
        for call in self.calls:
            call.cut()
        self._endpoint.close()
        await asyncio.sleep(0)  # lets the transports close their sockets
        if error is None and self._tasks.failure is not None:
            raise self._tasks.failure

    @property
    def sip_port(self) -> int:
        """The port it listens on."""
        return self._endpoint.port

    @property
    def address(self) -> HostPort:
        """Where others reach it."""
        return HOST, self.sip_port

    @property
    def trace(self) -> list[Traced]:
        """The first line of every message that went or came."""
        return self._endpoint.trace

    # Calls it makes

    async def dial(
        self, number: str, *, caller: str | None = CALLER, timeout_s: float = 30.0
    ) -> OutboundCall:
        """Call a number, withholding one's own if `caller` is None; returns once it is answered.

        Raises:
            CallRefusedError: with the status it was refused with.
            TimeoutError: nobody answered; it was cancelled.
        """
        call = await self.start_dial(number, caller=caller)
        await call.wait_answered(timeout_s)
        return call

    async def start_dial(self, number: str, *, caller: str | None = CALLER) -> OutboundCall:
        """Call a number; returns at once, so that one can wait for the ringing, or cancel."""
        media = await self._open_media()
        call = OutboundCall(self._endpoint, media, number=number, caller=caller)
        self.calls.append(call)
        call.invite(self.server)
        return call

    # Calls it receives

    async def accept(
        self, *, ring_s: float = 1.0, number: str | None = None, timeout_s: float = 30.0
    ) -> InboundCall:
        """Wait for a call to this number (to any, if None), ring, answer.

        Raises:
            TimeoutError: nobody called in time.
            CallEndedError: the caller gave up while it rang.
        """
        call = await self.ring_only(number=number, timeout_s=timeout_s)
        await call.answer(ring_s=ring_s)
        return call

    async def refuse(
        self, status: int = 486, *, number: str | None = None, timeout_s: float = 30.0
    ) -> InboundCall:
        """Wait for a call to this number and refuse it; returns once that is acknowledged.

        Raises:
            TimeoutError: nobody called in time, or the refusal was not acknowledged.
        """
        call = await self._next_call(number, timeout_s)
        await call.refuse(status)
        return call

    async def ring_only(self, *, number: str | None = None, timeout_s: float = 30.0) -> InboundCall:
        """Wait for a call to this number and let it ring; wait for its `ended` to see the caller give up.

        Raises:
            TimeoutError: nobody called in time.
        """
        call = await self._next_call(number, timeout_s)
        call.ring()
        return call

    async def _next_call(self, number: str | None, timeout_s: float) -> InboundCall:
        def wanted() -> InboundCall | None:
            calls = (c for c in self._unclaimed if number in {None, c.number})
            return next(calls, None)

        async with asyncio.timeout(timeout_s), self._arrived:
            call = await self._arrived.wait_for(wanted)
            if call is None:
                raise RuntimeError("a condition that holds gave nothing")
            self._unclaimed.remove(call)
            return call

    async def _open_media(self) -> Media:
        media = Media()
        await media.open(self._rtp_ports)
        return media

    # What the other side asks for

    def _take_request(self, transaction: ServerTransaction) -> None:
        request = transaction.request
        if request.method == "INVITE" and not request.recipient.tag:
            transaction.respond(100)
            self._tasks.spawn(self._admit(transaction), name="sip invite")
        elif request.method == "CANCEL":
            self._take_cancel(transaction)
        elif request.method == "OPTIONS":
            transaction.respond(200)
        else:
            self._take_within_call(transaction)

    def _take_within_call(self, transaction: ServerTransaction) -> None:
        request = transaction.request
        taken: dict[str, Callable[[Call], None]] = {
            "BYE": lambda call: call.take_bye(transaction),
            "INVITE": lambda call: call.take_reinvite(transaction),
        }
        if request.method not in taken:
            transaction.respond(405)
            return
        tag = request.recipient.tag
        for call in self.calls:
            if call.belongs(request.call_id, tag) and not call.ended.is_set():
                taken[request.method](call)
                return
        transaction.respond(481)

    async def _admit(self, invite: ServerTransaction) -> None:
        remote = sdp.read(invite.request.body)
        if remote is None:
            invite.respond(488)
            return
        try:
            media = await self._open_media()
        except OSError:
            invite.respond(503)
            return
        if invite.is_completed:  # cancelled meanwhile
            media.close()
            return
        call = InboundCall(self._endpoint, media, invite, remote)
        self.calls.append(call)
        self._unclaimed.append(call)
        async with self._arrived:
            self._arrived.notify_all()

    def _take_cancel(self, cancel: ServerTransaction) -> None:
        invite = self._endpoint.invite_of(cancel.request)
        if invite is None:
            cancel.respond(481)
            return
        cancel.tag = invite.tag
        cancel.respond(200)
        for call in self.calls:
            if isinstance(call, InboundCall) and call.is_of(invite):
                call.take_cancel()
                return
        if not invite.is_completed:
            invite.respond(487)
