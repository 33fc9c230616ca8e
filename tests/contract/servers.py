"""Real stores as child processes of the test run, on loopback."""

import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pymongo import MongoClient
from pymongo.errors import PyMongoError

START_S = 20.0


@contextmanager
def mongodb_server(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server that speaks the MongoDB protocol; its URI is `uri_of` the process."""
    program = Path(sys.executable).with_name("secantusd-py")
    port = _free_port()
    command = [str(program), "--host", "127.0.0.1", "--port", str(port)]
    # Without `--sync-on-commit`: no test pulls the plug, and each write would wait for the disk.
    command += ["--storage-path", str(folder / "data"), "--cache-size", "128M"]
    log = folder / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT)
    try:
        _wait_for_mongodb(process, log)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def uri_of(process: subprocess.Popen[bytes]) -> str:
    """Where the server listens."""
    command = [str(word) for word in process.args] if isinstance(process.args, list) else []
    return f"mongodb://127.0.0.1:{command[command.index('--port') + 1]}"


def _wait_for_mongodb(process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    with MongoClient[dict[str, object]](uri_of(process), serverSelectionTimeoutMS=100) as client:
        while True:
            try:
                client.admin.command("ping")
            except PyMongoError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"no MongoDB server:\n{log.read_text()}") from None
                time.sleep(0.02)
            else:
                return


def _free_port() -> int:
    """Below the range from which the system takes ports for outgoing connections."""
    while True:
        port = random.randrange(20_000, 32_000)  # noqa: S311 - no secret
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
