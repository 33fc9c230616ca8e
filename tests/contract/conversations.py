"""Messages and events as the archive's tests tell them."""

from datetime import datetime, timedelta
from typing import Any

from src.schemas.memory import MemoryEntry, MemoryEvent
from src.services.memory_ports import ConversationArchive
from tests.fakes.clock import NOON

PERSON = "person-1"
OTHER = "person-2"


def ago(**time: float) -> datetime:
    """So long before the tests' noon."""
    return NOON - timedelta(**time)


def said(name: str, *, at: datetime = NOON, **fields: Any) -> MemoryEntry:
    """A message; its id and its words are `name`."""
    fields = {"role": "user", "mode": "voice", "content": name, **fields}
    return MemoryEntry(id=name, timestamp=at, **fields)


def happened(name: str, *, at: datetime = NOON, **fields: Any) -> MemoryEvent:
    """An event with that id."""
    fields = {"event_type": "mode_switch", "data": {"to_mode": "text"}, **fields}
    return MemoryEvent(id=name, timestamp=at, **fields)


async def told(archive: ConversationArchive, session: str) -> list[str]:
    """The ids of a session's messages, in order."""
    return [entry.id for entry in await archive.load_conversation(session)]


async def summarised(
    archive: ConversationArchive,
    session: str,
    *,
    at: datetime = NOON,
    person: str = PERSON,
    **fields: Any,
) -> None:
    """Store a session of one message and its summary."""
    await archive.save_conversation(person, session, [said(f"in {session}", at=at, **fields)])
    await archive.put_summary(session, f"about {session}", through=1)
