"""Work that follows the calls: `python jobs.py`. Ends on SIGTERM, after the task at hand."""

from __future__ import annotations

import asyncio
import logging
import signal
from contextlib import suppress

from src.bootstrap_jobs import Jobs, build_jobs
from src.logs import allow_pii
from src.schemas.errors import MemoryStoreError
from src.settings import Settings

REPLAY_EVERY_S = 15.0
"""Between two looks at what calls could not store."""


async def run(jobs: Jobs) -> None:
    """Work until told to stop."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(jobs.queue.run(stop))
            group.create_task(_replay(jobs, stop))
    finally:
        await jobs.aclose()


async def _replay(jobs: Jobs, stop: asyncio.Event) -> None:
    while not stop.is_set():
        await jobs.closer.replay()
        with suppress(MemoryStoreError):  # logged; the next look finds it still there
            await jobs.memory.replay()
        try:
            async with asyncio.timeout(REPLAY_EVERY_S):
                await stop.wait()
        except TimeoutError:
            continue


def main() -> None:
    """Set up the process and work."""
    settings = Settings()
    allow_pii(allow=settings.log_pii)
    logging.basicConfig(level=logging.INFO)
    logging.getLogger().handlers[0].setFormatter(
        logging.Formatter(
            "%(asctime)s %(levelname)s %(name)s %(message)s %(contact_uid)s",
            defaults={"contact_uid": ""},
        )
    )
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # one line per request
    jobs = build_jobs(settings)
    jobs.redactor.load()
    asyncio.run(run(jobs))


if __name__ == "__main__":
    main()
