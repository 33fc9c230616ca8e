"""Keeps entries and events in files until the stores have them."""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from typing_extensions import override

from src.adapters import memory_journal_files as files
from src.adapters.memory_journal_files import KEPT, PART, UNREADABLE, Item, Line
from src.logs import get_logger
from src.schemas.errors import MemoryStoreError
from src.schemas.memory import MemoryEntry
from src.services.memory_ports import MemoryJournal

logger = get_logger(__name__)

MAX_ITEMS = 10_000
"""An hour of some tens of calls at once, with a message every ten seconds."""
MAX_BYTES = 64 * 1024 * 1024
LOCK_WAIT_S = 2.0
"""Whoever holds the lock needs some milliseconds; one that was stopped must not stop the others."""

_POLL_S = 0.002

Answer = TypeVar("Answer")
_State = tuple[int, int, int]


class FileMemoryJournal(MemoryJournal):
    """One file of JSON lines per session under `folder`, readable by this user only.

    Any number of processes may use the folder at once. Each operation holds the folder's lock, which
    the system takes back from a process that dies. What such a process left half written was never
    acknowledged; it is set aside in `*.unreadable`, with whatever else cannot be read.
    """

    def __init__(
        self,
        folder: Path,
        *,
        max_items: int = MAX_ITEMS,
        max_bytes: int = MAX_BYTES,
        lock_wait_s: float = LOCK_WAIT_S,
    ) -> None:
        """`max_items` and `max_bytes` bound the folder, whoever writes into it."""
        self._folder = folder
        self._max_items = max_items
        self._max_bytes = max_bytes
        self._lock_wait_s = lock_wait_s
        # What files held in the state in which this process last saw them.
        self._lines: dict[str, tuple[_State, tuple[Line, ...]]] = {}
        self._counts: dict[str, tuple[_State, int]] = {}
        self.unreadable = 0
        """Lines that this process set aside."""

    @override
    async def write(self, item: Item) -> None:
        await self._in_thread(lambda: self._write(item))

    @override
    async def pending(self) -> Sequence[Item]:
        try:
            return await self._in_thread(self._pending)
        except MemoryStoreError as error:
            logger.error("memory journal cannot be read", extra={"error": str(error)})  # noqa: TRY400 - nothing of use in the trace
            return ()

    @override
    async def remove(self, items: Sequence[Item]) -> None:
        """Forget these.

        Raises:
            MemoryStoreError: the disk refuses; they are still there.
        """
        await self._in_thread(lambda: self._remove(items))

    @override
    async def delete_sessions(self, session_ids: Sequence[str]) -> int:
        """Forget everything of these sessions, what cannot be read too; the number of items.

        Raises:
            MemoryStoreError: the disk refuses.
        """
        names = {files.file_name(session_id) for session_id in session_ids}
        return await self._in_thread(lambda: self._delete(names))

    async def _in_thread(self, work: Callable[[], Answer]) -> Answer:
        def locked() -> Answer:
            with self._locked():
                for part in self._folder.glob(f"*{PART}"):
                    part.unlink()  # of a process that died; its original is whole
                return work()

        try:
            return await asyncio.to_thread(locked)
        except (OSError, TypeError, ValueError) as error:
            # Without the error's own words: they may quote the item.
            raise MemoryStoreError(f"memory journal: {type(error).__name__}") from None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Opened anew each time, so that it keeps the threads of one process apart, too.
        lock = os.open(self._folder / ".lock", os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            give_up_at = time.monotonic() + self._lock_wait_s
            while not _is_taken(lock):
                if time.monotonic() > give_up_at:
                    raise TimeoutError
                time.sleep(_POLL_S)
            yield
        finally:
            os.close(lock)

    def _write(self, item: Item) -> None:
        item = item.capped() if isinstance(item, MemoryEntry) else item
        name = files.file_name(item.session_id)
        lines = self._read(name)
        key = files.key_of(item)
        if any(line.key == key for line in lines):
            return
        at = max(time.time_ns(), lines[-1].at + 1 if lines else 0)
        line = Line(at, item)
        data = line.encode()
        items, size = self._totals()
        if items >= self._max_items or size + len(data) > self._max_bytes:
            raise MemoryStoreError("memory journal is full")
        path = self._folder / name
        is_new = not path.exists()
        files.append(path, data)
        if is_new:
            files.sync_folder(self._folder)
        self._lines[name] = files.state_of(path), (*lines, line)

    def _pending(self) -> tuple[Item, ...]:
        names = {path.name for path in self._folder.glob(f"*{KEPT}")}
        self._lines = {name: known for name, known in self._lines.items() if name in names}
        lines = [line for name in names for line in self._read(name)]
        for name in [name for name in names if not self._read(name)]:
            (self._folder / name).unlink(missing_ok=True)
            self._lines.pop(name, None)
        return tuple(line.item for line in sorted(lines, key=lambda line: line.at))

    def _remove(self, items: Sequence[Item]) -> None:
        gone: dict[str, set[str]] = {}
        for item in items:
            gone.setdefault(files.file_name(item.session_id), set()).add(files.key_of(item))
        for name, keys in gone.items():
            lines = self._read(name)
            left = tuple(line for line in lines if line.key not in keys)
            if len(left) < len(lines):
                self._replace(name, left)

    def _delete(self, names: set[str]) -> int:
        number = 0
        for path in [self._folder / name for name in names]:
            if path.exists():
                number += len(files.parse(path.read_bytes())[0])
                path.unlink()
            path.with_suffix(UNREADABLE).unlink(missing_ok=True)
            self._lines.pop(path.name, None)
        files.sync_folder(self._folder)
        return number

    def _read(self, name: str) -> tuple[Line, ...]:
        """The lines of a session; what is none is set aside, so that nothing is added to its end."""
        path = self._folder / name
        if not path.exists():
            self._lines.pop(name, None)
            return ()
        state = files.state_of(path)
        known = self._lines.get(name)
        if known and known[0] == state:
            return known[1]
        lines, unreadable = files.parse(path.read_bytes())
        self._lines[name] = state, lines
        if unreadable:
            files.append(path.with_suffix(UNREADABLE), b"\n".join(unreadable) + b"\n")
            self._replace(name, lines)
            self.unreadable += len(unreadable)
            logger.error("unreadable memory set aside", extra={"number": len(unreadable)})
        return lines

    def _replace(self, name: str, lines: tuple[Line, ...]) -> None:
        path = self._folder / name
        if lines:
            part = path.with_suffix(PART)
            files.append(part, b"".join(line.encode() for line in lines))
            part.replace(path)
        else:
            # It stays for the session's next line, whose write then needs no new name on the disk.
            os.truncate(path, 0)
        # Not synced: what a power cut brings back is replayed once more, which changes nothing.
        self._lines[name] = files.state_of(path), lines

    def _totals(self) -> tuple[int, int]:
        """Items and bytes in the folder; of files that changed, lines are counted, not read."""
        counts: dict[str, tuple[_State, int]] = {}
        size = 0
        for path in self._folder.iterdir():
            state = files.state_of(path)
            size += state[1]
            known = self._counts.get(path.name)
            if known is None or known[0] != state:
                known = state, path.read_bytes().count(b"\n") if path.suffix == KEPT else 0
            counts[path.name] = known
        self._counts = counts
        return sum(count for _, count in counts.values()), size


def _is_taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
