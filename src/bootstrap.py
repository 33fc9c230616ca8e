"""Wires the worker together. Only this module and `bootstrap_jobs` name adapters."""

from __future__ import annotations

import asyncio

from livekit import api

from src.adapters.language_id import Py3LangidIdentifier
from src.adapters.livekit_telephony import LiveKitTelephony
from src.adapters.mongo_agents import MongoAgents
from src.adapters.openai_summaries import OpenAISummariser
from src.adapters.redis_agents import RedisAgentCache
from src.adapters.redis_lease import RedisCallLease
from src.adapters.spare_speech import SpareSpeech
from src.adapters.speech import SpeechConfig, SpeechModels
from src.adapters.tokens import O200kTokenCounter
from src.adapters.turn_metrics import PrometheusTurnMetrics
from src.adapters.warm_up import warm_up
from src.bootstrap_follow_up import build_privacy, build_records
from src.bootstrap_memory import (
    Foundation,
    build_call_journal,
    build_foundation,
    build_knowledge,
    build_memory,
    build_redactor,
    build_sources,
    build_stores,
    call_policy,
)
from src.handlers.call import CallServices, ThinkingServices
from src.schemas.calls import TurnPolicy
from src.services.agent_directory import AgentDirectory
from src.services.call_closing import CallCloser
from src.services.cross_session import OpeningNotes
from src.services.lexicons import load_lexicons
from src.services.retrieval import Retrieval
from src.settings import Settings

_LOOKUP_CONNECTIONS = 4

__all__ = ["build_call_services", "build_speech", "preload", "turn_policy"]


def preload(settings: Settings) -> None:
    """What job processes share because the process they are forked from has it."""
    warm_up()
    build_redactor(load_lexicons(settings.data_dir).terms).load()
    Py3LangidIdentifier().load()


def build_call_services(settings: Settings) -> CallServices:
    """What the calls of one job process are served with. Does no I/O, loads models."""
    base = build_foundation(settings)
    clock, mongo, redis = base.clock, base.mongo, base.redis
    count_tokens = O200kTokenCounter()
    count_tokens.load()
    policy = call_policy(settings)
    records = build_records(base)
    redactor = build_redactor(load_lexicons(settings.data_dir).terms)

    def telephony(livekit_api: api.LiveKitAPI) -> LiveKitTelephony:
        return LiveKitTelephony(livekit_api=livekit_api, trunk_id=settings.sip_trunk_id)

    async def connect() -> None:
        # As many connections as the look-ups use at once.
        pings = [mongo.ping() for _ in range(_LOOKUP_CONNECTIONS)]
        await asyncio.gather(*pings, redis.ping(), base.postgres.ping(), return_exceptions=True)

    return CallServices(
        connect=connect,
        directory=AgentDirectory(
            agents=MongoAgents(mongo),
            cache=RedisAgentCache(client=redis),
            deadline_s=policy.agent_deadline_s,
        ),
        sources=build_sources(base, policy, count_tokens),
        records=records,
        closer=CallCloser(
            records=records,
            journal=build_call_journal(settings),
            clock=clock,
            policy=policy,
            privacy=build_privacy(base, redactor),
        ),
        lease=RedisCallLease(client=redis),
        telephony=telephony,
        speech=build_speech(settings),
        spare=SpareSpeech(settings.data_dir / "spare_speech"),
        metrics=PrometheusTurnMetrics(),
        thinking=_thinking(base, count_tokens),
        policy=policy,
        turn=turn_policy(settings),
    )


def _thinking(base: Foundation, count_tokens: O200kTokenCounter) -> ThinkingServices:
    stores, settings = build_stores(base), base.settings
    index, embedder = build_knowledge(base)
    lexicon = load_lexicons(settings.data_dir)
    return ThinkingServices(
        memory=build_memory(base, stores, build_redactor(lexicon.terms)),
        opening=OpeningNotes(archive=stores.archive, count=count_tokens),
        retrieval=Retrieval(index=index, embedder=embedder, clock=base.clock),
        summariser=OpenAISummariser(client=base.openai, model=settings.llm_model),
        identifier=Py3LangidIdentifier(),
        count_tokens=count_tokens,
        keyterms=lexicon.terms,
    )


def build_speech(settings: Settings) -> SpeechModels:
    """The models of one job process. Does no I/O."""
    config = SpeechConfig(
        deepgram_api_key=settings.deepgram_api_key.get_secret_value(),
        deepgram_base_url=settings.deepgram_base_url,
        openai_api_key=settings.openai_api_key.get_secret_value(),
        openai_base_url=settings.openai_base_url,
        stt_model=settings.stt_model,
        tts_model=settings.tts_model,
        llm_model=settings.llm_model,
        fallback_api_key=settings.fallback_api_key.get_secret_value(),
        fallback_base_url=settings.fallback_base_url,
    )
    return SpeechModels(config, turn_policy(settings))


def turn_policy(settings: Settings) -> TurnPolicy:
    """When a caller's turn counts as over."""
    return TurnPolicy(
        vad_silence_s=settings.vad_silence_s,
        threshold=settings.turn_threshold,
        endpoint_min_s=settings.endpoint_min_s,
        endpoint_max_s=settings.endpoint_max_s,
    )
