"""When words that may still change are acted on."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from src.handlers.call import Call
from src.handlers.foresight import Foresight
from src.services.unified_memory import UnifiedMemoryService
from tests.fakes.call import fake_call


@pytest.fixture
async def call() -> AsyncIterator[Call]:
    call = fake_call(UnifiedMemoryService())
    yield call
    await call.background.aclose()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_words_that_stay_the_same_are_acted_on_once(call: Call) -> None:
    acted: list[str] = []
    foresight = Foresight(call, acted.append)
    for text in ("how", "how long", "how long do refunds take"):
        foresight.heard(text, is_final=False)
    foresight.heard("how long do refunds take", is_final=False)
    await settle()
    foresight.heard("how long do refunds take", is_final=False)
    await settle()
    assert acted == ["how long do refunds take"]


async def test_final_words_are_acted_on_at_once(call: Call) -> None:
    acted: list[str] = []
    foresight = Foresight(call, acted.append)
    foresight.heard("how long", is_final=False)
    foresight.heard("How long?", is_final=True)
    assert acted == ["How long?"]
    await settle()
    assert acted == ["How long?"]
