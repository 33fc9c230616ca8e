"""All bound numbers, for the media server's one list."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from src.adapters.mongo import Mongo, store_errors
from src.services.call_ports import BoundNumbers


class MongoBoundNumbers(BoundNumbers):
    """Reads `PhoneNumber` of every owner, and of each document the number alone."""

    def __init__(self, mongo: Mongo) -> None:
        self._phone_numbers = mongo.phone_numbers

    @override
    async def bound(self) -> Sequence[str]:
        with store_errors():
            found = self._phone_numbers.find({}, {"number": 1, "_id": 0})
            return sorted({str(one["number"]) async for one in found if one.get("number")})
