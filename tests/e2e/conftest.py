"""The stack that calls are placed on: started once per run, stopped at its end."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import uuid4

import pytest

from local.kit import CallKit, Document, LogTail
from local.ports import Stack
from local.stack import ensure_up
from local.tear_down import tear_down

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


def past_call(phone: str, **fields: Any) -> Document:
    """The record of an earlier call, as the store holds it."""
    ago = fields.pop("ago", timedelta(days=2))
    base = {
        "contactUID": f"past-{uuid4().hex[:12]}",
        "ownerId": "acme",
        "AgentID": "outreach",
        "phone": phone,
        "originalPhone": phone,
        "phoneLast10": phone[-10:],
        "callDirection": "outbound",
        "status": "completed",
        "dynamicVariables": {"name": "Maria"},
        "conversation_summary": "The caller reported a broken thermostat in the nursery.",
        "callStartedAt": datetime.now(UTC) - ago,
        "createdAt": datetime.now(UTC) - ago,
    }
    return base | fields
