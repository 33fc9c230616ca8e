"""Starting a stack: in order, with progress, and not done before every part works."""

from __future__ import annotations

import asyncio
import fcntl
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256

from livekit.api import ServerError

from local.health import port_is_free
from local.parts import BY_NAME, PARTS, PROVISION, SEED_FILE, Part, person_environment
from local.ports import Stack
from local.provision import numbers_of, provision
from local.supervise import StackError, State, Supervisor, render, run_script
from local.tear_down import tear_down

_TAIL_LINES = 40
_RELEVANT = ("DEEPGRAM_", "FAMILIAR_", "OPENAI_")


def bring_up(stack: Stack, names: Sequence[str]) -> None:
    """Start the parts and take the steps `names`; what works already is left alone.

    Raises:
        StackError: something does not come up; the message has the end of its log.
    """
    began = time.monotonic()
    stack.home.mkdir(parents=True, exist_ok=True)
    with _alone(stack):
        supervisor = _supervisor(stack)
        _Progress(stack, supervisor, list(names)).run()
    print(f"{stack.name}: up in {time.monotonic() - began:.1f} s", flush=True)


@contextmanager
def _alone(stack: Stack) -> Iterator[None]:
    """Two at once would start everything twice."""
    with (stack.home.parent / f"{stack.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _supervisor(stack: Stack) -> Supervisor:
    """The process manager, running with the current configuration and environment."""
    supervisor = Supervisor(stack)
    person = person_environment()
    settings = stack.environment(person)
    configuration = render(stack, PARTS)
    started_with = _fingerprint(configuration, settings, person)
    mark = stack.home / "started-with"
    if supervisor.running():
        if mark.exists() and mark.read_text() == started_with:
            return supervisor
        print(f"{stack.name}: the configuration changed, starting anew", flush=True)
    tear_down(stack)
    _require_free_ports(stack)
    _write_files(stack, configuration, settings)
    mark.write_text(started_with)
    supervisor.launch(stack.home / "supervisord.conf", person)
    return supervisor


def _fingerprint(configuration: str, settings: dict[str, str], person: dict[str, str]) -> str:
    relevant = {k: v for k, v in person.items() if k.startswith(_RELEVANT)}
    text = repr((configuration, sorted(settings.items()), sorted(relevant.items())))
    return sha256(text.encode()).hexdigest()


def _require_free_ports(stack: Stack) -> None:
    ports = [(socket.SOCK_STREAM, port) for port in stack.tcp_ports.values()]
    taken = [p for kind, p in [*ports, (socket.SOCK_DGRAM, stack.sip)] if not port_is_free(kind, p)]
    if taken:
        raise StackError(
            f"something else listens on {', '.join(map(str, taken))} of {stack.name}. Stop it (if it"
            " is a stack of another checkout: `make stop` there), or move this checkout's ports:"
            " FAMILIAR_PORT_SHIFT=300 make …"
        )


def _write_files(stack: Stack, configuration: str, settings: dict[str, str]) -> None:
    if stack.log_dir.exists():  # the logs of the last time stay readable
        shutil.rmtree(stack.home / "log.previous", ignore_errors=True)
        stack.log_dir.rename(stack.home / "log.previous")
    stack.log_dir.mkdir()
    stack.write_env(settings)
    script = stack.home / "run"
    script.write_text(run_script(stack))
    script.chmod(0o755)
    (stack.home / "supervisord.conf").write_text(configuration)


@dataclass
class _Progress:
    """Which parts are still to come, which are on their way, which are done."""

    stack: Stack
    supervisor: Supervisor
    waiting: list[str]
    on_the_way: dict[str, float] = field(default_factory=dict)
    """When each was started."""
    done: set[str] = field(default_factory=set)

    def run(self) -> None:
        """Until everything is done."""
        self.done = ({*BY_NAME, PROVISION} - set(self.waiting)) | self._working()
        self.waiting = [name for name in self.waiting if name not in self.done]
        while self.waiting or self.on_the_way:
            for name in [n for n in self.waiting if self.done.issuperset(_needs(n))]:
                self.waiting.remove(name)
                self._begin(name)
            states = {state.name: state for state in self.supervisor.states()}
            for name in list(self.on_the_way):
                self._look_at(BY_NAME[name], states[name])
            time.sleep(0.1)

    def _working(self) -> set[str]:
        """What is up already."""
        states = self.supervisor.states()
        return {s.name for s in states if s.alive and BY_NAME[s.name].ready(self.stack)}

    def _begin(self, name: str) -> None:
        began = time.monotonic()
        if name == PROVISION:
            self._take(name, _provision)
            self._finish(name, began)
        elif BY_NAME[name].unneeded(self.stack):
            self.done.add(name)
        else:
            self._take(name, BY_NAME[name].prepare)
            self.supervisor.start(name)
            self.on_the_way[name] = began

    def _take(self, name: str, action: Callable[[Stack], None]) -> None:
        try:
            action(self.stack)
        except subprocess.CalledProcessError as error:
            raise StackError(f"{name} failed:\n{error.stdout or ''}{error.stderr or ''}") from error
        except (OSError, ValueError, ServerError) as error:
            raise StackError(f"{name} failed: {error}") from error

    def _look_at(self, part: Part, state: State) -> None:
        began = self.on_the_way[part.name]
        if _works(part, state, self.stack):
            del self.on_the_way[part.name]
            self._take(part.name, part.complete)
            self._finish(part.name, began)
        elif state.word in ("FATAL", "EXITED", "STOPPED"):
            what = "failed." if part.once else f"does not stay up. {state.problem}"
            raise StackError(self._failure(part.name, what))
        elif time.monotonic() - began > part.ready_within_s:
            raise StackError(
                self._failure(part.name, f"does not work after {part.ready_within_s:.0f} s.")
            )

    def _finish(self, name: str, began: float) -> None:
        self.done.add(name)
        print(f"  {name:<10} {time.monotonic() - began:4.1f} s", flush=True)

    def _failure(self, name: str, what: str) -> str:
        log = self.stack.log_dir / f"{name}.log"
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        tail = "\n".join(lines[-_TAIL_LINES:]) or "(its log is empty)"
        return f"{name} {what}\n--- the end of {log}\n{tail}"


def _needs(name: str) -> tuple[str, ...]:
    return ("livekit",) if name == PROVISION else BY_NAME[name].needs


def _works(part: Part, state: State, stack: Stack) -> bool:
    if part.once:
        return state.done
    return state.alive and part.ready(stack) and part.started(stack, state.word)


def _provision(stack: Stack) -> None:
    ids = asyncio.run(provision(stack, numbers_of(SEED_FILE)))
    trunks = {"FAMILIAR_SIP_TRUNK_ID": ids["phone"], "FAMILIAR_SIP_TRUNKS": json.dumps(ids)}
    stack.write_env({**stack.read_env(), **trunks})
