"""One process manager (supervisord) per stack: its configuration, and talking to it."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import time
import xmlrpc.client
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from typing_extensions import override

from local.leftovers import MARKER
from local.parts import Part
from local.ports import ROOT, Stack

_ANSWER_WITHIN_S = 5.0
_ALREADY_STARTED = 60
_WAIT = False

_HEAD = """\
[supervisord]
logfile={home}/log/supervisord.log
pidfile={home}/supervisord.pid
childlogdir={home}/log
directory={root}
{user}
[unix_http_server]
file={socket}
chmod=0600

[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface
"""
_PROGRAM = """
[program:{name}]
command={command}
directory={root}
autostart=false
autorestart={restart}
startsecs={trusted_after}
startretries=2
stopsignal={signal}
stopwaitsecs={wait}
killasgroup=true
redirect_stderr=true
stdout_logfile={home}/log/{name}.log
stdout_logfile_maxbytes=50MB
stdout_logfile_backups=1
"""


class StackError(Exception):
    """The stack cannot do what was asked; the message is for people."""


@dataclass(frozen=True)
class State:
    """What the process manager knows of a part."""

    name: str
    word: str
    """RUNNING, STARTING, BACKOFF, FATAL, STOPPED …"""
    pid: int
    """0 if there is no process."""
    up_s: float
    problem: str
    exit_status: int = 0
    """Of the last process that ended."""

    @property
    def alive(self) -> bool:
        """Whether there is a process."""
        return self.word in ("RUNNING", "STARTING")

    @property
    def done(self) -> bool:
        """Whether a process that ends by itself has ended well."""
        return self.word == "EXITED" and self.exit_status == 0


def render(stack: Stack, parts: Sequence[Part]) -> str:
    """The configuration.

    Every part gets its environment from the stack's `run` script. Only the part itself is asked to
    stop: it knows in which order its own processes end. What is left when its time is over is
    killed with it.
    """
    fields = {"home": stack.home, "root": ROOT, "socket": stack.socket}
    # Without a user it warns about running as root.
    user = "user=root" if os.geteuid() == 0 else ""
    text = _HEAD.format(**{name: _escaped(str(value)) for name, value in fields.items()}, user=user)
    for part in parts:
        command = shlex.join([str(stack.home / "run"), *part.command(stack)])
        text += _PROGRAM.format(
            name=part.name,
            command=_escaped(command),
            root=_escaped(str(ROOT)),
            home=_escaped(str(stack.home)),
            restart="false" if part.once else "true",
            trusted_after=0 if part.once else 1,
            signal=part.stop_signal,
            wait=part.stop_wait_s,
        )
    return text


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def run_script(stack: Stack) -> str:
    """A program that runs another in the environment of the stack."""
    env_file = shlex.quote(str(stack.env_file))
    return f'#!/bin/sh\n# Runs a command in the environment of this stack.\nset -a\n. {env_file}\nexec "$@"\n'


class _UnixConnection(HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=_ANSWER_WITHIN_S)
        self._path = path

    @override
    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_ANSWER_WITHIN_S)
        self.sock.connect(str(self._path))


class _UnixTransport(xmlrpc.client.Transport):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    @override
    def make_connection(self, host: Any) -> HTTPConnection:
        connection = _UnixConnection(self._path)
        self._connection = (host, connection)  # which is what close() closes
        return connection

    @override
    def request(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().request(*args, **kwargs)
        finally:
            self.close()


class Supervisor:
    """The process manager of one stack.

    Methods raise OSError if it does not run.
    """

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        proxy = xmlrpc.client.ServerProxy(
            "http://localhost", transport=_UnixTransport(stack.socket)
        )
        self._rpc: Any = proxy.supervisor

    def running(self) -> bool:
        """Whether it answers."""
        try:
            return bool(self._rpc.getState()["statename"] == "RUNNING")
        except (OSError, xmlrpc.client.Error):
            return False

    def launch(self, configuration: Path, environment: Mapping[str, str]) -> None:
        """Start it and wait until it answers.

        Raises:
            StackError: it does not.
        """
        done = subprocess.run(  # returns once the process manager has left for the background
            [sys.executable, "-m", "supervisor.supervisord", "-c", str(configuration)],
            cwd=ROOT,
            env={**environment, MARKER: str(self._stack.home), "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        deadline = time.monotonic() + 15
        while not self.running():
            if done.returncode != 0 or time.monotonic() > deadline:
                raise StackError(f"the process manager did not start:\n{done.stdout}{done.stderr}")
            time.sleep(0.05)

    def start(self, name: str) -> None:
        """Start a part, unless it runs."""
        try:
            self._rpc.startProcess(name, _WAIT)
        except xmlrpc.client.Fault as fault:
            if fault.faultCode != _ALREADY_STARTED:
                raise StackError(f"{name} cannot be started: {fault.faultString}") from fault

    def stop(self, names: Sequence[str]) -> None:
        """Stop parts together and wait until they are gone; each has its own limit of time."""
        for name in names:
            with suppress(xmlrpc.client.Fault):  # not running, or not known
                self._rpc.stopProcess(name, _WAIT)
        deadline = time.monotonic() + 10
        while any(s.pid for s in self.states() if s.name in names) and time.monotonic() < deadline:
            time.sleep(0.05)

    def clear_log(self, name: str) -> None:
        """Begin the log of a part anew."""
        self._rpc.clearProcessLogs(name)

    def shut_down(self) -> None:
        """Ask it to end."""
        with suppress(xmlrpc.client.Fault):
            self._rpc.shutdown()

    def states(self) -> list[State]:
        """Every part it knows."""
        return [
            State(
                name=info["name"],
                word=info["statename"],
                pid=info["pid"],
                up_s=float(info["now"] - info["start"]) if info["pid"] else 0.0,
                problem=info["spawnerr"],
                exit_status=info["exitstatus"],
            )
            for info in self._rpc.getAllProcessInfo()
        ]
