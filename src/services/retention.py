"""Deletes what people no longer want kept."""

from __future__ import annotations

from src.logs import get_logger
from src.services.memory_ports import ConversationArchive
from src.services.ports import Clock

logger = get_logger(__name__)


async def purge_expired(archive: ConversationArchive, clock: Clock) -> int:
    """Delete what is older than its person's `retention_days`; to be called about once an hour.

    Live sessions need no purge: they end by themselves within a day, the shortest retention.

    Raises:
        MemoryStoreError: the archive failed; what is left is deleted next time.
    """
    number = await archive.purge(now=clock.now())
    if number:
        logger.info("expired memory deleted", extra={"rows": number})
    return number
