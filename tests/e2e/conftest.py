"""The stack that calls are placed on: started once per run, stopped at its end."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from itertools import count

import pytest

from local.kit import CallKit, LogTail
from local.ports import Stack
from local.stack import ensure_up
from local.tear_down import tear_down
from src.bootstrap_memory import Foundation, build_foundation
from src.settings import Settings

_NUMBERS = count(int(datetime.now(UTC).timestamp()) % 10**6)


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """Every part of the local stack, running."""
    running = Stack.named("test")
    ensure_up(running)
    yield running
    tear_down(running)


@pytest.fixture
async def kit(stack: Stack) -> AsyncIterator[CallKit]:
    """A phone and a view of the stack."""
    async with CallKit.open(stack) as opened:
        await opened.providers.reset()
        yield opened


@pytest.fixture
def worker_log(stack: Stack) -> LogTail:
    """What the worker logs during the test."""
    return LogTail.of(stack, "worker")


@pytest.fixture
def caller() -> str:
    """A number nobody used before."""
    return f"+1415{next(_NUMBERS) % 10**7:07d}"


@pytest.fixture
async def base(kit: CallKit) -> AsyncIterator[Foundation]:
    """The product's own connections to the stack."""
    env = kit.stack.read_env()
    settings = Settings.model_validate(
        {
            "mongodb_uri": env["MONGODB_URI"],
            "mongodb_database": env["MONGODB_DATABASE"],
            "redis_url": env["REDIS_URL"],
            "database_url": env["DATABASE_URL"],
            "openai_base_url": env["OPENAI_BASE_URL"],
            "openai_api_key": env["OPENAI_API_KEY"],
            "VOICEASSIST_DATA_DIR": env["FAMILIAR_DATA_DIR"],
        }
    )
    foundation = await asyncio.to_thread(build_foundation, settings)
    yield foundation
    await foundation.aclose()
