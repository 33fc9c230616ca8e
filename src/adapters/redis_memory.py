"""Live sessions in Redis, where voice and text of every process meet."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from redis.asyncio import Redis
from redis.commands.core import AsyncScript
from redis.exceptions import RedisError
from typing_extensions import override

from src.adapters import redis_memory_scripts as scripts
from src.adapters.clock import SystemClock
from src.logs import get_logger
from src.schemas.errors import MemoryStoreError
from src.schemas.memory import SESSION_TTL_S, WINDOW, Appended, MemoryEntry, MemoryEvent
from src.services.memory_ports import SessionStore
from src.services.ports import Clock

logger = get_logger(__name__)

MAX_ITEM_BYTES = 262_144
"""Longer list elements are not read: an entry's content has 64 KB at most, passages the rest."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OWN_FIELD = "#"
"""Begins the metadata fields that are the store's own."""
Item = TypeVar("Item", MemoryEntry, MemoryEvent)


class RedisMemoryStore(SessionStore):
    """The last messages, events and metadata of each session.

    Keys of a session, each with the same lifetime, which every write refreshes; colons and percent
    signs within an id are percent-encoded, so that no id leads to another session's keys:

    - `memory:{session_id}`: list of entries as JSON, the last `WINDOW`
    - `memory:{session_id}:events`: list of events as JSON, the last `WINDOW`
    - `memory:{session_id}:meta`: hash of the metadata; fields that begin with `#` are the store's own
    - `memory:{session_id}:ids`: sorted set of the last `REMEMBERED_IDS` ids by sequence
    - `memory:{session_id}:deleted`: when it was deleted and how far it had counted; no words

    And of a person: `memory_sessions:{user_id}`, a sorted set of their sessions, and
    `memory_deleted:{digest}`, when everything of theirs was deleted.

    What was said at the time of a deletion or before, or at an unknown time, is refused after it; the
    counter goes on, so that no sequence is given twice.
    """

    def __init__(
        self,
        client: Redis,
        *,
        clock: Clock | None = None,
        ttl_s: int = SESSION_TTL_S,
        deadline_s: float = 0.1,
        max_item_bytes: int = MAX_ITEM_BYTES,
    ) -> None:
        """`deadline_s` bounds each operation, whatever the client's own limits are."""
        self._client = client
        self._clock: Clock = clock or SystemClock()
        self._ttl_s = ttl_s
        self._deadline_s = deadline_s
        self._max_item_bytes = max_item_bytes
        self._append = client.register_script(scripts.APPEND)
        self._save = client.register_script(scripts.SAVE)
        self._put_metadata = client.register_script(scripts.PUT_METADATA)
        self._extend = client.register_script(scripts.EXTEND)
        self._delete = client.register_script(scripts.DELETE)
        self._delete_all = client.register_script(scripts.DELETE_ALL)
        self._read = client.register_script(scripts.READ)
        self.unreadable = 0
        """List elements that were skipped: broken, of an unknown form, or too long."""

    @override
    async def append(self, entry: MemoryEntry) -> Appended:
        return await self._add("", entry.capped())

    @override
    async def append_event(self, event: MemoryEvent) -> Appended:
        return await self._add(":events", event)

    @override
    async def save_session(self, session_id: str, memory: Sequence[MemoryEntry]) -> None:
        kept = sorted(memory, key=lambda entry: entry.sequence or float("inf"))[-WINDOW:]
        user_id = next((entry.user_id for entry in reversed(kept) if entry.user_id), "")
        arguments = [one for entry in kept for one in self._arguments(entry.capped())]
        await self._write(self._save, _keys(session_id, user_id), *arguments)

    @override
    async def load_session(self, session_id: str) -> list[MemoryEntry]:
        return await self._load(_key(session_id), MemoryEntry.from_dict)

    @override
    async def load_events(self, session_id: str) -> list[MemoryEvent]:
        return await self._load(f"{_key(session_id)}:events", MemoryEvent.from_dict)

    @override
    async def put_metadata(self, session_id: str, values: Mapping[str, str]) -> None:
        fields = {name: value for name, value in values.items() if name[:1] != _OWN_FIELD}
        if fields:
            keys = _keys(session_id, fields.get("user_id", ""))
            pairs = [text for field in fields.items() for text in field]
            await self._write(self._put_metadata, keys, *pairs)

    @override
    async def metadata(self, session_id: str) -> dict[str, str]:
        try:
            async with asyncio.timeout(self._deadline_s):
                found = await self._client.hgetall(f"{_key(session_id)}:meta")
        except (RedisError, OSError, TimeoutError) as error:
            raise _failed(error) from error
        fields = {_text(name): _text(value) for name, value in found.items()}
        return {name: value for name, value in fields.items() if name[:1] != _OWN_FIELD}

    @override
    async def extend_ttl(self, session_id: str) -> None:
        await self._write(self._extend, _keys(session_id))

    @override
    async def delete_session(self, session_id: str) -> int:
        return int(await self._write(self._delete, _keys(session_id)))

    @override
    async def delete_all(self, user_id: str) -> int:
        return int(await self._write(self._delete_all, _keys_of_person(user_id)))

    async def _add(self, list_suffix: str, item: MemoryEntry | MemoryEvent) -> Appended:
        keys = _keys(item.session_id, item.user_id)
        sequence, new = await self._write(self._append, keys, list_suffix, *self._arguments(item))
        return Appended(int(sequence), new=bool(new))

    async def _write(self, script: AsyncScript, keys: list[str], *arguments: str | bytes) -> Any:  # noqa: ANN401 - each script's own answer
        now = _microseconds(self._clock.now())
        return await self._run(script, keys, (str(self._ttl_s), now, *arguments))

    async def _run(
        self, script: AsyncScript, keys: list[str], arguments: Sequence[str | bytes]
    ) -> Any:  # noqa: ANN401 - each script's own answer
        try:
            async with asyncio.timeout(self._deadline_s):
                return await script(keys=keys, args=arguments)
        except (RedisError, OSError, TimeoutError, UnicodeError) as error:
            raise _failed(error) from error

    def _arguments(self, item: MemoryEntry | MemoryEvent) -> tuple[str | bytes, ...]:
        """The item as the scripts take it; passages or data that are too long to be read are left out."""
        try:
            said = _microseconds(item.timestamp) if item.timestamp else ""
            text = _unnumbered(item)
            if len(text) > self._max_item_bytes - 32:  # room for the number
                text = _unnumbered(_slim(item))
        except (TypeError, ValueError) as error:
            raise MemoryStoreError(f"item is not JSON: {type(error).__name__}") from error
        kind = "event" if isinstance(item, MemoryEvent) else "entry"
        member = f"{kind}:{item.id}" if item.id else ""
        return member.encode(errors="replace"), text, str(max(item.sequence, 0)), said

    async def _load(self, key: str, parse: Callable[[Mapping[str, Any]], Item]) -> list[Item]:
        elements = await self._run(self._read, [key], (str(self._max_item_bytes),))
        items: list[Item] = []
        for document in _documents(elements):
            try:
                items.append(parse(document))
            except ValueError:
                continue
        if skipped := len(elements) - len(items):
            self.unreadable += skipped
            logger.warning("unreadable memory items skipped", extra={"number": skipped})
        return items


def _key(session_id: str) -> str:
    return "memory:" + session_id.replace("%", "%25").replace(":", "%3A")


def _keys(session_id: str, user_id: str = "") -> list[str]:
    return [_key(session_id), *(_keys_of_person(user_id) if user_id else ())]


def _keys_of_person(user_id: str) -> list[str]:
    # What stays after a deletion names nobody; an id may be a phone number.
    digest = hashlib.sha256(user_id.encode(errors="replace")).hexdigest()
    return [f"memory_sessions:{user_id}", f"memory_deleted:{digest}"]


def _microseconds(time: datetime) -> str:
    return str((time - _EPOCH) // timedelta(microseconds=1))


def _unnumbered(item: MemoryEntry | MemoryEvent) -> bytes:
    """JSON that ends where the number of the sequence and a brace are to follow."""
    fields = item.to_dict()
    del fields["sequence"]
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    return f'{text[:-1]},"sequence":'.encode(errors="replace")  # half a surrogate pair is no UTF-8


def _slim(item: MemoryEntry | MemoryEvent) -> MemoryEntry | MemoryEvent:
    if isinstance(item, MemoryEvent):
        return replace(item, data={})
    return replace(item, retrieved_passages=(), sources=())


def _documents(elements: Sequence[bytes]) -> Sequence[Any]:
    """What the elements hold; None for a broken one. Parsed at once if all are whole, which is faster."""
    try:
        parsed = json.loads(b"[" + b",".join(elements) + b"]")
    except (ValueError, RecursionError):
        parsed = []
    return parsed if len(parsed) == len(elements) else [_document(one) for one in elements]


def _document(element: bytes) -> Any:  # noqa: ANN401 - JSON
    try:
        return json.loads(element)
    except (ValueError, RecursionError):
        return None


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode(errors="replace")


def _failed(error: Exception) -> MemoryStoreError:
    return MemoryStoreError(f"live sessions: {type(error).__name__}")
