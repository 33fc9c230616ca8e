"""A telephone network in memory."""

import asyncio

from typing_extensions import override

from src.schemas.calls import DialRequest
from src.services.ports import Telephony


class FakeTelephony(Telephony):
    """Every call is answered, except as the given outcomes say, one per dial.

    Clear `answered` to let a call ring until it is set.
    """

    def __init__(self, *outcomes: Exception | None) -> None:
        self._outcomes = list(outcomes)
        self.answered = asyncio.Event()
        self.answered.set()
        self.dialed: list[DialRequest] = []
        self.hung_up: list[str] = []

    @override
    async def dial(self, request: DialRequest) -> None:
        self.dialed.append(request)
        await self.answered.wait()
        outcome = self._outcomes.pop(0) if self._outcomes else None
        if outcome is not None:
            raise outcome

    @override
    async def hang_up(self, room: str) -> None:
        self.hung_up.append(room)
