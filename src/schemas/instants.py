"""Times that every store takes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime


def _in_utc(at: datetime) -> datetime:
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise ValueError("must be in the years 1 to 9999 of UTC") from None


Instant = Annotated[AwareDatetime, AfterValidator(_in_utc)]
"""In UTC. In another zone it may be a time in the year 0 or 10000, which no store can tell."""
