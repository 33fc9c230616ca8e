"""How a fake store fails or hangs."""

import asyncio


class Faults:
    """Set `error` to fail every operation, clear `up` to let every operation hang until it is set."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.up = asyncio.Event()
        self.up.set()

    async def check(self) -> None:
        """What each operation of the fake does first."""
        await self.up.wait()
        if self.error is not None:
            raise self.error
