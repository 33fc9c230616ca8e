"""A stack whose processes are stopped and killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from local import leftovers
from local.bring_up import bring_up
from local.health import redis_answers
from local.ports import Stack
from local.stack import status
from local.supervise import Supervisor
from local.tear_down import tear_down

pytestmark = pytest.mark.integration


@pytest.fixture
def stack() -> Iterator[Stack]:
    stack = Stack.named("spare")
    tear_down(stack, erase=True)
    try:
        bring_up(stack, ["redis"])
        yield stack
    finally:
        tear_down(stack)


def redis_pid(stack: Stack) -> int:
    return next(state.pid for state in Supervisor(stack).states() if state.name == "redis")


def redis_status(stack: Stack) -> str:
    return {name: word for name, word, _ in status(stack)}["redis"]


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_status_tells_a_stopped_process_from_a_working_one(stack: Stack) -> None:
    assert redis_status(stack) == "ready"

    os.kill(redis_pid(stack), signal.SIGSTOP)
    assert redis_status(stack) == "not answering"
    command = [sys.executable, "-m", "local.stack", "status", "--name", stack.name]
    assert subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 1

    os.kill(redis_pid(stack), signal.SIGCONT)
    assert redis_status(stack) == "ready"


def test_a_killed_server_comes_back(stack: Stack) -> None:
    killed = redis_pid(stack)
    os.kill(killed, signal.SIGKILL)
    until(lambda: redis_pid(stack) not in (0, killed) and redis_status(stack) == "ready")


def test_starting_cleans_up_after_a_killed_process_manager(stack: Stack) -> None:
    orphan = redis_pid(stack)
    manager = next(pid for pid in leftovers.find(stack) if pid != orphan)
    os.kill(manager, signal.SIGKILL)
    until(lambda: manager not in leftovers.find(stack))
    assert redis_answers(stack.redis)  # the server lives on without it
    assert status(stack) == []

    bring_up(stack, ["redis"])
    assert redis_status(stack) == "ready"
    assert orphan not in leftovers.find(stack)


def test_stopping_leaves_nothing_even_if_a_process_hangs(stack: Stack) -> None:
    os.kill(redis_pid(stack), signal.SIGSTOP)
    began = time.monotonic()
    tear_down(stack)
    assert leftovers.find(stack) == []
    assert time.monotonic() - began < 15
