"""Packages of the operating system (Debian, Ubuntu)."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from local.setup.step import SetupError, run


@dataclass(frozen=True)
class SystemPackage:
    """A package, and whether what it brings is there, from wherever it came."""

    name: str
    present: Callable[[], bool]


def _command(*names: str) -> Callable[[], bool]:
    return lambda: any(shutil.which(name) for name in names)


def _file(*paths: str) -> Callable[[], bool]:
    return lambda: any(Path(path).exists() for path in paths)


_TO_RUN = (
    SystemPackage("ca-certificates", _file("/etc/ssl/certs/ca-certificates.crt")),
    SystemPackage(
        f"python{sys.version_info.major}.{sys.version_info.minor}-venv",
        lambda: importlib.util.find_spec("ensurepip") is not None,
    ),
    # The SIP bridge speaks opus through the C library.
    SystemPackage("gcc", _command("gcc", "cc")),
    SystemPackage("libc6-dev", _file("/usr/include/stdio.h")),
    SystemPackage("pkg-config", _command("pkg-config", "pkgconf")),
    SystemPackage("libopus-dev", _file("/usr/include/opus/opus.h")),
)
_TO_TEST = (
    SystemPackage("sip-tester", _command("sipp")),
    SystemPackage("chromium", _command("chromium", "chromium-browser", "google-chrome")),
)


def needed(*, for_tests: bool) -> tuple[SystemPackage, ...]:
    """What this checkout needs of the system."""
    return (*_TO_RUN, *_TO_TEST) if for_tests else _TO_RUN


def install_missing(packages: Sequence[SystemPackage]) -> None:
    """Install what is missing, as root; otherwise say what to install.

    Raises:
        SetupError: it cannot be installed from here; the message is the command that does it.
    """
    missing = [package.name for package in packages if not package.present()]
    if not missing:
        return
    install = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise SetupError(
            f"setup: some packages of the system are missing. Please run\n\n"
            f"  sudo {shlex.join(install)}\n\nand then the same command again."
        )
    print(f"setup: apt packages {' '.join(missing)} …", flush=True)
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", "update"], log="apt-update", env=quiet)
    run(install, log="apt-install", env=quiet)
