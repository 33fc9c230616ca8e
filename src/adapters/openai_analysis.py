"""Answers in the shape of a JSON schema, from a model behind the OpenAI chat API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from openai import AsyncOpenAI
from typing_extensions import override

from src.adapters.openai_chat import ChatModel
from src.schemas.errors import LanguageModelError
from src.services.analysis import AnalysisModel


class OpenAIAnalysisModel(AnalysisModel):
    """Asks for structured output; that the answer keeps the schema is for the caller to check."""

    def __init__(
        self,
        *,
        client: AsyncOpenAI,
        model: str,
        timeout_s: float = 60.0,
        max_answer_chars: int = 20_000,
    ) -> None:
        """`timeout_s` is per request: a whole analysis is some 800 tokens, and nobody waits for it."""
        self._model = ChatModel(
            client=client, model=model, timeout_s=timeout_s, max_answer_chars=max_answer_chars
        )

    @override
    async def ask(self, *, system: str, text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        answer = await self._model.ask(
            system,
            text,
            response_format={
                "type": "json_schema",
                # Not strict: that takes a part of JSON schema only, and agents bring their own.
                "json_schema": {"name": "analysis", "schema": dict(schema), "strict": False},
            },
        )
        return _parsed(answer)


def _parsed(answer: str) -> dict[str, Any]:
    try:
        value = json.loads(answer, parse_constant=_refused)
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is no text
    except (ValueError, RecursionError) as error:
        # The cause would quote the answer.
        raise LanguageModelError(f"the answer is no JSON: {type(error).__name__}") from None
    if not isinstance(value, dict):
        raise LanguageModelError("the answer is no object")
    return value


def _refused(constant: str) -> Any:  # noqa: ANN401 - never returns; the signature json asks for
    raise ValueError(constant)
