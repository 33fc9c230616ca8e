"""One call in progress, and what it is served with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from livekit import api, rtc
from livekit.agents import AgentSession, JobContext, inference, llm, stt, tts, vad

from src.schemas.agent_meta_schema import AgentMeta
from src.schemas.calls import CallPolicy, TurnPolicy
from src.schemas.contact import CallDirection, ContactStatus, NewContact
from src.schemas.errors import NobodyCameError
from src.schemas.receipt import MemoryReceipt
from src.services.agent_directory import AgentDirectory
from src.services.background import Background
from src.services.call_closing import CallCloser
from src.services.caller_memory import CallerMemory, Recollection
from src.services.compaction import MessageSummariser
from src.services.conversation_history import Caller, MemorySources
from src.services.cross_session import OpeningNotes
from src.services.language import LanguageIdentifier
from src.services.ports import CallLease, CallRecords, Telephony, TokenCounter
from src.services.retrieval import Retrieval
from src.services.unified_memory import UnifiedMemoryService

if TYPE_CHECKING:
    from src.handlers.conversation import Conversation


class Speech(Protocol):
    """The models of this process."""

    def listen(
        self,
        languages: Sequence[str],
        *,
        fallbacks: Sequence[str] = ...,
        keyterms: Sequence[str] = ...,
    ) -> stt.STT:
        """The recogniser for these languages (BCP 47), one or several."""

    def speak(self, voice: str | None, *, fallbacks: Sequence[str] = ...) -> tts.TTS:
        """The voice; None takes the configured one."""

    def change_voice(self, voice: str | None) -> None:
        """Speak with another voice from the next reply on."""

    def think(self, model: str | None, *, fallbacks: Sequence[str] = ...) -> llm.LLM:
        """The language model; None takes the configured one."""

    @property
    def voice_name(self) -> str:
        """What `speak` or `change_voice` last chose."""

    def vad(self) -> vad.VAD:
        """Tells speech from silence."""

    def turn_detector(self) -> inference.TurnDetector:
        """Tells the end of a turn from a pause."""


class Spare(Protocol):
    """Sentences kept as sound, for when the voice itself fails."""

    async def keep(self, voice: tts.TTS, *, name: str, sentence: str) -> None:
        """Have the sentence ready in the voice of that name; never raises."""

    async def frames(self, *, name: str, sentence: str) -> AsyncIterator[rtc.AudioFrame] | None:
        """The sentence as sound, or None if it was never kept."""


class TurnMetrics(Protocol):
    """What is counted of turns, for whoever watches the worker."""

    def turn(self, stages_ms: Mapping[str, float], mode: str) -> None:
        """Note the stages of one turn, in milliseconds."""

    def degraded(self, name: str) -> None:
        """Note one degradation of a call."""


@dataclass(frozen=True)
class ThinkingServices:
    """What turns are answered with, and remembered by."""

    memory: UnifiedMemoryService
    opening: OpeningNotes
    retrieval: Retrieval
    summariser: MessageSummariser
    identifier: LanguageIdentifier
    count_tokens: TokenCounter
    keyterms: tuple[str, ...] = ()
    """Domain terms for the recogniser, besides an agent's own."""


@dataclass(frozen=True)
class CallServices:
    """Everything a call needs; built once per job process."""

    connect: Callable[[], Coroutine[None, None, None]]
    """Opens the stores' connections ahead of their first use; never raises."""
    directory: AgentDirectory
    sources: MemorySources
    records: CallRecords
    closer: CallCloser
    lease: CallLease
    telephony: Callable[[api.LiveKitAPI], Telephony]
    speech: Speech
    spare: Spare
    metrics: TurnMetrics
    thinking: ThinkingServices
    policy: CallPolicy
    turn: TurnPolicy


@dataclass
class Call:
    """The state of one call, from the job's start to its end."""

    ctx: JobContext
    services: CallServices
    direction: CallDirection
    live_values: Mapping[str, str] = field(default_factory=dict)
    """Values the campaign or the request gave; memory never overrides them."""
    contact: NewContact | None = None
    """None until the call is known well enough to be recorded."""
    caller: Caller | None = None
    dialled: str | None = None
    """The other end's number as they or we dialled it: ours inbound, theirs outbound."""
    status: ContactStatus = ContactStatus.FAILED
    """How the call ends if it ended now."""
    ours: bool = False
    """This job serves the call (and not another one that was dispatched for it as well)."""
    identity: str | None = None
    """The other side's participant identity, once known."""
    session: AgentSession | None = None
    conversation: Conversation | None = None
    """None until the agent is known."""
    opening_note: str = ""
    """What earlier sessions of this person leave to the agent."""
    recollection: Recollection | None = None
    handoff_receipts: list[MemoryReceipt] = field(default_factory=list)
    degradations: list[str] = field(default_factory=list)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    background: Background = field(default_factory=Background)
    language: str = "en"
    give_up: Callable[[], Coroutine[None, None, None]] | None = None
    """Tells the caller that the call has to end, and ends it."""
    record_opened: asyncio.Task[None] | None = None
    opened: asyncio.Task[None] | None = None
    """The look-up of the conversation."""

    @property
    def room(self) -> str:
        """Name of the LiveKit room."""
        return self.ctx.job.room.name

    @property
    def telephony(self) -> Telephony:
        """Places and ends calls on this job's LiveKit server."""
        return self.services.telephony(self.ctx.api)

    def degrade(self, *names: str) -> None:
        """Note what the caller had to do without; each name once."""
        for name in dict.fromkeys(names):
            if name not in self.degradations:
                self.degradations.append(name)
                self.services.metrics.degraded(name)

    async def other_side(self, kind: rtc.ParticipantKind.ValueType) -> rtc.RemoteParticipant:
        """The caller, once they are in the room; from then on their leaving ends the call.

        A session of its own accord closes for some reasons of leaving only; a call ends for all.

        Raises:
            NobodyCameError: they never joined.
        """
        self.ctx.room.on("participant_disconnected", self._left)
        try:
            async with asyncio.timeout(self.services.policy.participant_wait_s):
                participant = await self.ctx.wait_for_participant(kind=kind)
        except TimeoutError:
            raise NobodyCameError("the other side never joined") from None
        self.identity = participant.identity
        return participant

    def answered_by(self, identity: str) -> None:
        """The callee answered; from now on their leaving ends the call."""
        self.identity = identity
        self.ctx.room.on("participant_disconnected", self._left)
        if identity not in self.ctx.room.remote_participants:
            self.end("participant left")

    def _left(self, participant: rtc.RemoteParticipant) -> None:
        is_agent = participant.kind == rtc.ParticipantKind.PARTICIPANT_KIND_AGENT
        if participant.identity == self.identity or (self.identity is None and not is_agent):
            self.end("participant left")

    def end(self, reason: str) -> None:
        """Stop serving the call; the job goes on to store what there is."""
        self.over.set()
        self.ctx.shutdown(reason)

    def recall(self, meta: AgentMeta) -> CallerMemory:
        """Start both memory lookups for `meta`; needs `caller`."""
        if self.caller is None:
            raise RuntimeError("the caller is not known yet")
        return CallerMemory(
            meta=meta,
            caller=self.caller,
            live=self.live_values,
            sources=self.services.sources,
            background=self.background,
        )
