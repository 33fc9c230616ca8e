"""Loggers whose records never carry a caller's words, number or name, unless switched on.

Callers' data goes into `extra` under keys that begin with `pii.`; those fields are removed from every
record before any handler (LiveKit's own JSON formatter included) can print them.
"""

from __future__ import annotations

import json
import logging
import re
import traceback
from datetime import UTC, datetime

from typing_extensions import override

PII_PREFIXES = ("pii.", "lk.pii.")
"""Ours, and LiveKit's own."""
_NAMED_AFTER_NUMBERS = ("participant", "room")
"""Fields of LiveKit's records that hold names it makes from phone numbers, such as `sip_+15551234567`."""
_OWN_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""What every record has."""
_NUMBER = re.compile(r"\+?\d{7,}")


class PiiFilter(logging.Filter):
    """Removes what is about a caller; `allow` keeps it, for a developer's own machine."""

    allow = False

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        """Strip the fields; every record passes."""
        if PiiFilter.allow:
            return True
        fields = vars(record)
        for key in [key for key in fields if key.startswith(PII_PREFIXES)]:
            del fields[key]
        for key in _NAMED_AFTER_NUMBERS:
            if isinstance(value := fields.get(key), str):
                fields[key] = _NUMBER.sub("…", value)
        return True


_FILTER = PiiFilter()


def get_logger(name: str) -> logging.Logger:
    """The logger for a module of the product."""
    logger = logging.getLogger(name)
    logger.addFilter(_FILTER)  # on the logger: a filter on a parent is not applied to its children
    return logger


def guard_livekit_logs() -> None:
    """Apply the same to LiveKit's records of this process; again after new loggers came into being."""
    for name in ["livekit", *logging.root.manager.loggerDict]:
        if name.partition(".")[0] == "livekit":
            logging.getLogger(name).addFilter(_FILTER)


def trace_of(error: BaseException) -> str:
    """Where an unexpected error was raised, without its message: that may quote a caller."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    return f"{frames}{type(error).__module__}.{type(error).__qualname__}"


class JsonLines(logging.Formatter):
    """One JSON object per record, with its `extra` fields."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        fields = {
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "name": record.name,
            "message": record.getMessage(),
            **{name: value for name, value in vars(record).items() if name not in _OWN_FIELDS},
        }
        if record.exc_info:
            fields["trace"] = self.formatException(record.exc_info)
        return json.dumps(fields, default=str, ensure_ascii=False)


def allow_pii(*, allow: bool) -> None:
    """Keep `pii.*` fields in log records of this process."""
    PiiFilter.allow = allow
