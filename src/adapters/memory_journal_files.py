"""Lines and files of the memory journal."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from src.schemas.memory import MemoryEntry, MemoryEvent

KEPT = ".jsonl"
UNREADABLE = ".unreadable"
PART = ".part"

Item = MemoryEntry | MemoryEvent


@dataclass(frozen=True)
class Line:
    """One item as it is kept."""

    at: int
    """When it was written, in nanoseconds; grows within a file."""
    item: Item

    @property
    def key(self) -> str:
        """What the item is in its session."""
        return key_of(self.item)

    def encode(self) -> bytes:
        """With its end of line.

        Raises:
            TypeError: the item is no JSON.
        """
        kept = {"at": self.at, "kind": _kind(self.item), "item": self.item.to_dict()}
        text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
        return text.encode(errors="replace") + b"\n"  # half a surrogate pair is no UTF-8


def key_of(item: Item) -> str:
    """What an item is in its session; the same again is not kept twice."""
    return f"{_kind(item)}:{item.id}" if item.id else item.to_json()


def file_name(session_id: str) -> str:
    """A safe name: a session id comes from outside and may hold anything."""
    return hashlib.sha256(session_id.encode(errors="replace")).hexdigest() + KEPT


def parse(data: bytes) -> tuple[tuple[Line, ...], Sequence[bytes]]:
    """The items of a file, each once, and the lines that are none, a torn one at the end included."""
    lines: dict[str, Line] = {}
    unreadable: list[bytes] = []
    *whole, torn = data.split(b"\n")
    for text in whole:
        try:
            line = _line(json.loads(text))
        except (ValueError, TypeError, KeyError, RecursionError):
            unreadable.append(text)
        else:
            lines.setdefault(line.key, line)
    return tuple(lines.values()), [*unreadable, *([torn] if torn else ())]


def state_of(path: Path) -> tuple[int, int, int]:
    """Inode, size and time of the last change: another process may write it meanwhile."""
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def append(path: Path, data: bytes) -> None:
    """Add `data` durably and whole; part of it stays only if the process dies meanwhile.

    Raises:
        OSError: the disk refuses.
    """
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        size = os.fstat(file).st_size
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(file, left) :]
            os.fsync(file)
        except OSError:
            os.ftruncate(file, size)
            raise
    finally:
        os.close(file)


def sync_folder(folder: Path) -> None:
    """Let the names in it survive a power cut as well as the contents."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _kind(item: Item) -> str:
    return "event" if isinstance(item, MemoryEvent) else "entry"


def _line(kept: Mapping[str, Any]) -> Line:
    kinds: dict[str, type[MemoryEntry | MemoryEvent]] = {"event": MemoryEvent, "entry": MemoryEntry}
    return Line(int(kept["at"]), kinds[kept["kind"]].from_dict(kept["item"]))
