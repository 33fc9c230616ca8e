"""What the demo page needs from npm."""

from __future__ import annotations

import os
import shutil

from local.setup.paths import ROOT, VENV
from local.setup.step import Step, run

_WEB = ROOT / "web"


def _install() -> None:
    # Node comes with the Python environment where the machine has none.
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), str(VENV / "bin")])
    npm = shutil.which("npm", path=path) or "npm"
    run([npm, "ci", "--no-audit", "--no-fund"], log="web", cwd=_WEB, env={"PATH": path})


WEB_STEP = Step(
    "web",
    "packages of the demo page",
    [_WEB / "package-lock.json"],
    _WEB / "node_modules",
    _install,
)
