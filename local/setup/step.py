"""A step of the setup: done once, and again when what it was made from changes."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from local.setup.paths import ROOT, STAMPS

_TAIL_LINES = 40

Command = Sequence[str | Path]


class SetupError(Exception):
    """Setup cannot go on; the message tells a person what to do."""


@dataclass(frozen=True)
class Step:
    """What is made, from what, and how."""

    name: str
    title: str
    """For people, with the time it takes if that is long."""
    made_from: Sequence[str | Path]
    """Versions and files; when one changes, the step is done again."""
    makes: Path
    action: Callable[[], None]

    def take(self) -> bool:
        """Do it unless it is done; whether there was anything to do."""
        stamp = STAMPS / self.name
        current = fingerprint(self.made_from)
        if self.makes.exists() and stamp.exists() and stamp.read_text() == current:
            return False
        print(f"setup: {self.title} …", flush=True)
        began = time.monotonic()
        self.action()
        if not self.makes.exists():
            raise SetupError(f"setup: {self.name} did not make {self.makes}")
        STAMPS.mkdir(parents=True, exist_ok=True)
        stamp.write_text(current)
        print(f"setup: {self.name} done in {time.monotonic() - began:.0f} s", flush=True)
        return True


def fingerprint(made_from: Sequence[str | Path]) -> str:
    """Changes with any of the versions and files."""
    digest = sha256()
    for source in made_from:
        content = source.read_bytes() if isinstance(source, Path) else source.encode()
        digest.update(sha256(content).digest())
    return digest.hexdigest()


def run(
    command: Command,
    *,
    log: str,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
) -> None:
    """Run a command; what it says goes to `.local/setup/<log>.log`.

    Raises:
        SetupError: it failed; the message has the end of what it said.
    """
    STAMPS.mkdir(parents=True, exist_ok=True)
    path = STAMPS / f"{log}.log"
    with path.open("wb") as output:
        done = subprocess.run(
            [str(word) for word in command],
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            check=False,
        )
    if done.returncode != 0:
        tail = "\n".join(path.read_text(errors="replace").splitlines()[-_TAIL_LINES:])
        words = " ".join(str(word) for word in command)
        raise SetupError(f"setup: `{words}` failed ({done.returncode})\n--- {path}\n{tail}")
