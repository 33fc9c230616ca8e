"""uv, and with it the Python environment."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from functools import cache

from local.setup.paths import HERE, LOCAL, ROOT, UV, VENV, VENV_PYTHON
from local.setup.step import Command, Step, run

_UV_LOCK = HERE / "uv.txt"
_LOCK = ROOT / "requirements-dev.lock"
_OLDEST, _NEWEST = (3, 11), (3, 13)

# The system's certificates, as everything else on the machine: a company's proxy is among them.
PIP: Command = [UV, "--system-certs", "pip"]


def _install_uv() -> None:
    venv.create(LOCAL / "uv", with_pip=True, clear=True)
    pip: Command = [LOCAL / "uv" / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
    run([*pip, "install", "--require-hashes", "-r", _UV_LOCK], log="uv")


def _install_packages() -> None:
    if not _usable():
        shutil.rmtree(VENV, ignore_errors=True)
        run([UV, "venv", "--python", sys.executable, VENV], log="venv")
    sync: Command = [*PIP, "sync", "--python", VENV_PYTHON, "--require-hashes"]
    # Links would tie the checkout to uv's cache, which may be on another disk. Compiled at once:
    # the stack is many Python processes, and some machines never keep what Python compiles.
    run([*sync, "--link-mode=copy", "--compile-bytecode", _LOCK], log="python")


@cache
def _usable() -> bool:
    """Whether the environment that is there runs, with a Python in range."""
    if not VENV_PYTHON.exists():
        return False
    question = f"import sys; sys.exit(not {_OLDEST} <= sys.version_info[:2] <= {_NEWEST})"
    return subprocess.run([VENV_PYTHON, "-c", question], check=False).returncode == 0


UV_STEP = Step("uv", "uv, which installs the rest", [_UV_LOCK], UV, _install_uv)
PYTHON_STEP = Step(
    "python", "Python packages, about a minute", [_LOCK, "compiled"], VENV_PYTHON, _install_packages
)
