"""A redactor that masks runs of digits."""

import re
import threading
from collections.abc import Sequence

from typing_extensions import override

from src.schemas.memory import Redaction
from src.services.memory_ports import Redactor

_DIGITS = re.compile(r"\d[\d -]{2,}\d")


class FakeRedactor(Redactor):
    """Clear `free` to let every masking hang; set `error` to fail it."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        """Text and earlier turns of each request."""
        self.error: Exception | None = None
        self.free = threading.Event()
        self.free.set()

    @override
    def redact(self, text: str, *, language: str = "en", before: Sequence[str] = ()) -> Redaction:
        self.asked.append((text, tuple(before)))
        self.free.wait(10)
        if self.error is not None:
            raise self.error
        masked, found = _DIGITS.subn("[NUMBER]", text)
        return Redaction(masked, {"NUMBER": found} if found else {})
