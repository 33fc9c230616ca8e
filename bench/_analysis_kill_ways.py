"""Calls through the local stack, and the ways in which they end."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from typing_extensions import override

from local.kit import CallKit, LogTail
from local.phone.call import Call
from local.providers.control import Step
from local.stack import ensure_up
from local.supervise import Supervisor
from src.schemas.contact import CallDirection
from src.schemas.job_metadata import JobMetadata
from tests.e2e.web_client import WebClient

RECEPTION = "+15105550100"
QUESTION, ANSWER = "How long do refunds take?", "five"
FAILURES = 6
"""Requests for an analysis that the model refuses in one outage: some minute of retries."""
ANALYSIS = '"name": "analysis"'
"""What no request but one for an analysis holds."""


class Line(ABC):
    """One caller's side of one call."""

    query: dict[str, Any]
    """Finds the call's record."""

    @abstractmethod
    async def enter(self) -> None:
        """Be there and be greeted."""

    @abstractmethod
    async def ask(self) -> None:
        """Ask a question and be answered."""

    @abstractmethod
    async def cut_short(self, after_s: float) -> None:
        """Ask a question and leave so long after, answered or not."""

    @abstractmethod
    async def leave(self) -> None:
        """Hang up or close the tab; may be called again."""


class WebLine(Line):
    """Types in a browser."""

    def __init__(self, kit: CallKit) -> None:
        self._kit = kit
        self._uid = f"ends-{uuid4().hex[:12]}"
        self._open = AsyncExitStack()
        self._visitor: WebClient | None = None
        self.query = {"contactUID": self._uid}

    @override
    async def enter(self) -> None:
        job = JobMetadata(
            call_type=CallDirection.WEB, agent_id="web-guide", contact_uid=self._uid, mode="text"
        )
        room = await self._kit.dispatch(job)
        joined = WebClient.join(self._kit, room, voice=False)
        self._visitor = await self._open.enter_async_context(joined)
        await self._visitor.line("hello", timeout_s=30)

    @override
    async def ask(self) -> None:
        if self._visitor is not None:
            await self._visitor.type(QUESTION)
            await self._visitor.line(ANSWER, timeout_s=30)

    @override
    async def cut_short(self, after_s: float) -> None:
        if self._visitor is not None:
            await self._visitor.type(QUESTION)
            await asyncio.sleep(after_s)
        await self.leave()

    @override
    async def leave(self) -> None:
        await self._open.aclose()


class PhoneLine(Line):
    """Speaks on a phone."""

    def __init__(self, kit: CallKit) -> None:
        self._kit = kit
        self._number = f"+1628{uuid4().int % 10**7:07d}"
        self._call: Call | None = None
        self.query = {"phone": self._number}

    @override
    async def enter(self) -> None:
        self._call = await self._kit.phone.dial(RECEPTION, caller=self._number)
        await self._call.listen(self._call.answered_at, self._kit.hear)

    @override
    async def ask(self) -> None:
        if self._call is not None:
            await self._call.ask(await self._kit.speech(QUESTION), self._kit.hear)

    @override
    async def cut_short(self, after_s: float) -> None:
        if self._call is not None:
            await self._call.say(await self._kit.speech(QUESTION))
            await asyncio.sleep(after_s)
        await self.leave()

    @override
    async def leave(self) -> None:
        if self._call is not None and not self._call.ended.is_set():
            await self._call.hang_up()


@dataclass
class Batch:
    """A few calls at once, and what happens to all of them."""

    kit: CallKit
    lines: Sequence[Line]
    chance: random.Random
    log: LogTail = field(init=False)

    def __post_init__(self) -> None:
        self.log = LogTail.of(self.kit.stack, "worker")

    async def enter(self) -> list[Line]:
        """Those that are there: one that was never greeted is no call that could end."""
        there = await asyncio.gather(*(one.enter() for one in self.lines), return_exceptions=True)
        return [line for line, error in zip(self.lines, there, strict=True) if error is None]

    async def each(self, work: str, *args: float) -> None:
        """Let every line do it; one that fails, as it may among kills, does not stop the others."""
        doing = (getattr(line, work)(*args) for line in self.lines)
        await asyncio.gather(*doing, return_exceptions=True)

    async def hang_up_in_speech(self) -> None:
        """Everybody leaves while the agent thinks or speaks."""
        await asyncio.gather(
            *(line.cut_short(self.chance.uniform(0, 2)) for line in self.lines),
            return_exceptions=True,
        )

    async def never_speak(self) -> None:
        """Everybody hears the greeting and leaves."""

    async def kill_job(self) -> None:
        """The processes that serve the calls are killed at a random moment of an answer."""
        await self.each("ask")
        asking = asyncio.gather(*(line.cut_short(4) for line in self.lines), return_exceptions=True)
        await asyncio.sleep(self.chance.uniform(0, 1.5))
        pids = {one["pid"] for one in self.log.records() if one.get("message") == "prompt prepared"}
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await asking

    async def drain_worker(self) -> None:
        """The worker is told to end, with calls in progress; then there is another."""
        await self.each("ask")
        await asyncio.to_thread(Supervisor(self.kit.stack).stop, ["worker"])
        await self.each("leave")
        log = LogTail.of(self.kit.stack, "worker")
        await asyncio.to_thread(ensure_up, self.kit.stack)
        await log.wait_for("registered worker", timeout_s=60)
        await asyncio.sleep(3)  # its processes for calls are made ready

    async def model_away(self) -> None:
        """No analysis is made for a while."""
        await self.kit.providers.script("chat", *[Step(status=503, match=ANALYSIS)] * FAILURES)
        await self.each("ask")

    async def kill_queue(self) -> None:
        """The process that analyses is killed soon after the calls ended."""
        await self.each("ask")
        await self.each("leave")
        await asyncio.sleep(self.chance.uniform(0, 2))
        jobs = [one for one in Supervisor(self.kit.stack).states() if one.name == "jobs"]
        for state in jobs:
            if state.pid:
                os.kill(state.pid, signal.SIGKILL)  # and it is started anew


WAYS = {
    "hung up in speech": Batch.hang_up_in_speech,
    "caller never spoke": Batch.never_speak,
    "job process killed": Batch.kill_job,
    "worker drained (SIGTERM)": Batch.drain_worker,
    "model away": Batch.model_away,
    "queue process killed": Batch.kill_queue,
}
