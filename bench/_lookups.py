"""Call-start lookups at growing numbers of contacts, against a scan by regular expression."""

from __future__ import annotations

import asyncio
import random
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from pymongo import AsyncMongoClient
from pymongo.asynchronous.collection import AsyncCollection

from bench._report import Report, p50, percentile
from local.ports import Stack
from src.adapters.clock import SystemClock
from src.adapters.mongo import Mongo
from src.adapters.mongo_catalogue import MongoCatalogue
from src.adapters.mongo_contact_history import MongoContactHistory
from src.adapters.tokens import O200kTokenCounter
from src.schemas.agent_meta_schema import AgentMeta
from src.services.background import Background
from src.services.caller_memory import CallerMemory
from src.services.conversation_history import Caller, MemorySources
from src.services.phone_numbers import caller_number

DATABASE = "bench"
SIZES = (10_000, 100_000, 1_000_000)
_BATCH = 5_000
FILL_BUDGET_S = 240.0
"""The embedded server takes about a thousand records a second: what is not in by then is left out."""
_LOOKUPS = 400
_CALLS_PER_PERSON = 4
_REGEX_RUNS = 3

META = AgentMeta(
    agent_id="reception",
    owner_id="acme",
    Context="We open at nine.",
    history_context_enabled=True,
    history_context_linked_agent_ids=("outreach",),
    variable_memory_enabled=True,
    variable_memory_linked_agent_id="outreach",
)


def _document(index: int, rng: random.Random, now: datetime) -> dict[str, Any]:
    person = index // _CALLS_PER_PERSON
    phone = f"+1{2_000_000_000 + person}"
    outbound = index % 2 == 0
    at = now - timedelta(minutes=rng.randrange(1, 60 * 24 * 40))
    return {
        "contactUID": f"bench-{index}",
        "ownerId": "acme",
        "AgentID": "outreach" if outbound else "reception",
        "phone": phone,
        "originalPhone": phone,
        "phoneLast10": phone[-10:],
        "callDirection": "outbound" if outbound else "inbound",
        "status": "completed",
        "dynamicVariables": {"name": f"Person {person}"} if outbound else {},
        "conversation_summary": "The caller asked about opening hours. The agent answered. " * 2,
        "callStartedAt": at,
        "createdAt": at,
    }


async def _fill(contacts: AsyncCollection[dict[str, Any]], start: int, stop: int) -> None:
    now, rng = datetime.now(UTC), random.Random(start)  # noqa: S311 - reproducible data, no secret
    began = time.monotonic()
    for first in range(start, stop, _BATCH):
        if time.monotonic() - began > FILL_BUDGET_S:
            return
        last = min(first + _BATCH, stop)
        await contacts.insert_many(
            [_document(i, rng, now) for i in range(first, last)], ordered=False
        )


async def _look_up(sources: MemorySources, person: int) -> float:
    background = Background()
    caller = Caller(number=caller_number(f"+1{2_000_000_000 + person}", None, region=None))
    began = time.perf_counter()
    memory = CallerMemory(meta=META, caller=caller, live={}, sources=sources, background=background)
    found = await memory.within(5.0)
    took = time.perf_counter() - began
    if found.values.get("name") != f"Person {person}":
        raise AssertionError("the lookup found another person")
    await background.aclose()
    return took


async def _regex(contacts: AsyncCollection[dict[str, Any]], person: int) -> float:
    began = time.perf_counter()
    digits = f"{2_000_000_000 + person}"
    found = (
        await contacts.find({"phone": {"$regex": f"{digits}$"}})
        .sort("callStartedAt", -1)
        .to_list(5)
    )
    if len(found) != _CALLS_PER_PERSON:
        raise AssertionError("the scan found something else")
    return time.perf_counter() - began


async def lookups(report: Report, stack: Stack) -> None:
    """Measure, with the data in a database of its own that is dropped afterwards."""
    uri = stack.read_env()["MONGODB_URI"]
    mongo, clock = Mongo(uri=uri, database=DATABASE), SystemClock()
    counter = O200kTokenCounter()
    counter.load()
    sources = MemorySources(MongoContactHistory(mongo), clock, counter, 1200)
    async with AsyncMongoClient[dict[str, Any]](uri) as client:
        await client.drop_database(DATABASE)
        contacts = client[DATABASE]["Contact"]
        await MongoCatalogue(mongo=mongo, clock=clock).prepare()
        medians = [await _at_size(report, sources, contacts, size) for size in SIZES]
        reached = await contacts.estimated_document_count()
        people = range(0, reached // _CALLS_PER_PERSON, reached // 20)[:_REGEX_RUNS]
        scan = p50([await _regex(contacts, person) for person in people])
        await client.drop_database(DATABASE)
    mongo.close()
    report.row(
        f"last-digits regex without an index at {reached:,}",
        scan * 1000,
        "ms",
        baseline=medians[-1] * 1000,
        baseline_what="lookup p50",
    )
    report.at_least("contacts reached within the time", reached, SIZES[-1])
    report.at_most(f"lookup p50 at {reached:,} over 10,000 contacts", medians[-1] / medians[0], 1.5)
    report.at_least(f"regex scan over lookup at {reached:,}", scan / medians[-1], 1000)


async def _at_size(
    report: Report, sources: MemorySources, contacts: AsyncCollection[dict[str, Any]], size: int
) -> float:
    """Grow the collection to `size` and measure; the median in seconds."""
    await _fill(contacts, await contacts.estimated_document_count(), size)
    wanted, size = size, await contacts.estimated_document_count()
    rng = random.Random(size)  # noqa: S311 - reproducible choice, no secret
    people = [rng.randrange(size // _CALLS_PER_PERSON) for _ in range(_LOOKUPS)]
    for person in people[:20]:
        await _look_up(sources, person)
    times = [await _look_up(sources, person) for person in people]
    report.row(f"lookup p50 at {size:,} contacts", p50(times) * 1000, "ms")
    report.row(f"lookup p99 at {size:,} contacts", percentile(times, 0.99) * 1000, "ms")
    if wanted == SIZES[-1]:
        report.at_most(f"lookup p99 at {size:,} contacts (ms)", percentile(times, 0.99) * 1000, 15)
    return p50(times)


if __name__ == "__main__":
    from local.stack import ensure_up

    _report = Report("lookups_only")
    ensure_up(Stack.named("test"))
    asyncio.run(lookups(_report, Stack.named("test")))
    _report.finish()
