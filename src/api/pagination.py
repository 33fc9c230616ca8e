"""Lists in pages, each of which leads to the next by a cursor."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Annotated, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel, Field, TypeAdapter

from src.api.problems import ApiError
from src.schemas.instants import Instant
from src.schemas.text import Text
from src.services.owned import Position

T = TypeVar("T")
_POSITION = TypeAdapter(tuple[Instant, Text])

Limit = Annotated[int, Query(ge=1, le=200, description="Items on one page.")]
Cursor = Annotated[
    str | None,
    Query(max_length=500, description="`nextCursor` of the page before; absent for the first."),
]


class Page(BaseModel, Generic[T]):
    """Some of the items, newest first."""

    items: list[T]
    nextCursor: str | None = Field(  # noqa: N815 - the name on the wire
        default=None, description="Where the next page begins; absent on the last."
    )


def position_of(cursor: str | None) -> Position | None:
    """The place that a cursor names.

    Raises:
        ApiError: it is none of ours.
    """
    if cursor is None:
        return None
    try:
        at, key = _POSITION.validate_json(base64.urlsafe_b64decode(cursor.encode()))
    except (ValueError, binascii.Error):  # among them pydantic's
        raise ApiError(400, "the cursor is none of ours", code="invalid_cursor") from None
    return Position(at, key)


def cursor_of(position: Position) -> str:
    """The cursor to a place."""
    named = json.dumps([position.at.isoformat(), position.key])
    return base64.urlsafe_b64encode(named.encode()).decode()


def next_cursor(positions: Sequence[Position], limit: int) -> str | None:
    """The cursor behind a page of at most `limit`, or None if it is certainly the last."""
    return cursor_of(positions[-1]) if positions and len(positions) == limit else None
