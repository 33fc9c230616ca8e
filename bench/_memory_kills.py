"""Two writers of one session that are killed again and again: what of it is in the archive."""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from asyncio import StreamReader
from asyncio.subprocess import PIPE, Process
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Literal

from bench._memory_servers import Where, stores
from bench._report import Report
from local.ports import ROOT
from src.schemas.errors import MemoryStoreError
from src.services.unified_memory import UnifiedMemoryService

APPENDS = 10_000
WRITERS = ("first", "second")
APPENDS_BETWEEN_KILLS = (20, 380)
FORGETFUL_PAUSE_S = 0.01
"""Between two messages of the writer that waits for nothing, so that its tasks get their turn."""
REPLAY_EVERY_S = 15.0
"""As the jobs process does beside calls."""
LATEST_KILL_S = 0.03
"""A kill comes up to so long after the acknowledgement that it waited for: anywhere in a write."""

How = Literal["durable", "forget"]


@dataclass
class Writers:
    """What the lives of both processes came to."""

    acknowledged: set[str] = field(default_factory=set)
    kills: int = 0
    took_s: float = 0.0


@dataclass(frozen=True)
class Kept:
    """What the archive has of it."""

    lost: int
    duplicated: int
    misplaced: int
    """Messages that stand before one of the same writer that was acknowledged earlier."""


async def kills(report: Report, where: Where, appends: int = APPENDS) -> None:
    """The product, and a writer that waits for nothing, under kills at the same messages."""
    async with stores(where) as found:
        memory = UnifiedMemoryService(stores=found)
        replaying = asyncio.create_task(_replay(memory))
        ours = await _write("durable", where, appends)
        replaying.cancel()
        await asyncio.wait({replaying})
        await memory.replay()
        left = len(await found.journal.pending())
        await memory.aclose()
    kept = await _kept(where, "durable", ours)
    theirs = await _write("forget", where, appends)
    lost = await _kept(where, "forget", theirs)
    total = len(WRITERS) * appends
    report.row(f"processes killed while {total:,} messages were written", ours.kills, "kills")
    report.row(
        f"acknowledged messages lost, of {total:,}",
        kept.lost,
        "",
        baseline=float(lost.lost),
        baseline_what="fire and forget",
    )
    report.row(f"the same, fire and forget, {theirs.kills} kills", lost.lost, "")
    report.row(
        "one message of each writer, new starts included", 1000 * ours.took_s / appends, "ms"
    )
    report.row("messages behind a later one of their writer", kept.misplaced, "")
    report.at_most("acknowledged messages lost", kept.lost, 0)
    report.at_most("messages duplicated in the archive", kept.duplicated, 0)
    report.at_most("messages left in the journal", left, 0)
    report.at_least("acknowledged messages", len(ours.acknowledged), total)


async def _replay(memory: UnifiedMemoryService) -> None:
    while True:
        await asyncio.sleep(REPLAY_EVERY_S)
        with suppress(MemoryStoreError):
            await memory.replay()


async def _write(how: How, where: Where, appends: int) -> Writers:
    writers, began = Writers(), time.monotonic()
    with tempfile.NamedTemporaryFile(prefix="memory-writers-", suffix=".log") as log:
        async with asyncio.TaskGroup() as group:
            for name in WRITERS:
                life = _Life(how, where, name, appends, Path(log.name), writers)
                group.create_task(life.run())
    writers.took_s = time.monotonic() - began
    return writers


@dataclass
class _Life:
    """One writer, in one process after another."""

    how: How
    where: Where
    name: str
    appends: int
    log: Path
    writers: Writers
    done: int = 0

    async def run(self) -> None:
        """Until every message is acknowledged."""
        rng = random.Random(self.name)  # noqa: S311 - reproducible kills, no secret
        kill_at = 0
        while self.done < self.appends:
            kill_at = max(kill_at, self.done) + rng.randint(*APPENDS_BETWEEN_KILLS)
            await self._one_process(kill_at, rng.uniform(0, LATEST_KILL_S))

    async def _one_process(self, kill_at: int, late_s: float) -> None:
        numbers = (str(self.done), str(self.appends), str(FORGETFUL_PAUSE_S))
        where = (self.where.redis, self.where.postgres, self.where.journal)
        with self.log.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "bench._memory_writer", self.how, *where),
                *(self.how, self.name, *numbers),
                cwd=ROOT,
                stdout=PIPE,
                stderr=log,
            )
        try:
            killed = await self._until_killed(process, kill_at, late_s)
        finally:
            if process.returncode is None:
                process.kill()
        self.writers.kills += killed
        if not killed and process.returncode:
            raise RuntimeError(f"a writer failed:\n{self.log.read_text()}")

    async def _until_killed(self, process: Process, kill_at: int, late_s: float) -> bool:
        """Note what it acknowledges, before its death and after; False if it came to its end."""
        killed = False
        async for line in _lines(process):
            self._note(int(line))
            if self.done >= kill_at and not killed:
                await asyncio.sleep(late_s)
                process.kill()
                killed = True
        await process.wait()
        return killed

    def _note(self, number: int) -> None:
        if number != self.done:
            raise RuntimeError(f"{self.name} skipped from {self.done} to {number}")
        self.done += 1
        self.writers.acknowledged.add(f"{self.name}-{number}")


def _lines(process: Process) -> StreamReader:
    if process.stdout is None:
        raise RuntimeError("a writer has no output")
    return process.stdout


async def _kept(where: Where, session: str, writers: Writers) -> Kept:
    async with stores(where) as found:
        texts = [one.content for one in await found.archive.load_conversation(session)]
    counts = Counter(texts)
    places = {
        name: [int(text.split("-")[1]) for text in texts if text.startswith(f"{name}-")]
        for name in WRITERS
    }
    return Kept(
        lost=sum(one not in counts for one in writers.acknowledged),
        duplicated=sum(count - 1 for count in counts.values()),
        misplaced=sum(b < a for numbers in places.values() for a, b in pairwise(numbers)),
    )
