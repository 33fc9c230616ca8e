"""One answer of a model behind the OpenAI chat API, or the reason why there is none."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from openai import AsyncOpenAI, Omit, OpenAIError, omit
from openai.types.chat import ChatCompletion
from openai.types.chat.completion_create_params import ResponseFormat

from src.schemas.errors import LanguageModelError


@dataclass(frozen=True, kw_only=True)
class ChatModel:
    """A model that is asked one thing at a time."""

    client: AsyncOpenAI
    model: str
    timeout_s: float
    """Per request."""
    max_answer_chars: int
    """An answer that is longer is no answer."""

    async def ask(
        self, system: str, text: str, *, response_format: ResponseFormat | Omit = omit
    ) -> str:
        """The answer without blanks around it; never empty.

        Raises:
            LanguageModelError: the model failed or was late, or its answer is blank, refused, cut off
                or too long.
        """
        try:
            async with asyncio.timeout(self.timeout_s):
                answer = await self.client.chat.completions.create(
                    model=self.model,
                    messages=[
                        {"role": "system", "content": system},
                        {"role": "user", "content": text},
                    ],
                    response_format=response_format,
                )
        except (OpenAIError, TimeoutError) as error:
            raise LanguageModelError(f"no answer: {type(error).__name__}") from error
        return self._usable(answer)

    def _usable(self, answer: object) -> str:
        # A gateway that answers with a page instead of JSON makes the client return text.
        if not isinstance(answer, ChatCompletion) or not answer.choices:
            raise LanguageModelError("the answer is no completion")
        choice = answer.choices[0]
        text = (choice.message.content or "").strip()
        if not text:
            raise LanguageModelError("the answer is blank")
        if (
            choice.finish_reason in ("length", "content_filter")
            or len(text) > self.max_answer_chars
        ):
            raise LanguageModelError("the answer is cut off or too long")
        return text
