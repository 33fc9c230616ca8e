"""Questions to running servers. Each one takes a moment at most and answers yes or no."""

from __future__ import annotations

import socket
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from dotenv import dotenv_values
from pymongo import MongoClient
from pymongo.errors import PyMongoError

from local.ports import HOST
from local.postgres import find_tool

_PATIENCE_S = 1.0


def redis_answers(port: int) -> bool:
    """Whether PING gets a PONG: not while it loads its data."""
    try:
        with socket.create_connection((HOST, port), timeout=_PATIENCE_S) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def mongodb_answers(port: int) -> bool:
    """Whether it introduces itself to a driver."""
    patience_ms = int(_PATIENCE_S * 1000)
    client: MongoClient[dict[str, Any]] = MongoClient(
        HOST,
        port,
        directConnection=True,
        serverSelectionTimeoutMS=patience_ms,
        connectTimeoutMS=patience_ms,
        socketTimeoutMS=patience_ms,
    )
    try:
        return bool(client.admin.command("hello")["ok"])
    except PyMongoError:
        return False
    finally:
        client.close()


def postgres_answers(port: int) -> bool:
    """Whether it takes connections."""
    question = [find_tool("pg_isready"), "-q", "-h", HOST, "-p", str(port), "-t", "1"]
    return subprocess.run(question, check=False).returncode == 0


def http_ok(url: str, *, key: str | None = None) -> bool:
    """Whether GET is answered with 200; `key` goes into the Authorization header."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - our own http URLs
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE_S) as response:  # noqa: S310
            return bool(response.status == 200)
    except (OSError, urllib.error.HTTPError):
        return False


def has_logged(log: Path, sentence: str) -> bool:
    """Whether a part has written it."""
    return log.exists() and sentence in log.read_text(errors="replace")


def sip_answers(port: int) -> bool:
    """Whether OPTIONS, the ping of SIP, gets an answer."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as phone:
        phone.settimeout(_PATIENCE_S)
        phone.bind((HOST, 0))
        own = f"{HOST}:{phone.getsockname()[1]}"
        request = (
            f"OPTIONS sip:{HOST}:{port} SIP/2.0\r\n"
            f"Via: SIP/2.0/UDP {own};branch=z9hG4bK{own.rpartition(':')[2]}\r\n"
            f"From: <sip:health@{own}>;tag=1\r\nTo: <sip:{HOST}:{port}>\r\n"
            f"Call-ID: health-{own}\r\nCSeq: 1 OPTIONS\r\nMax-Forwards: 70\r\nContent-Length: 0\r\n\r\n"
        )
        try:
            phone.connect((HOST, port))
            phone.send(request.encode())
            return phone.recv(2048).startswith(b"SIP/2.0 200")
        except OSError:
            return False


def dotenv(path: Path) -> dict[str, str]:
    """The assignments of a `.env` file, if there is one."""
    return {name: value for name, value in dotenv_values(path).items() if value is not None}


def port_is_free(kind: socket.SocketKind, port: int) -> bool:
    """Whether a server could listen there."""
    with socket.socket(socket.AF_INET, kind) as probe:
        if kind is socket.SOCK_STREAM:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
