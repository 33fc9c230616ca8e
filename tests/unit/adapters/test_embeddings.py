"""Vectors from a server that speaks the OpenAI embeddings API, on loopback."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import web
from openai import AsyncOpenAI

from src.adapters.embeddings import EmbeddingLimits, OpenAIEmbedder
from src.schemas.errors import EmbeddingError

Answer = Callable[[dict[str, Any]], web.Response]


def vectors(*rows: list[float], order: list[int] | None = None) -> web.Response:
    data = [
        {"object": "embedding", "index": at, "embedding": rows[at]}
        for at in order or range(len(rows))
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return web.json_response({"object": "list", "data": data, "model": "m", "usage": usage})


def by_length(request: dict[str, Any]) -> web.Response:
    return vectors(*([float(len(text)), 1.0] for text in request["input"]))


class Server:
    """Answers as told."""

    def __init__(self) -> None:
        self.answer: Answer = by_length
        self.requests: list[dict[str, Any]] = []
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self.url = ""

    async def embeddings(self, request: web.Request) -> web.Response:
        self.requests.append(await request.json())
        await self.goes_on.wait()
        return self.answer(self.requests[-1])

    def embedder(self, client: AsyncOpenAI, **limits: Any) -> OpenAIEmbedder:
        return OpenAIEmbedder(client=client, model="m", limits=EmbeddingLimits(**limits))


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    app = web.Application()
    app.router.add_post("/v1/embeddings", server.embeddings)
    runner = web.AppRunner(app, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    server.url = f"http://{host}:{port}/v1"
    yield server
    server.goes_on.set()
    await runner.cleanup()


@pytest.fixture
async def client(server: Server) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(api_key="key", base_url=server.url) as client:
        yield client


async def test_one_vector_per_text_in_order(server: Server, client: AsyncOpenAI) -> None:
    server.answer = lambda _: vectors([1.0, 0.0], [0.0, 1.0], order=[1, 0])
    assert await server.embedder(client).embed(["a", "b"]) == [[1.0, 0.0], [0.0, 1.0]]
    assert server.requests[0]["model"] == "m"


async def test_many_texts_are_sent_in_bounded_requests(server: Server, client: AsyncOpenAI) -> None:
    texts = ["x" * length for length in (1, 2, 3, 50, 5)]
    found = await server.embedder(client, texts=2, chars=40).embed(texts)
    assert [vector[0] for vector in found] == [1, 2, 3, 50, 5]
    assert [request["input"] for request in server.requests] == [
        texts[:2],
        [texts[2]],
        [texts[3]],
        [texts[4]],
    ]


async def test_no_texts_are_no_request(server: Server, client: AsyncOpenAI) -> None:
    assert await server.embedder(client).embed([]) == []
    assert server.requests == []


@pytest.mark.parametrize(
    "answer",
    [
        lambda _: web.Response(status=500),
        lambda _: web.Response(status=429),
        lambda _: web.Response(text="<html>hello</html>", content_type="text/html"),
        lambda _: web.Response(text="{nonsense", content_type="application/json"),
        lambda _: web.json_response({"object": "list", "data": [], "model": "m"}),
        lambda _: vectors([1.0]),
        lambda _: vectors([1.0], [2.0], [3.0]),
        lambda _: vectors([1.0], [1.0, 2.0]),
        lambda _: vectors([0.0], [0.0]),
        lambda _: vectors([], []),
        lambda _: vectors([float("nan")], [1.0]),
    ],
)
async def test_an_unusable_answer_is_one_error_and_not_asked_for_again(
    server: Server, client: AsyncOpenAI, answer: Answer
) -> None:
    server.answer = answer
    with pytest.raises(EmbeddingError):
        await server.embedder(client).embed(["first", "second"])
    assert len(server.requests) == 1


async def test_a_server_that_hangs_is_given_up(server: Server, client: AsyncOpenAI) -> None:
    server.goes_on.clear()
    with pytest.raises(EmbeddingError, match="Timeout"):
        await server.embedder(client, timeout_s=0.05).embed(["first"])


async def test_a_server_that_is_away_is_an_error(client: AsyncOpenAI) -> None:
    away = client.with_options(base_url="http://127.0.0.1:9/v1")
    with pytest.raises(EmbeddingError):
        await OpenAIEmbedder(client=away, model="m").embed(["first"])
