"""What the API keeps in Redis and MongoDB, beside the fakes its own tests use."""

from datetime import UTC, datetime

import pytest
from redis.asyncio import Redis

from src.adapters.mongo import Mongo
from src.adapters.mongo_keys import MongoKeyLookup
from src.adapters.mongo_owned import MongoOwnedStore
from src.adapters.redis_answers import RedisAnswers
from src.adapters.redis_client import connect_redis
from src.adapters.redis_rate_limits import RedisRateLimiter
from src.schemas.errors import ContactStoreError
from src.services.api_keys import ApiKeys, NewKey
from src.services.api_ports import Answers, Rate, RateLimiter
from tests.fakes.api import CountingLimiter, InMemoryAnswers
from tests.fakes.clock import FakeClock

pytestmark = pytest.mark.integration

NOWHERE = "redis://127.0.0.1:1/0"


@pytest.fixture(params=["fake", "redis"])
def answers(request: pytest.FixtureRequest, redis_client: Redis) -> Answers:
    return InMemoryAnswers() if request.param == "fake" else RedisAnswers(redis_client)


@pytest.fixture(params=["fake", "redis"])
def limiter(request: pytest.FixtureRequest, redis_client: Redis) -> RateLimiter:
    if request.param == "fake":
        return CountingLimiter()
    return RedisRateLimiter(redis_client, timeout_s=5)


async def test_a_name_is_reserved_once(answers: Answers) -> None:
    assert await answers.reserve("n", "first", 60) is None
    assert await answers.reserve("n", "second", 60) == "first"
    await answers.put("n", "done", 60)
    assert await answers.reserve("n", "third", 60) == "done"
    await answers.remove("n")
    assert await answers.reserve("n", "fourth", 60) is None


async def test_answers_go_when_their_time_is_over(redis_client: Redis) -> None:
    answers = RedisAnswers(redis_client)
    await answers.reserve("a", "x", 60)
    await answers.put("b", "x", 90)
    assert 0 < await redis_client.ttl("a") <= 60
    assert 60 < await redis_client.ttl("b") <= 90


async def test_requests_within_a_rate_pass_and_the_next_has_to_wait(limiter: RateLimiter) -> None:
    rate = Rate(3, 3600)
    assert [await limiter.wait_s("a", rate) for _ in range(3)] == [0, 0, 0]
    assert 0 < await limiter.wait_s("a", rate) <= 2 * rate.seconds
    assert await limiter.wait_s("b", rate) == 0


async def test_without_redis_nobody_is_limited_and_nothing_is_created_twice() -> None:
    async with connect_redis(NOWHERE) as away:
        assert await RedisRateLimiter(away).wait_s("a", Rate(1, 1)) == 0
        with pytest.raises(ContactStoreError):
            await RedisAnswers(away).reserve("a", "x", 60)


async def test_keys_are_found_whoever_owns_them(mongo: Mongo) -> None:
    lookup = MongoKeyLookup(mongo)
    keys = ApiKeys(store=MongoOwnedStore(mongo), lookup=lookup, clock=FakeClock())
    issued = await keys.create("acme", NewKey())
    found = await keys.recognise(issued.token)
    assert found is not None
    assert found.owner_id == "acme"
    at = datetime(2026, 3, 1, tzinfo=UTC)
    await lookup.touch(issued.key.key_id, at)
    document = await lookup.find(issued.key.key_id)
    assert document is not None
    assert document["lastUsedAt"] == at
    assert "_id" not in document
    assert await lookup.find("nobody") is None
