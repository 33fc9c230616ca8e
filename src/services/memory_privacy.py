"""What a person's settings let memory keep, and the masking of what is kept.

Everything here happens before an item reaches a store, the journal or a log.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from typing_extensions import override

from src.logs import get_logger
from src.schemas.memory import MemoryEntry, MemoryEvent, MemorySettings, Redaction
from src.services.background import Background
from src.services.memory_ports import Redactor

logger = get_logger(__name__)

Item = MemoryEntry | MemoryEvent

WITHHELD = "[WITHHELD]"
"""Stands for words that could not be looked through."""
REDACTION_LATE = "redaction_late"
REDACTION_FAILED = "redaction_failed"

_CODES = frozenset({"from_mode", "to_mode", "from_language", "to_language", "trigger"})
_CODE = re.compile(r"[A-Za-z]{1,16}(?:[_-][A-Za-z0-9]{1,8}){0,3}")

_Question = tuple[str, str, tuple[str, ...]]


def allowed(item: Item, settings: MemorySettings) -> Item | None:
    """What may be stored of an item; None for nothing."""
    if not settings.enabled:
        return None
    if isinstance(item, MemoryEvent):
        return item
    if item.mode == "voice" and not settings.save_voice_transcripts:
        return None
    if not settings.save_rag_context:
        return replace(item, retrieved_passages=(), sources=())
    return item


class NoRedactor(Redactor):
    """Finds nothing; for a service that was given no redactor."""

    @override
    def redact(self, text: str, *, language: str = "en", before: Sequence[str] = ()) -> Redaction:
        return Redaction(text)


class Masking:
    """Masks items in a thread, so that no turn waits for what was masked ahead of it."""

    def __init__(
        self,
        *,
        redactor: Redactor,
        background: Background,
        limit_s: float = 5.0,
        remembered: int = 128,
    ) -> None:
        """`limit_s` is when a text is given up and withheld; `remembered` the number of answers kept."""
        self._redactor = redactor
        self._background = background
        self._limit_s = limit_s
        self._remembered = remembered
        self._answers: OrderedDict[_Question, asyncio.Task[Redaction]] = OrderedDict()

    def prepare(self, text: str, *, language: str = "en", before: Sequence[str] = ()) -> None:
        """Begin to mask a text that is likely to be written soon."""
        if text:
            _ = self._ask((text, language, tuple(before)))

    async def masked(self, item: Item, settings: MemorySettings, *, before: Sequence[str]) -> Item:
        """The item as it may be stored.

        With `anonymize_phi` its words are masked, or withheld if that fails; without, they stay. What
        identifies somebody in the content of an entry is noted either way.
        """
        if isinstance(item, MemoryEvent):
            if not settings.anonymize_phi:
                return item
            return replace(item, data=await self._tree(item.data))
        return await self._entry(item, settings, before)

    def forget(self) -> None:
        """Drop every answer."""
        self._answers.clear()

    async def _entry(
        self, entry: MemoryEntry, settings: MemorySettings, before: Sequence[str]
    ) -> MemoryEntry:
        answer = await self._answer(
            entry.content, entry.detected_language or entry.language, before
        )
        if answer is None:
            entry = replace(
                entry, phi_detected=True, degradations=(*entry.degradations, REDACTION_FAILED)
            )
            answer = Redaction(WITHHELD)
        elif answer.found:
            entry = replace(entry, phi_detected=True)
        if not settings.anonymize_phi:
            return entry
        passages = [await self.text(passage) for passage in entry.retrieved_passages]
        return replace(entry, content=answer.text, retrieved_passages=tuple(passages))

    async def _tree(self, value: Any, key: str = "") -> Any:  # noqa: ANN401 - JSON, and JSON back
        if isinstance(value, str):
            return value if _is_code(key, value) else await self.text(value)
        if isinstance(value, Mapping):
            return {name: await self._tree(item, str(name)) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [await self._tree(item) for item in value]
        return value

    async def text(self, text: str, *, language: str = "en") -> str:
        """The text masked, or `WITHHELD` if that failed."""
        answer = await self._answer(text, language, ())
        return WITHHELD if answer is None else answer.text

    async def _answer(self, text: str, language: str, before: Sequence[str]) -> Redaction | None:
        if not text.strip():
            return Redaction(text)
        question = (text, language, tuple(before))
        try:
            async with asyncio.timeout(self._limit_s):
                # Shielded: the answer may serve another write of the same text.
                return await asyncio.shield(self._ask(question))
        except Exception as error:  # noqa: BLE001 - whatever a redactor raises, its text is not stored
            self._answers.pop(question, None)
            fields = {"error": type(error).__name__}
            logger.error("text withheld, it could not be masked", extra=fields)  # noqa: TRY400 - the error may quote the text
            return None

    def _ask(self, question: _Question) -> asyncio.Task[Redaction]:
        answer = self._answers.get(question)
        if answer is None:
            text, language, before = question
            work = asyncio.to_thread(self._redactor.redact, text, language=language, before=before)
            answer = self._background.spawn(work, name="masking")
            self._answers[question] = answer
            while len(self._answers) > self._remembered:
                self._answers.popitem(last=False)
        self._answers.move_to_end(question)
        return answer


def _is_code(key: str, value: str) -> bool:
    """Whether a value of an event is one of the product's own codes or times, and nobody's words."""
    if key == "timestamp":
        try:
            datetime.fromisoformat(value)
        except ValueError:
            return False
        return True
    return key in _CODES and _CODE.fullmatch(value) is not None
