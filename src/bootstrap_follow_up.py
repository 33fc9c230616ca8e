"""Wires together what follows calls, for worker, API and jobs process alike."""

from __future__ import annotations

from src.adapters.livekit_rooms import LiveKitRooms
from src.adapters.livekit_server import LiveKitServer
from src.adapters.mongo_agents import MongoAgents
from src.adapters.mongo_call_records import MongoCallRecords
from src.adapters.mongo_follow_ups import MongoFollowUps
from src.adapters.mongo_open_calls import MongoOpenCalls
from src.adapters.mongo_owned import MongoOwnedStore
from src.adapters.openai_analysis import OpenAIAnalysisModel
from src.adapters.postgres_follow_ups import PostgresFollowUpQueue
from src.adapters.task_queue import TaskQueue
from src.bootstrap_memory import Foundation, build_stores
from src.schemas.follow_up import FollowUp
from src.services.analysis import CallAnalyser
from src.services.call_sweep import CallSweep
from src.services.follow_up import CallAnalyses, EventRelay
from src.services.lost_calls import LostCalls
from src.services.memory_ports import Redactor
from src.services.prompt_records import PromptCallRecords
from src.services.transcript_privacy import OwnerPrivacy
from src.services.webhook_ports import EventSink
from src.settings import Settings


def build_records(base: Foundation) -> PromptCallRecords:
    """Call records whose follow-up begins at once. Does no I/O."""
    return PromptCallRecords(
        records=MongoCallRecords(mongo=base.mongo, clock=base.clock),
        queue=PostgresFollowUpQueue(base.postgres),
    )


def build_privacy(base: Foundation, redactor: Redactor) -> OwnerPrivacy:
    """What owners want masked. Does no I/O."""
    return OwnerPrivacy(owned=MongoOwnedStore(base.mongo), redactor=redactor)


def build_livekit(settings: Settings) -> LiveKitServer:
    """The media server's API. Does no I/O."""
    return LiveKitServer(
        url=settings.livekit_url,
        api_key=settings.livekit_api_key.get_secret_value(),
        api_secret=settings.livekit_api_secret.get_secret_value(),
    )


def run_follow_up_jobs(
    queue: TaskQueue,
    base: Foundation,
    *,
    livekit: LiveKitServer,
    redactor: Redactor,
    sink: EventSink,
) -> None:
    """Have the queue analyse calls, tell of their events, and look after what was left behind."""
    store, follow_ups = MongoFollowUps(base.mongo), PostgresFollowUpQueue(base.postgres)
    privacy = build_privacy(base, redactor)
    model = OpenAIAnalysisModel(client=base.openai, model=base.settings.llm_model)
    analyses = CallAnalyses(
        store=store,
        queue=follow_ups,
        analyser=CallAnalyser(model=model, redactor=redactor),
        agents=MongoAgents(base.mongo),
        privacy=privacy,
        clock=base.clock,
    )
    relay = EventRelay(store=store, sink=sink)
    lost = LostCalls(
        calls=MongoOpenCalls(base.mongo),
        records=build_records(base),
        archive=build_stores(base).archive,
        rooms=LiveKitRooms(livekit),
        privacy=privacy,
        clock=base.clock,
    )
    sweep = CallSweep(store=store, queue=follow_ups, lost=lost, clock=base.clock)
    queue.task(FollowUp.ANALYSE.value, analyses.analyse, give_up=analyses.give_up)
    queue.task(FollowUp.RELAY.value, relay.relay, give_up=relay.give_up)
    queue.periodic("sweep_calls", cron="* * * * *", work=sweep.run_once)
