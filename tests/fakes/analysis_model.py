"""A language model that answers what it was told to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from src.services.analysis import AnalysisModel

ANSWER: Mapping[str, Any] = {
    "summary": "The caller asked when it opens. The agent said at nine. Nothing is open.",
    "summaryEn": "They talked in another language.",
    "outcome": "resolved",
    "openItems": [],
    "optOut": False,
    "fields": {},
}


@dataclass(frozen=True)
class Asked:
    """One request."""

    system: str
    text: str
    schema: Mapping[str, Any]


class FakeAnalysisModel(AnalysisModel):
    """Answers with the given replies in turn (an exception is raised), then always with `ANSWER`.

    A reply is what differs from `ANSWER`; of both only what the schema asks for is answered.
    """

    def __init__(self, *replies: Mapping[str, Any] | Exception) -> None:
        self._replies = list(replies)
        self.asked: list[Asked] = []

    @override
    async def ask(self, *, system: str, text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append(Asked(system, text, schema))
        reply = self._replies.pop(0) if self._replies else {}
        if isinstance(reply, Exception):
            raise reply
        return {k: v for k, v in {**ANSWER, **reply}.items() if k in schema["properties"]}
