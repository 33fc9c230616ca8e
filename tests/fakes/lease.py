"""A lease in memory."""

from typing_extensions import override

from src.services.ports import CallLease, Clock


class FakeLease(CallLease):
    """The first holder of a call keeps it for `lease_s`; everybody gets it while `away`."""

    def __init__(self, clock: Clock, *, lease_s: float = 3600.0) -> None:
        self._clock = clock
        self._lease_s = lease_s
        self.holders: dict[str, tuple[str, float]] = {}
        self.away = False

    @override
    async def acquire(self, call_key: str, holder: str) -> bool:
        if self.away:
            return True
        now = self._clock.monotonic()
        current, until = self.holders.get(call_key, (holder, now))
        if current != holder and until > now:
            return False
        self.holders[call_key] = (holder, now + self._lease_s)
        return True
