"""Wires the processes together: the only module that names adapters."""

from __future__ import annotations

import asyncio
import os
import socket
from dataclasses import dataclass

from livekit import api
from openai import AsyncOpenAI
from redis.asyncio import Redis

from src.adapters.clock import SystemClock
from src.adapters.file_journal import FileJournal
from src.adapters.livekit_telephony import LiveKitTelephony
from src.adapters.mongo import Mongo
from src.adapters.mongo_agents import MongoAgents
from src.adapters.mongo_call_records import MongoCallRecords
from src.adapters.mongo_catalogue import MongoCatalogue
from src.adapters.mongo_contact_history import MongoContactHistory
from src.adapters.mongo_summary_queue import MongoSummaryQueue
from src.adapters.openai_summaries import OpenAISummariser
from src.adapters.redis_agents import RedisAgentCache
from src.adapters.redis_client import connect_redis
from src.adapters.redis_lease import RedisCallLease
from src.adapters.speech import SpeechConfig, SpeechModels
from src.adapters.tokens import O200kTokenCounter
from src.adapters.warm_up import warm_up
from src.handlers.call import CallServices
from src.schemas.calls import CallPolicy, TurnPolicy
from src.services.agent_directory import AgentDirectory
from src.services.call_closing import CallCloser
from src.services.conversation_history import MemorySources
from src.services.ports import Catalogue
from src.services.summaries import SummaryWorker
from src.settings import Settings

__all__ = ["Jobs", "build_call_services", "build_catalogue", "build_jobs", "warm_up"]


def build_call_services(settings: Settings) -> CallServices:
    """What the calls of one job process are served with. Does no I/O, loads models."""
    clock, mongo, redis = SystemClock(), _mongo(settings), _redis(settings)
    count_tokens = O200kTokenCounter()
    count_tokens.load()
    policy = CallPolicy(
        memory_deadline_s=settings.memory_deadline_ms / 1000,
        ring_timeout_s=settings.ring_timeout_s,
        default_region=settings.default_region,
    )
    turn = TurnPolicy(
        vad_silence_s=settings.vad_silence_s,
        threshold=settings.turn_threshold,
        endpoint_min_s=settings.endpoint_min_s,
        endpoint_max_s=settings.endpoint_max_s,
    )
    records = MongoCallRecords(mongo=mongo, clock=clock)

    def telephony(livekit_api: api.LiveKitAPI) -> LiveKitTelephony:
        return LiveKitTelephony(livekit_api=livekit_api, trunk_id=settings.sip_trunk_id)

    async def connect() -> None:
        await asyncio.gather(mongo.ping(), redis.ping(), return_exceptions=True)

    return CallServices(
        connect=connect,
        directory=AgentDirectory(
            agents=MongoAgents(mongo),
            cache=RedisAgentCache(client=redis),
            deadline_s=policy.agent_deadline_s,
        ),
        sources=MemorySources(
            contacts=MongoContactHistory(mongo),
            clock=clock,
            count_tokens=count_tokens,
            max_block_tokens=policy.history_max_tokens,
        ),
        records=records,
        closer=CallCloser(
            records=records,
            journal=FileJournal(settings.data_dir / "journal" / "calls"),
            clock=clock,
            policy=policy,
        ),
        lease=RedisCallLease(client=redis),
        telephony=telephony,
        speech=SpeechModels(_speech(settings), turn),
        policy=policy,
        turn=turn,
    )


@dataclass(frozen=True)
class Jobs:
    """The jobs process."""

    worker: SummaryWorker
    closer: CallCloser
    mongo: Mongo
    openai: AsyncOpenAI

    async def aclose(self) -> None:
        """Close every connection."""
        await self.openai.close()
        await self.mongo.aclose()


def build_jobs(settings: Settings) -> Jobs:
    """What `jobs.py` runs. Does no I/O."""
    clock, mongo = SystemClock(), _mongo(settings)
    openai = AsyncOpenAI(
        api_key=settings.openai_api_key.get_secret_value(), base_url=settings.openai_base_url
    )
    worker = SummaryWorker(
        queue=MongoSummaryQueue(mongo=mongo, clock=clock),
        summariser=OpenAISummariser(client=openai, model=settings.llm_model),
        clock=clock,
        name=f"{socket.gethostname()}-{os.getpid()}",
    )
    closer = CallCloser(
        records=MongoCallRecords(mongo=mongo, clock=clock),
        journal=FileJournal(settings.data_dir / "journal" / "calls"),
        clock=clock,
        policy=CallPolicy(),
    )
    return Jobs(worker=worker, closer=closer, mongo=mongo, openai=openai)


def build_catalogue(settings: Settings) -> tuple[Catalogue, Mongo]:
    """What `seed.py` writes to, and the client to close after it. Does no I/O."""
    mongo = _mongo(settings)
    return MongoCatalogue(mongo=mongo, clock=SystemClock()), mongo


def _mongo(settings: Settings) -> Mongo:
    return Mongo(uri=settings.mongodb_uri, database=settings.mongodb_database)


def _redis(settings: Settings) -> Redis:
    return connect_redis(settings.redis_url)


def _speech(settings: Settings) -> SpeechConfig:
    return SpeechConfig(
        deepgram_api_key=settings.deepgram_api_key.get_secret_value(),
        deepgram_base_url=settings.deepgram_base_url,
        openai_api_key=settings.openai_api_key.get_secret_value(),
        openai_base_url=settings.openai_base_url,
        stt_model=settings.stt_model,
        tts_model=settings.tts_model,
        llm_model=settings.llm_model,
    )
