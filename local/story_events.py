"""What happens in the story of a remembered caller, as those who tell it and those who show it share it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

StoryEventKind: TypeAlias = Literal[
    "dial",
    "ring",
    "answer",
    "agent_said",
    "caller_said",
    "memory",
    "stored",
    "log",
    "check",
    "end",
]


@dataclass(frozen=True, slots=True)
class StoryEvent:
    """One thing that happened, at the moment it was noticed."""

    at_s: float
    """Seconds since the story began."""
    kind: StoryEventKind
    """`end` is the end of the whole story."""
    title: str
    """One line; for what was said, the words."""
    detail: str = ""
    """What does not fit into the line; may have several lines."""
    ok: bool | None = None
    """Whether an expectation held; only a `check` has one."""
    call: int = 1
    """1 is the outbound call, 2 the inbound one."""

    def to_json(self) -> str:
        """The event as one JSON object, on one line."""
        return json.dumps(asdict(self), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Recording:
    """What the phone heard in one call."""

    call: int
    title: str
    path: Path
    """A WAV file; its name is unique in the story."""


@dataclass(frozen=True, slots=True)
class StoryResult:
    """How the story came out."""

    held: int
    expected: int
    recordings: tuple[Recording, ...] = ()

    @property
    def line(self) -> str:
        """The story's last line."""
        return f"story: {self.held} of {self.expected} expectations held"


OnStoryEvent: TypeAlias = Callable[[StoryEvent], None]
"""Called on the event loop that tells the story; must not block."""

TellStory: TypeAlias = Callable[[OnStoryEvent], Awaitable[StoryResult]]
"""Tells the story from beginning to end; may be cancelled, and then hangs up."""
