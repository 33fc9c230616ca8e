"""Keeps finished calls as files until the store has them."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError
from typing_extensions import override

from src.logs import get_logger
from src.schemas.contact import CallEnd, NewContact
from src.services.ports import CallJournal

logger = get_logger(__name__)

MAX_PENDING = 10_000
"""Files read per replay; the rest waits for the next one."""


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    contact: NewContact
    end: CallEnd


class FileJournal(CallJournal):
    """One file per call under `folder`, readable by this user only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @override
    async def write(self, contact: NewContact, end: CallEnd) -> None:
        entry = _Entry(contact=contact, end=end)
        await asyncio.to_thread(
            self._write, self._path(contact.contact_uid), entry.model_dump_json()
        )

    @override
    async def pending(self) -> Sequence[tuple[NewContact, CallEnd]]:
        return await asyncio.to_thread(self._read_all)

    @override
    async def remove(self, contact_uid: str) -> None:
        await asyncio.to_thread(self._path(contact_uid).unlink, missing_ok=True)

    def _path(self, contact_uid: str) -> Path:
        # A contactUID comes from outside and may hold anything; its digest is a safe file name.
        return self._folder / f"{hashlib.sha256(contact_uid.encode()).hexdigest()}.json"

    def _write(self, path: Path, text: str) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = path.with_suffix(f".{os.getpid()}.part")
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        part.replace(path)
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)  # the name must survive a power cut as well as the content
        finally:
            os.close(folder)

    def _read_all(self) -> list[tuple[NewContact, CallEnd]]:
        if not self._folder.is_dir():
            return []
        files = sorted(self._folder.glob("*.json"), key=_age)[:MAX_PENDING]
        entries = [entry for path in files if (entry := self._read(path)) is not None]
        return [(entry.contact, entry.end) for entry in entries]

    def _read(self, path: Path) -> _Entry | None:
        try:
            return _Entry.model_validate_json(path.read_bytes())
        except FileNotFoundError:  # another process stored it meanwhile
            return None
        except ValidationError:
            logger.error("unreadable journal entry set aside")  # noqa: TRY400 - the error holds the words
            path.replace(path.with_suffix(".unreadable"))
            return None


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
