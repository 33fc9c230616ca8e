"""Analyses one finished call: summary, outcome, the agent's own fields, promises, opt-out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from src.schemas.analysis import CallAnalysis
from src.schemas.contact import Turn
from src.schemas.errors import LanguageModelError
from src.services.analysis_masking import masked_analysis, masked_transcript
from src.services.analysis_request import PART, PARTS, TRANSCRIPT, Answer, Wish
from src.services.fields_schema import check_fields_schema, field_problems
from src.services.memory_ports import Redactor
from src.services.opt_out import asks_for_no_calls
from src.services.transcript_text import packed, spoken_lines


class AnalysisModel(Protocol):
    """A language model that answers in the shape of a JSON schema."""

    async def ask(self, *, system: str, text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to one request; that it is an object is all that is sure of its shape.

        Raises:
            LanguageModelError: no usable answer.
        """


@dataclass(frozen=True)
class _Material:
    """What the last request is about: the call, or the analyses of its parts."""

    kind: str
    text: str
    opt_out: bool
    """Said in one of the parts."""


class CallAnalyser:
    """Stateless; any number of calls may be analysed at once."""

    def __init__(
        self, *, model: AnalysisModel, redactor: Redactor, max_chars: int = 40_000
    ) -> None:
        """`max_chars` is per request, about 10,000 tokens of English; more is analysed in parts."""
        self._model = model
        self._redactor = redactor
        self._max_chars = max_chars

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
        problems = check_fields_schema(fields_schema) if fields_schema is not None else []
        wish = Wish(language=language, fields_schema=None if problems else fields_schema)
        turns = transcript
        if anonymize:  # takes some milliseconds a turn
            turns = await asyncio.to_thread(masked_transcript, transcript, self._redactor, language)
        analysis = await self._analysed(turns, wish, opt_out=asks_for_no_calls(transcript))
        if problems:
            error = f"the agent's analysisSchema cannot be used: {'; '.join(problems)}"
            analysis = analysis.model_copy(update={"fields_error": error})
        if anonymize:
            return await asyncio.to_thread(
                masked_analysis, analysis, self._redactor, wish.fields_schema
            )
        return analysis

    async def _analysed(self, turns: Sequence[Turn], wish: Wish, *, opt_out: bool) -> CallAnalysis:
        material = await self._material(turns, wish)
        raw = await self._model.ask(
            system=wish.system(material.kind), text=material.text, schema=wish.schema()
        )
        answer = Answer.read(raw, with_english=not wish.in_english)
        fields, error = await self._fields(answer.fields, wish, material)
        return CallAnalysis(
            summary=answer.summary,
            summary_en=None if wish.in_english else answer.summary_en,
            outcome=answer.outcome,
            fields=fields,
            fields_error=error,
            open_items=tuple(item.strip() for item in answer.open_items if item.strip()),
            opt_out=opt_out or answer.opt_out or material.opt_out,
            language=wish.language,
        )

    async def _material(self, turns: Sequence[Turn], wish: Wish) -> _Material:
        """The call in one request, in as many rounds as that takes."""
        texts, kind, opt_out = packed(spoken_lines(turns), self._max_chars), TRANSCRIPT, False
        while len(texts) > 1:
            kind = PART if kind == TRANSCRIPT else PARTS
            parts = [await self._part(text, kind, wish) for text in texts]
            opt_out |= any(part.opt_out for part in parts)
            texts = packed([self._line(part) for part in parts], self._max_chars)
            kind = PARTS
        if not texts:
            raise LanguageModelError("there is nothing to analyse")
        return _Material(kind, texts[0], opt_out)

    async def _part(self, text: str, kind: str, wish: Wish) -> Answer:
        raw = await self._model.ask(system=wish.system(kind), text=text, schema=wish.part_schema())
        return Answer.read(raw)

    def _line(self, part: Answer) -> str:
        line = json.dumps(
            part.model_dump(mode="json", by_alias=True, exclude_none=True), ensure_ascii=False
        )
        # A quarter: else the parts' analyses might never get fewer.
        if len(line) > self._max_chars // 4:
            raise LanguageModelError("the analysis of a part is too long")
        return line

    async def _fields(
        self, fields: object, wish: Wish, material: _Material
    ) -> tuple[dict[str, Any] | None, str | None]:
        """The agent's fields, if one of two tries gives valid ones; else the reason."""
        schema = wish.fields_schema
        if schema is None:
            return None, None
        problems = field_problems(fields, schema)
        if problems:
            try:
                raw = await self._model.ask(
                    system=wish.system_again(material.kind, problems),
                    text=material.text,
                    schema=wish.fields_only(),
                )
            except LanguageModelError:  # what is known of the call is worth more than another try
                return None, "the second try got no usable answer; the first: " + "; ".join(
                    problems
                )
            fields = raw.get("fields")
            problems = field_problems(fields, schema)
        if problems or not isinstance(fields, dict):
            return None, "not valid in two tries: " + "; ".join(problems)
        return fields, None
