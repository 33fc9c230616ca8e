"""Wires the API together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from redis.asyncio import Redis

from src.adapters.livekit_dispatch import LiveKitDispatcher
from src.adapters.livekit_numbers import LiveKitNumbers
from src.adapters.livekit_server import LiveKitServer
from src.adapters.livekit_tokens import LiveKitTokens
from src.adapters.mongo_bound_numbers import MongoBoundNumbers
from src.adapters.mongo_keys import MongoKeyLookup
from src.adapters.mongo_owned import MongoOwnedStore
from src.adapters.redis_answers import RedisAnswers
from src.adapters.redis_client import connect_redis
from src.adapters.redis_rate_limits import RedisRateLimiter
from src.adapters.tokens import O200kTokenCounter
from src.api.services import ApiServices
from src.bootstrap_follow_up import build_livekit, build_records
from src.bootstrap_memory import (
    Foundation,
    build_foundation,
    build_memory,
    build_redactor,
    build_sources,
    build_stores,
    call_policy,
)
from src.bootstrap_webhooks import build_webhooks
from src.logs import get_logger
from src.schemas.errors import FamiliarError
from src.services.agent_documents import AgentDocuments
from src.services.api_keys import ApiKeys
from src.services.background import Background
from src.services.call_records_view import CallRecordsView
from src.services.lexicons import load_lexicons
from src.services.memory_access import MemoryAccess
from src.services.outbound_calls import OutboundCalls
from src.services.owned import OwnedStore
from src.services.owner_settings import OwnersSettings
from src.services.phone_number_bindings import PhoneNumberBindings
from src.services.preview import CallPreview
from src.services.unified_memory import UnifiedMemoryService
from src.services.web_sessions import WebSessions
from src.settings import Settings

logger = get_logger(__name__)

_REDIS_S = 2.0
"""An API call can wait longer for Redis than somebody on the line."""


@dataclass(frozen=True)
class Api:
    """The API's services, and how to let go of what they hold."""

    base: Foundation
    livekit: LiveKitServer
    numbers: LiveKitNumbers
    memory: UnifiedMemoryService
    redis: Redis
    services: ApiServices

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Bring the media server's numbers up to date, serve, close."""
        background = Background()
        _ = background.spawn(self._reconcile(), name="reconcile-numbers")
        try:
            yield
        finally:
            await background.aclose()
            await self.aclose()

    async def _reconcile(self) -> None:
        # A media server that lost its store, or was away when a number was bound, does not know it.
        try:
            await self.numbers.reconcile()
        except FamiliarError as error:
            logger.warning("numbers not brought up to date", extra={"code": error.code})

    async def aclose(self) -> None:
        """Close every connection."""
        await self.memory.aclose()
        await self.livekit.aclose()
        await self.redis.aclose()
        await self.base.aclose()


def build_api(settings: Settings) -> Api:
    """What `serve.py` serves. Does no I/O, loads a vocabulary."""
    base = build_foundation(settings)
    redis = connect_redis(settings.redis_url, timeout_s=_REDIS_S)
    owned, clock = MongoOwnedStore(base.mongo), base.clock
    livekit = build_livekit(settings)
    dispatcher = LiveKitDispatcher(livekit)
    numbers = LiveKitNumbers(livekit, MongoBoundNumbers(base.mongo))
    stores = build_stores(base)
    memory = build_memory(base, stores, build_redactor(load_lexicons(settings.data_dir).terms))
    webhooks = build_webhooks(base)
    policy, count_tokens = call_policy(settings), O200kTokenCounter()
    count_tokens.load()
    services = ApiServices(
        keys=build_keys(base, owned),
        owned=owned,
        clock=clock,
        limiter=RedisRateLimiter(redis),
        answers=RedisAnswers(redis),
        webhooks=webhooks.webhooks,
        agents=AgentDocuments(owned=owned, clock=clock),
        preview=CallPreview(
            owned=owned,
            sources=build_sources(base, policy, count_tokens),
            preferences=stores.archive,
            policy=policy,
        ),
        settings=OwnersSettings(owned=owned),
        calls=OutboundCalls(
            owned=owned,
            records=build_records(base),
            dispatcher=dispatcher,
            clock=clock,
        ),
        records=CallRecordsView(owned=owned, archive=stores.archive),
        numbers=PhoneNumberBindings(owned=owned, provisioning=numbers, clock=clock),
        sessions=WebSessions(
            owned=owned,
            tokens=LiveKitTokens(
                server_url=settings.livekit_public_url or settings.livekit_url,
                api_key=livekit.api_key,
                api_secret=livekit.api_secret,
            ),
            dispatcher=dispatcher,
            clock=clock,
        ),
        memory=MemoryAccess(memory=memory, store=owned, events=webhooks.dispatcher),
        checks={
            "mongodb": base.mongo.ping,
            "redis": base.redis.ping,
            "postgresql": base.postgres.ping,
            "livekit": livekit.ping,
        },
    )
    return Api(base, livekit, numbers, memory, redis, services)


def build_keys(base: Foundation, owned: OwnedStore) -> ApiKeys:
    """The API keys. Does no I/O."""
    return ApiKeys(store=owned, lookup=MongoKeyLookup(base.mongo), clock=base.clock)
