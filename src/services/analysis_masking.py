"""Masks what identifies a person in a transcript, and in what was made of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from src.schemas.analysis import CallAnalysis
from src.schemas.contact import Turn
from src.services.fields_schema import own_values, property_names
from src.services.memory_ports import Redactor
from src.services.privacy import TURNS_BEFORE


def masked_transcript(transcript: Sequence[Turn], redactor: Redactor, language: str) -> list[Turn]:
    """The turns with tags for what identifies a person."""
    before: dict[str, list[str]] = defaultdict(list)
    masked = []
    for turn in transcript:
        text = redactor.redact(
            turn.text, language=language, before=before[turn.role][-TURNS_BEFORE:]
        ).text
        before[turn.role].append(turn.text)
        masked.append(turn.model_copy(update={"text": text}))
    return masked


def masked_analysis(
    analysis: CallAnalysis, redactor: Redactor, schema: Mapping[str, Any] | None
) -> CallAnalysis:
    """The analysis with tags likewise; texts and names that the schema itself gives stay."""
    masker = _Masker(redactor, analysis.language, property_names(schema) | own_values(schema))
    english = analysis.summary_en
    return analysis.model_copy(
        update={
            "summary": masker.text(analysis.summary),
            "summary_en": english and redactor.redact(english, language="en").text,
            "open_items": tuple(masker.text(item) for item in analysis.open_items),
            "fields": masker.value(analysis.fields),
        }
    )


class _Masker:
    def __init__(self, redactor: Redactor, language: str, kept: frozenset[str]) -> None:
        self._redactor = redactor
        self._language = language
        self._kept = kept

    def text(self, text: str) -> str:
        return self._redactor.redact(text, language=self._language).text

    def value(self, value: Any) -> Any:  # noqa: ANN401 - JSON, and the same JSON back
        if isinstance(value, str):
            return value if value in self._kept else self.text(value)
        if isinstance(value, Mapping):
            return {self.value(name): self.value(part) for name, part in value.items()}
        return [self.value(part) for part in value] if isinstance(value, list) else value
