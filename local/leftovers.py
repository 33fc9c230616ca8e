"""Processes that a stack left behind, for instance when its process manager was killed."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from local.ports import Stack

MARKER = "FAMILIAR_STACK_HOME"
"""In the environment of every process of a stack, and of those they start; never of a tool's."""


def find(stack: Stack) -> list[int]:
    """The processes of the stack. Only its own: other stacks and other programs never match."""
    mark = f"{MARKER}={stack.home}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):  # gone meanwhile, or somebody else's
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def end(stack: Stack, *, grace_s: float) -> int:
    """End them all, by force after `grace_s`; returns how many there were."""
    first = find(stack)
    _signal(first, signal.SIGCONT)  # a stopped process would not hear the next one
    _signal(first, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while (left := find(stack)) and time.monotonic() < deadline:
        time.sleep(0.05)
    deadline = time.monotonic() + grace_s
    while left and time.monotonic() < deadline:
        _signal(left, signal.SIGKILL)
        time.sleep(0.05)
        left = find(stack)
    return len(first)


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
