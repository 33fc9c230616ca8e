"""What a process knows of a session it writes, beyond what the stores hold."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from src.schemas.memory import (
    WINDOW,
    MemoryEntry,
    MemoryEvent,
    MemorySettings,
)
from src.services.memory_privacy import Item, allowed

_SPEAKER_TURNS = 3
"""Turns an identifier may be spread over, before the one at hand."""


@dataclass
class LiveSession:
    """One session of this process."""

    session_id: str
    user_id: str = ""
    provisional: bool = False
    """`user_id` stands for nobody known, until somebody says who it is."""
    owner_id: str = ""
    agent_id: str = ""
    settings: MemorySettings = field(default_factory=MemorySettings)
    settings_known: bool = False
    """False: the archive was away, and `settings` are the defaults, which mask; it is asked again
    before anything is archived."""
    preferences: Mapping[str, Any] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    messages: deque[MemoryEntry] = field(default_factory=lambda: deque(maxlen=WINDOW))
    """The last messages as they are stored: the session store can be filled again from them."""
    events: deque[MemoryEvent] = field(default_factory=lambda: deque(maxlen=WINDOW))
    written: dict[str, MemoryEntry] = field(default_factory=dict)
    """Every message of this process by id, in order, as it is stored: a call's transcript."""
    last: int = 0
    """The highest sequence known."""
    looked_up: bool = False
    """Whether the archive was asked for earlier messages of the session."""
    _said: dict[str, deque[str]] = field(default_factory=dict)

    def spoken_before(self, role: str) -> tuple[str, ...]:
        """The speaker's last turns as they were said; they stay in this process."""
        return tuple(self._said.get(role, ()))

    def say(self, role: str, text: str) -> None:
        """Note a turn as it was said."""
        self._said.setdefault(role, deque(maxlen=_SPEAKER_TURNS)).append(text)

    def note(self, item: Item) -> None:
        """Note an item as it is stored; the same id is noted once."""
        self.last = max(self.last, item.sequence)
        if self.known(item) is not None:
            return
        if isinstance(item, MemoryEntry):
            self.messages.append(item)
        else:
            self.events.append(item)

    def wrote(self, item: Item) -> None:
        """Note an item of this process."""
        self.note(item)
        if isinstance(item, MemoryEntry):
            self.written.setdefault(item.id, item)

    def known(self, item: Item) -> Item | None:
        """The item of that id as it was noted."""
        kept = self.messages if isinstance(item, MemoryEntry) else self.events
        return next((one for one in kept if one.id == item.id), None)

    def replace(self, items: Sequence[Item]) -> None:
        """Know these instead, each id once; those without a sequence are the newest."""
        self.messages.clear()
        self.events.clear()
        for item in sorted(items, key=lambda item: item.sequence or math.inf):
            self.note(item)

    def renumber(self, item: Item, sequence: int) -> None:
        """Note the sequence that a store gave."""
        numbered = replace(item, sequence=sequence)
        self.last = max(self.last, sequence)
        if isinstance(numbered, MemoryEntry):
            self.messages = deque(
                (numbered if one.id == item.id else one for one in self.messages), WINDOW
            )
        else:
            self.events = deque(
                (numbered if one.id == item.id else one for one in self.events), WINDOW
            )

    def keep_allowed(self, settings: MemorySettings) -> bool:
        """Drop what these settings do not allow; whether there was anything of the kind."""
        messages = [kept for one in self.messages if (kept := allowed(one, settings)) is not None]
        events = [kept for one in self.events if (kept := allowed(one, settings)) is not None]
        dropped = messages != list(self.messages) or events != list(self.events)
        self.messages = deque((one for one in messages if isinstance(one, MemoryEntry)), WINDOW)
        self.events = deque((one for one in events if isinstance(one, MemoryEvent)), WINDOW)
        written = [allowed(one, settings) for one in self.written.values()]
        self.written = {one.id: one for one in written if isinstance(one, MemoryEntry)}
        return dropped

    def forget(self, since: datetime | None = None) -> int:
        """Drop what was said (from `since` on); the number of items dropped."""
        before = len(self.messages) + len(self.events)
        self.messages = deque((one for one in self.messages if not is_since(one, since)), WINDOW)
        self.events = deque((one for one in self.events if not is_since(one, since)), WINDOW)
        count = before - len(self.messages) - len(self.events)
        self.written = {name: one for name, one in self.written.items() if not is_since(one, since)}
        self._said.clear()
        if since is None:
            self.metadata.clear()
            self.last = 0
        return count


def is_since(item: Item, since: datetime | None) -> bool:
    """Whether an item is of that time or later; undated items always are."""
    return since is None or item.timestamp is None or item.timestamp >= since
