"""A PostgreSQL server for the tests, and databases in it."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg

from local.postgres import as_database_user, find_tool

START_S = 30.0


@dataclass(frozen=True)
class PostgresServer:
    """A running server that listens on a socket in `folder`."""

    process: subprocess.Popen[bytes]
    folder: Path

    def url(self, database: str = "postgres") -> str:
        """Where a database is."""
        return (
            f"postgresql://postgres:none@/{database}?host={quote(str(self.folder))}&sslmode=disable"
        )

    def create_database(self, *, template: str = "template0") -> str:
        """The name of a new database."""
        name = f"test_{uuid.uuid4().hex}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return name


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A server of its own; its data goes with it."""
    # Not under pytest's folder: the name of a socket may be some hundred characters long at most.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = folder / "data"
        data.mkdir(mode=0o700)
        if os.geteuid() == 0:
            folder.chmod(0o755)
            shutil.chown(folder, "nobody", "nogroup")
            shutil.chown(data, "nobody", "nogroup")
        initdb = [find_tool("initdb"), "-D", str(data), "-U", "postgres", "--auth=trust"]
        options = ["--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        subprocess.run(as_database_user([*initdb, *options]), check=True, capture_output=True)
        # No test pulls the plug.
        settings = ["-F", "-c", "listen_addresses=", "-c", "full_page_writes=off"]
        command = [find_tool("postgres"), "-D", str(data), "-k", str(folder), *settings]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(as_database_user(command), stdout=log, stderr=log, cwd="/")
        server = PostgresServer(process, folder)
        try:
            _wait(server)
            yield server
        finally:
            process.send_signal(signal.SIGINT)  # without waiting for who is connected
            process.wait(20)


def _wait(server: PostgresServer) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            psycopg.connect(server.url()).close()
        except psycopg.OperationalError:
            if server.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((server.folder / "log").read_text()) from None
            time.sleep(0.02)
        else:
            return
