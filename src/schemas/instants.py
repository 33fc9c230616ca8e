"""Times that every store takes."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BeforeValidator

_YEAR = re.compile(r"\d{4}-")


def _in_utc(at: datetime) -> datetime:
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise ValueError("must be in the years 1 to 9999 of UTC") from None


def _is_written_out(at: object) -> object:
    if isinstance(at, datetime) or (isinstance(at, str) and _YEAR.match(at)):
        return at
    raise ValueError(
        "must be a date and time, as in 2026-12-01T09:30:00Z"
    )  # not seconds since 1970


Instant = Annotated[AwareDatetime, AfterValidator(_in_utc), BeforeValidator(_is_written_out)]
"""In UTC. In another zone it may be a time in the year 0 or 10000, which no store can tell."""
