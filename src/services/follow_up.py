"""What follows a call, exactly once: its analysis is stored, its events are told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from src.logs import get_logger
from src.schemas.analysis import AnalysisStatus, CallAnalysis
from src.schemas.contact import Turn
from src.schemas.errors import AgentNotFoundError, LanguageModelError, MemoryStoreError
from src.schemas.follow_up import FinishedAnalysis, FollowUp, PendingAnalysis
from src.services.follow_up_ports import FollowUpQueue, FollowUps
from src.services.ports import Agents, Clock
from src.services.transcript_privacy import OwnerPrivacy
from src.services.transcript_text import is_conversation
from src.services.webhook_ports import EventSink

logger = get_logger(__name__)

GIVEN_UP = "no attempt to analyse the call succeeded"


class Analyser(Protocol):
    """Analyses conversations."""

    async def analyse(
        self,
        transcript: Sequence[Turn],
        *,
        language: str,
        fields_schema: Mapping[str, Any] | None,
        anonymize: bool,
    ) -> CallAnalysis:
        """The analysis of one call.

        Raises:
            LanguageModelError: no usable answer; trying again later may help.
        """


class CallAnalyses:
    """The job that analyses a call.

    It may be done twice, or at once by two workers, or die anywhere: whoever first stores an end has
    ended the analysis, and told of it in the same write.
    """

    def __init__(
        self,
        *,
        store: FollowUps,
        queue: FollowUpQueue,
        analyser: Analyser,
        agents: Agents,
        privacy: OwnerPrivacy,
        clock: Clock,
    ) -> None:
        self._store = store
        self._queue = queue
        self._analyser = analyser
        self._agents = agents
        self._privacy = privacy
        self._clock = clock

    async def analyse(self, contact_uid: str) -> None:
        """Analyse the call, if it waits for that.

        Raises:
            LanguageModelError: no usable answer.
            ContactStoreError: the store failed.
        """
        pending = await self._store.begin_analysis(contact_uid)
        if pending is None:
            return
        if not is_conversation(pending.transcript):
            await self._finish(contact_uid, self._end(AnalysisStatus.NO_CONVERSATION))
            return
        fields_schema = await self._fields_schema(pending)
        anonymize = await self._privacy.anonymizes(pending.owner_id)
        try:
            analysis = await self._analyser.analyse(
                pending.transcript,
                language=pending.language,
                fields_schema=fields_schema,
                anonymize=anonymize,
            )
        except LanguageModelError as error:
            await self._store.note_failure(contact_uid, str(error))
            raise
        done = self._end(AnalysisStatus.DONE).model_copy(update={"analysis": analysis})
        await self._finish(contact_uid, done)

    async def give_up(self, contact_uid: str) -> None:
        """Say that the call could not be analysed, if it still waits for that.

        Raises:
            ContactStoreError: the store failed.
        """
        failed = self._end(AnalysisStatus.FAILED).model_copy(update={"error": GIVEN_UP})
        await self._finish(contact_uid, failed)

    async def _fields_schema(self, pending: PendingAnalysis) -> Mapping[str, Any] | None:
        try:
            agent = await self._agents.by_id(pending.agent_id)
        except AgentNotFoundError:  # removed since, or not usable any more: its calls still count
            return None
        return agent.analysis_schema if agent.owner_id == pending.owner_id else None

    def _end(self, status: AnalysisStatus) -> FinishedAnalysis:
        return FinishedAnalysis(status=status, at=self._clock.now())

    async def _finish(self, contact_uid: str, finished: FinishedAnalysis) -> None:
        if not await self._store.finish_analysis(contact_uid, finished):
            return
        logger.info(
            "analysis of a call ended",
            extra={"contact_uid": contact_uid, "status": finished.status.value},
        )
        try:
            await self._queue.enqueue(contact_uid, FollowUp.RELAY)
        except MemoryStoreError:  # the sweep finds the event
            logger.info("event is told later", extra={"contact_uid": contact_uid})


class EventRelay:
    """The job that tells of a call's events: each at least once, always under the same id."""

    def __init__(self, *, store: FollowUps, sink: EventSink) -> None:
        self._store = store
        self._sink = sink

    async def relay(self, contact_uid: str) -> None:
        """Tell what waits to be told.

        Raises:
            ContactStoreError, MemoryStoreError: a store failed; what was not told still waits.
        """
        events = await self._store.waiting_events(contact_uid)
        for event in events:
            if event.owner_id:  # else there is nobody to tell
                await self._sink.publish(event)
        if events:
            await self._store.told(contact_uid, [event.id for event in events])

    async def give_up(self, contact_uid: str) -> None:
        """Leave the events to the sweep: the stores failed, nobody refused them."""
        logger.warning("events of a call wait for the stores", extra={"contact_uid": contact_uid})
