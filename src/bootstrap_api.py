"""Wires the API together."""

from __future__ import annotations

from dataclasses import dataclass

from src.adapters.mongo_keys import MongoKeyLookup
from src.adapters.mongo_owned import MongoOwnedStore
from src.adapters.redis_answers import RedisAnswers
from src.adapters.redis_client import connect_redis
from src.adapters.redis_rate_limits import RedisRateLimiter
from src.api.services import ApiServices
from src.bootstrap_memory import Foundation, build_foundation
from src.bootstrap_webhooks import build_webhooks
from src.services.api_keys import ApiKeys
from src.services.owned import OwnedStore
from src.settings import Settings

_REDIS_S = 2.0
"""An API call can wait longer for Redis than somebody on the line."""


@dataclass(frozen=True)
class Api:
    """The API's services, and how to let go of what they hold."""

    base: Foundation
    services: ApiServices

    async def aclose(self) -> None:
        """Close every connection."""
        await self.base.aclose()


def build_api(settings: Settings) -> Api:
    """What `serve.py` serves. Does no I/O."""
    base = build_foundation(settings)
    redis = connect_redis(settings.redis_url, timeout_s=_REDIS_S)
    owned = MongoOwnedStore(base.mongo)
    return Api(
        base,
        ApiServices(
            keys=build_keys(base, owned),
            owned=owned,
            clock=base.clock,
            limiter=RedisRateLimiter(redis),
            answers=RedisAnswers(redis),
            webhooks=build_webhooks(base).webhooks,
            checks={
                "mongodb": base.mongo.ping,
                "redis": base.redis.ping,
                "postgresql": base.postgres.ping,
            },
        ),
    )


def build_keys(base: Foundation, owned: OwnedStore) -> ApiKeys:
    """The API keys. Does no I/O."""
    return ApiKeys(store=owned, lookup=MongoKeyLookup(base.mongo), clock=base.clock)
