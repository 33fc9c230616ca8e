"""Loggers whose records never carry a caller's words, number or name, unless switched on.

Callers' data goes into `extra` under keys that begin with `pii.`; those fields are removed from every
record before any handler (LiveKit's own JSON formatter included) can print them.
"""

from __future__ import annotations

import logging
import traceback

from typing_extensions import override

PII_PREFIX = "pii."


class PiiFilter(logging.Filter):
    """Removes `pii.*` fields; `allow` keeps them, for a developer's own machine."""

    allow = False

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        """Strip the fields; every record passes."""
        if not PiiFilter.allow:
            for key in [key for key in vars(record) if key.startswith(PII_PREFIX)]:
                delattr(record, key)
        return True


_FILTER = PiiFilter()


def get_logger(name: str) -> logging.Logger:
    """The logger for a module of the product."""
    logger = logging.getLogger(name)
    logger.addFilter(_FILTER)  # on the logger: a filter on a parent is not applied to its children
    return logger


def trace_of(error: BaseException) -> str:
    """Where an unexpected error was raised, without its message: that may quote a caller."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    return f"{frames}{type(error).__module__}.{type(error).__qualname__}"


def allow_pii(*, allow: bool) -> None:
    """Keep `pii.*` fields in log records of this process."""
    PiiFilter.allow = allow
