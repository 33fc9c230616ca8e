"""Analyses one finished call: summary, outcome, the agent's own fields, promises, opt-out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from src.schemas.analysis import CallAnalysis
from src.schemas.contact import Turn
from src.services.memory_ports import Redactor


class AnalysisModel(Protocol):
    """A language model that answers in the shape of a JSON schema."""

    async def ask(self, *, system: str, text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to one request; that it is an object is all that is sure of its shape.

        Raises:
            LanguageModelError: no usable answer.
        """


def is_conversation(transcript: Sequence[Turn]) -> bool:
    """Whether both sides said something."""
    return {"user", "assistant"} <= {turn.role for turn in transcript if turn.text.strip()}


class CallAnalyser:
    """Stateless; any number of calls may be analysed at once."""

    def __init__(self, *, model: AnalysisModel, redactor: Redactor) -> None:
        self._model = model
        self._redactor = redactor

    async def analyse(
        self,
        transcript: Sequence[Turn],
        *,
        language: str,
        fields_schema: Mapping[str, Any] | None,
        anonymize: bool,
    ) -> CallAnalysis:
        """The analysis of a conversation of any length (see `is_conversation`).

        Args:
            transcript: The whole call, oldest turn first.
            language: BCP 47; the summary is written in it.
            fields_schema: JSON schema of the fields that the agent wants; None for none.
            anonymize: Mask what identifies a person, before the model sees it and in what it answers.

        Raises:
            LanguageModelError: no usable answer; trying again later may help.
        """
        raise NotImplementedError
