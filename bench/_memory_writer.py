"""Adds messages to one session until it is killed, and says on its standard output which are in.

Usage: python -m bench._memory_writer HOW REDIS POSTGRES JOURNAL SESSION NAME FIRST COUNT PAUSE_S
"""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import UTC, datetime

from bench._memory_servers import Where, stores
from src.schemas.memory import MemoryEntry
from src.services.memory_stores import MemoryStores
from src.services.unified_memory import UnifiedMemoryService

USER = "acme/caller"


async def durable(found: MemoryStores, session: str, name: str, numbers: range) -> None:
    """Each message is said to be in once memory says so."""
    memory, parent = UnifiedMemoryService(stores=found), os.getppid()
    for number in numbers:
        entry = message(session, name, number)
        # Until it is in, the same again: it has its id.
        while not (await memory.add_entry(session, entry, USER)).stored:
            if os.getppid() != parent:
                sys.exit("nobody listens any more")
        _acknowledge(number)
    await memory.flush(session)
    await memory.aclose()


async def fire_and_forget(
    found: MemoryStores, session: str, name: str, numbers: range, pause_s: float
) -> None:
    """A task for each message, which nobody waits for: it is said to be in at once."""
    tasks = set()
    for number in numbers:
        entry = message(session, name, number)
        task = asyncio.create_task(_both(found, session, entry))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        _acknowledge(number)
        await asyncio.sleep(pause_s)
    await asyncio.gather(*tasks)


async def _both(found: MemoryStores, session: str, entry: MemoryEntry) -> None:
    await found.sessions.append(entry)
    await found.archive.save_conversation(USER, session, [entry])


def message(session: str, name: str, number: int) -> MemoryEntry:
    """The message of that number; the same in every life of a process."""
    return MemoryEntry(
        role="user",
        content=f"{name}-{number}",
        mode="voice",
        id=f"{name}-{number}",
        session_id=session,
        user_id=USER,
        timestamp=datetime.now(UTC),
    )


def _acknowledge(number: int) -> None:
    # The pipe keeps it, whatever becomes of this process.
    os.write(sys.stdout.fileno(), f"{number}\n".encode())


async def main(arguments: list[str]) -> None:
    """As the module says."""
    how, redis, postgres, journal, session, name, first, count, pause_s = arguments
    numbers = range(int(first), int(count))
    async with stores(Where(redis, postgres, journal)) as found:
        if how == "durable":
            await durable(found, session, name, numbers)
        else:
            await fire_and_forget(found, session, name, numbers, float(pause_s))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
