"""The Redis client. This is the only module that constructs one."""

from __future__ import annotations

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff


def connect_redis(url: str, *, timeout_s: float = 0.1) -> Redis:
    """A client that gives up on an operation after `timeout_s`; constructing it does no I/O.

    It does not try again by itself: a caller waits on the line, and whoever asked decides.
    """
    return Redis.from_url(
        url,
        socket_timeout=timeout_s,
        socket_connect_timeout=timeout_s,
        retry=Retry(NoBackoff(), 0),
        # Else every new connection reads the package's metadata from disk, in the event loop.
        driver_info=None,
    )
