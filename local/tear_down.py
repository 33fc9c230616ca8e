"""Stopping a stack, whatever state it is in."""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from xmlrpc.client import Error

from local import leftovers
from local.ports import Stack
from local.supervise import Supervisor

_STOP_ORDER = (
    ("demo", "jobs", "worker", "seed"),
    ("bridge", "providers"),
    ("livekit",),
    ("redis", "mongodb", "postgres"),
)
"""Who uses a part stops before it."""


def tear_down(stack: Stack, *, erase: bool = False) -> None:
    """Leave no process of the stack behind; takes a few seconds, and never a minute."""
    began = time.monotonic()
    supervisor = Supervisor(stack)
    was_up = supervisor.running()
    if was_up:
        with suppress(OSError, Error):  # what does not listen is ended by force below
            for names in _STOP_ORDER:
                supervisor.stop(names)
            supervisor.shut_down()
            _wait_until_gone(stack)
    left = leftovers.end(stack, grace_s=3)
    stack.socket.unlink(missing_ok=True)
    if erase:
        shutil.rmtree(stack.home, ignore_errors=True)
    if was_up or left:
        print(f"{stack.name}: stopped in {time.monotonic() - began:.1f} s", flush=True)


def _wait_until_gone(stack: Stack) -> None:
    deadline = time.monotonic() + 5
    while leftovers.find(stack) and time.monotonic() < deadline:
        time.sleep(0.05)
