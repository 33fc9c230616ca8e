"""What the HTTP API keeps outside its processes: counters of requests, and answers given before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Rate:
    """At most `times` in any `seconds`."""

    times: int
    seconds: int


@dataclass(frozen=True)
class RatePolicy:
    """How often a key, or an address without one, may ask."""

    per_key: Rate = Rate(1200, 60)
    per_address: Rate = Rate(60, 60)
    """On routes that a publishable key opens, and for credentials that are wrong."""


class RateLimiter(Protocol):
    """Counts, for all processes of the API together."""

    async def wait_s(self, name: str, rate: Rate) -> int:
        """0 if one more is within the rate, else the seconds until it may be.

        It is 0 as well while the store is away: a limit is no reason to answer nobody.
        """


class Answers(Protocol):
    """Keeps answers by name.

    Every method raises `ContactStoreError` when the store fails: better no answer than two calls.
    """

    async def reserve(self, name: str, value: str, ttl_s: int) -> str | None:
        """Keep `value` if there is nothing under the name; what is there, else."""

    async def put(self, name: str, value: str, ttl_s: int) -> None:
        """Keep a value in the place of another."""

    async def remove(self, name: str) -> None:
        """Forget the name."""
