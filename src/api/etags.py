"""`ETag` and `If-Match` for documents with a version."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Header

from src.api.problems import ApiError

_TAG = re.compile(r'"(\d{1,15})"')

IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match",
        max_length=100,
        description="The `ETag` of what was read: refused with 412 if it was changed meanwhile.",
    ),
]


def etag_of(version: int) -> str:
    """The tag of a version."""
    return f'"{version}"'


def version_of(if_match: str | None) -> int | None:
    """The version asked for; None for any.

    Raises:
        ApiError: it is no tag of ours.
    """
    if if_match is None or if_match.strip() == "*":
        return None
    match = _TAG.fullmatch(if_match.strip())
    if match is None:
        raise ApiError(400, "If-Match takes one ETag of ours", code="invalid_if_match")
    return int(match[1])
