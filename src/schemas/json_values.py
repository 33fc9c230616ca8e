"""Stored values as JSON can hold them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator


def plain(value: object) -> Any:  # noqa: ANN401 - JSON, and times
    """The value without what JSON has no word for.

    Documents that other programs wrote hold ids and decimals of MongoDB, which become text, and numbers
    that are none, which become null.
    """
    match value:
        case None | bool() | int() | str() | datetime():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {str(name): plain(one) for name, one in value.items()}
        case list() | tuple():
            return [plain(one) for one in value]
        case _:
            return str(value)


JsonObject = Annotated[dict[str, Any], BeforeValidator(plain)]
"""A document as it was stored."""
