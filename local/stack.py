"""Starts and stops a local stack: `python -m local.stack up|down|status|logs|restart`.

Everything listens on loopback and keeps its data in `.local/<name>/`. One supervisord per stack
holds the processes; this module decides on order, waits until each part really works, and cleans
up after a stack that did not end in order.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from typing import NoReturn, get_args

from local.bring_up import bring_up
from local.parts import BY_NAME, select
from local.ports import Stack, StackName
from local.supervise import StackError, Supervisor
from local.tear_down import tear_down

_TAIL_LINES = "40"
_WELL = ("ready", "done", "not started")


def ensure_up(stack: Stack) -> None:
    """Start what does not run yet; returns once every part works.

    Raises:
        StackError: a part does not; the message has the end of its log.
    """
    bring_up(stack, select(None))


def status(stack: Stack) -> list[tuple[str, str, str]]:
    """Name, state and detail of each part, each asked on the spot. Empty if the stack is down."""
    supervisor = Supervisor(stack)
    if not supervisor.running():
        return []
    rows = []
    for state in supervisor.states():
        if state.word == "STOPPED":
            rows.append((state.name, "not started", ""))
        elif state.done and BY_NAME[state.name].once:
            rows.append((state.name, "done", ""))
        elif not state.alive:
            rows.append((state.name, state.word.lower(), state.problem))
        elif BY_NAME[state.name].ready(stack):
            rows.append((state.name, "ready", f"pid {state.pid}, up {state.up_s:.0f} s"))
        else:
            rows.append((state.name, "not answering", f"pid {state.pid}, up {state.up_s:.0f} s"))
    return rows


def _print_status(stack: Stack) -> int:
    rows = status(stack)
    if not rows:
        print(f"{stack.name}: down")
        return 3
    for name, word, detail in rows:
        print(f"  {name:<10} {word:<14} {detail}".rstrip())
    return 0 if all(word in _WELL for _, word, _ in rows) else 1


def _restart(stack: Stack, names: list[str]) -> None:
    supervisor = Supervisor(stack)
    if not supervisor.running():
        raise StackError(f"{stack.name} is down")
    select(",".join(names))
    supervisor.stop(names)
    for name in names:
        supervisor.clear_log(name)  # what an earlier process logged says nothing about this one
    bring_up(stack, names)


def _logs(stack: Stack, names: list[str], *, follow: bool) -> NoReturn:
    files = [str(stack.log_dir / f"{name}.log") for name in names or BY_NAME]
    files = [file for file in files if os.path.exists(file)]  # noqa: PTH110
    if not files:
        raise StackError(f"{stack.name} has no logs")
    options = ["-F"] if follow else []
    os.execvp("tail", ["tail", "-n", _TAIL_LINES, *options, *files])  # noqa: S606 - takes our place


def _up_until_interrupted(stack: Stack, names: list[str]) -> None:
    """Start, show what the product logs, and on Ctrl-C stop everything."""
    try:
        _up(stack, names)
        shown = [name for name in ("worker", "jobs") if name in names] or names
        logs = [str(stack.log_dir / f"{name}.log") for name in shown]
        subprocess.run(["tail", "-q", "-n", "0", "-F", *logs], check=False)
    except KeyboardInterrupt:
        print("\nstopping …", flush=True)
    finally:
        # A second Ctrl-C must not leave half a stack; stopping takes seconds.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        tear_down(stack)


def _up(stack: Stack, names: list[str]) -> None:
    bring_up(stack, names)
    if "demo" in names and stack.name == "demo":
        print(_welcome(stack), flush=True)


def _welcome(stack: Stack) -> str:
    return f"""
  {stack.demo_url}   talk or type to the agents
  {stack.api_url}   the API; docs/api.md goes through it
  make call                 a call in the terminal: we ring somebody, they ring back and are known
  make stop                 stops everything (logs: {stack.log_dir})
"""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m local.stack", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start what does not run yet, and wait until it works")
    up.add_argument("--only", help="parts, with commas; groups: stores, app")
    up.add_argument("--follow", action="store_true", help="stay, and stop everything on Ctrl-C")
    down = commands.add_parser("down", help="stop everything")
    down.add_argument("--erase", action="store_true", help="and delete its data")
    commands.add_parser("status", help="exit 0: all works; 1: something does not; 3: down")
    logs = commands.add_parser("logs", help="the end of the logs")
    logs.add_argument("parts", nargs="*", choices=[[], *BY_NAME], metavar="PART")
    logs.add_argument("-f", "--follow", action="store_true")
    restart = commands.add_parser("restart", help="start parts anew, for instance with new code")
    restart.add_argument("parts", nargs="+", choices=list(BY_NAME), metavar="PART")
    for command in commands.choices.values():
        command.add_argument("--name", choices=get_args(StackName), default="demo")
    return parser.parse_args()


def _run(stack: Stack, arguments: argparse.Namespace) -> int:
    match arguments.command:
        case "up":
            start = _up_until_interrupted if arguments.follow else _up
            start(stack, select(arguments.only))
        case "down":
            tear_down(stack, erase=arguments.erase)
        case "restart":
            _restart(stack, arguments.parts)
        case "logs":
            _logs(stack, arguments.parts, follow=arguments.follow)
        case _:
            return _print_status(stack)
    return 0


def main() -> int:
    """The command line."""
    arguments = _arguments()
    try:
        return _run(Stack.named(arguments.name), arguments)
    except (StackError, ValueError) as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted; `make stop` stops what was started", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
