"""Calls that end in every way: which were analysed, how often, and whether any was lost.

`CALLS=12 make bench ONLY=analysis_kill` is a small one.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from itertools import cycle

from bench._analysis_kill_account import WATCH_EVERY_S, Ended, Watch, account, tell
from bench._analysis_kill_ways import WAYS, Batch, Line, PhoneLine, WebLine
from bench._report import Report
from local.kit import CallKit, Document
from local.ports import Stack
from local.stack import ensure_up
from local.tear_down import tear_down
from tests.e2e.api import Api, WebhookReceiver, new_key

CALLS = int(os.environ.get("CALLS", "200"))
AT_ONCE = 4
OWNER = "acme"
SEED = 20261201
MOST_BATCHES = 2 * CALLS
SETTLE_S = 900.0
"""For what follows the last call; a call whose worker died is found within some three minutes."""
TELL_S = 120.0
"""For the webhooks of what has settled."""
FINAL = ("done", "no_conversation", "failed")


async def calls(kit: CallKit) -> list[Ended]:
    """Hold `CALLS` calls, a few at a time, each batch ended in another way."""
    chance, held = random.Random(SEED), list[Ended]()  # noqa: S311 - the same run again
    ways = cycle(WAYS.items())
    for _ in range(MOST_BATCHES):
        size = min(AT_ONCE, CALLS - len(held))
        if size <= 0:
            break
        how, end = next(ways)
        lines: list[Line] = [PhoneLine(kit), *(WebLine(kit) for _ in range(size - 1))]
        batch = Batch(kit, lines, chance)
        batch.lines = await batch.enter()
        held += [Ended(how, line.query) for line in batch.lines]
        try:
            await end(batch)
        finally:
            batch.lines = lines
            await batch.each("leave")
        print(f"{len(held):>4} calls held, last: {how}", flush=True)
        await asyncio.sleep(1)
    return held


async def settle(kit: CallKit, held: list[Ended]) -> list[Document | None]:
    """The records, once nothing is left to be done about them, or the time is over."""
    stop_at = time.monotonic() + SETTLE_S
    while True:
        found = [await kit.contacts.find_one(one.query) for one in held]
        waiting = sum(not _is_settled(document) for document in found)
        if not waiting or time.monotonic() > stop_at:
            return found
        print(f"{waiting:>4} calls not settled", flush=True)
        await asyncio.sleep(5)


def _is_settled(document: Document | None) -> bool:
    return (
        document is not None
        and document.get("callEndedAt") is not None
        and document.get("analysisStatus") in FINAL
        and not document.get("outbox")
    )


async def told(watch: Watch, found: list[Document | None]) -> None:
    """Wait for the webhooks of what has settled."""
    wanted = [
        (str(document["contactUID"]), kind)
        for document in found
        if document is not None
        for kind in document.get("toldEvents", [])
        if kind in ("call.ended", "call.analyzed")
    ]
    stop_at = time.monotonic() + TELL_S
    while True:
        if all(watch.told[one] for one in wanted) or time.monotonic() > stop_at:
            return
        await asyncio.sleep(1)


async def run(report: Report, stack: Stack) -> None:
    """Hold the calls, wait, and count."""
    async with (
        CallKit.open(stack) as kit,
        WebhookReceiver.listening() as receiver,
        Api.open(stack, await new_key(stack, OWNER)) as api,
    ):
        await kit.providers.reset()
        wanted = {"url": receiver.url, "events": ["call.ended", "call.analyzed"]}
        hook = await api.ask("POST", "/webhooks", wanted)
        watch = Watch()
        watching = [
            asyncio.create_task(watch.model(kit)),
            asyncio.create_task(watch.webhook(receiver)),
        ]
        try:
            held = await calls(kit)
            found = await settle(kit, held)
            await told(watch, found)
            await asyncio.sleep(WATCH_EVERY_S + 1)  # once more at the model's log
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)
            await api.http.delete(f"/webhooks/{hook['webhookId']}")
        accounts = [account(*one, watch) for one in zip(held, found, strict=True)]
        tell(report, accounts, watch, ways=WAYS, calls=CALLS)


def main() -> int:
    """On a stack of its own."""
    stack, report = Stack.named("test"), Report("analysis_kill")
    ensure_up(stack)
    try:
        asyncio.run(run(report, stack))
    finally:
        tear_down(stack)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
