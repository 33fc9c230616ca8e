"""Structured answers of a language model behind the OpenAI chat API."""

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from openai import AsyncOpenAI

from src.adapters.openai_analysis import OpenAIAnalysisModel
from src.schemas.errors import LanguageModelError

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}


def completion(text: str | None, finish_reason: str = "stop") -> httpx2.Response:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "finish_reason": finish_reason, "message": message}
    body = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    return httpx2.Response(200, json=body)


def model(
    answer: Callable[[httpx2.Request], httpx2.Response], **limits: Any
) -> OpenAIAnalysisModel:
    client = AsyncOpenAI(
        api_key="key",
        base_url="http://model.test/v1",
        max_retries=0,
        http_client=httpx2.AsyncClient(transport=httpx2.MockTransport(answer)),
    )
    return OpenAIAnalysisModel(client=client, model="m", **limits)


async def test_asks_for_the_schema_and_gives_the_object() -> None:
    requests: list[dict[str, Any]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        requests.append(json.loads(request.content))
        return completion(' {"a": 1, "b": "हाँ"}\n')

    assert await model(answer).ask(system="S", text="T", schema=SCHEMA) == {"a": 1, "b": "हाँ"}
    (request,) = requests
    assert [message["content"] for message in request["messages"]] == ["S", "T"]
    assert request["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "analysis", "schema": SCHEMA, "strict": False},
    }


@pytest.mark.parametrize(
    "answer",
    [
        completion(None),
        completion(" \n"),
        completion('{"a": 1', finish_reason="length"),
        completion('{"a": 1}', finish_reason="length"),
        completion('{"a": 1}', finish_reason="content_filter"),
        completion('{"a": 1'),
        completion("I am sorry."),
        completion("[1]"),
        completion('"text"'),
        completion('{"a": NaN}'),
        completion('{"a": "\\ud800"}'),
        completion('{"a": ' * 5000 + "1" + "}" * 5000),
        completion(json.dumps({"a": "x" * 20_000})),
        httpx2.Response(500, json={"error": {"message": "down"}}),
        httpx2.Response(401, json={"error": {"message": "key"}}),
        httpx2.Response(200, text="<html>", headers={"content-type": "text/html"}),
        httpx2.Response(200, json={"choices": []}),
    ],
)
async def test_no_usable_answer_is_an_error(answer: httpx2.Response) -> None:
    limits = {"max_answer_chars": 40_000} if len(answer.content) > 30_000 else {}
    with pytest.raises(LanguageModelError):
        await model(lambda _: answer, **limits).ask(system="S", text="T", schema=SCHEMA)


async def test_a_slow_model_is_an_error() -> None:
    def never(_: httpx2.Request) -> httpx2.Response:
        raise httpx2.ReadTimeout("slow")

    with pytest.raises(LanguageModelError, match="APITimeoutError"):
        await model(never).ask(system="S", text="T", schema=SCHEMA)
