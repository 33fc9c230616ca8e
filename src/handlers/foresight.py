"""Work that begins while the user still speaks, on what they seem to have said when they pause.

At a lull a recogniser's interim words are usually those it makes final a moment later. What a reply
needs for them is begun there, and used only if the turn turns out to be exactly these words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from src.handlers.call import Call

PAUSE_S = 0.08
"""How long the words have to stay the same: interim results come more often while somebody speaks."""


class Foresight:
    """Acts on the words of the turn that is going on once they have stayed the same for a moment."""

    def __init__(self, call: Call, act: Callable[[str], None]) -> None:
        self._call = call
        self._act = act
        self._text = ""
        self._waiting: asyncio.Task[None] | None = None

    def heard(self, text: str, *, is_final: bool) -> None:
        """The words of the turn so far; final ones are acted on at once."""
        if text == self._text and not is_final:
            return
        self._text = text
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
        if is_final:
            self._act(text)
        else:
            self._waiting = self._call.background.spawn(self._wait(text), name="foresight")

    async def _wait(self, text: str) -> None:
        await self._call.services.sources.clock.sleep(PAUSE_S)
        self._act(text)
