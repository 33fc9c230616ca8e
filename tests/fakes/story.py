"""A story of a remembered caller that needs no calls."""

from __future__ import annotations

import asyncio
from pathlib import Path

from local.story_events import OnStoryEvent, Recording, StoryEvent, StoryResult

GREETING = StoryEvent(1.5, "agent_said", "Hello, María: “welcome”", "140 ms after the answer")
CHECK = StoryEvent(2.0, "check", "The greeting has the name", ok=True, call=2)


class FakeStory:
    """Tells two events; goes on only when `may_go_on` is set, and notes whether it was cut short."""

    def __init__(self, recording: Path) -> None:
        self.recording = recording
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()
        self.breaks_off = False
        self.was_cancelled = asyncio.Event()

    async def tell(self, on_event: OnStoryEvent) -> StoryResult:
        try:
            on_event(GREETING)
            while not self.may_go_on.is_set():
                on_event(GREETING)
                await asyncio.sleep(0.01)
            if self.breaks_off:
                raise RuntimeError("the phone is on fire, and its owner is Maria")
            on_event(CHECK)
        except asyncio.CancelledError:
            self.was_cancelled.set()
            raise
        return StoryResult(1, 2, (Recording(2, "What the phone heard", self.recording),))
