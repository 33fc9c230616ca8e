"""One set of engines for all tests, one server for each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest
from aiohttp import web

from local.providers.app import build_app
from local.providers.client import ProvidersClient
from local.providers.engines import Engines


@pytest.fixture(scope="session")
def engines() -> Iterator[Engines]:
    engines = Engines(workers=1)
    asyncio.run(engines.warm_up())
    yield engines
    engines.close()


@pytest.fixture
async def url(engines: Engines) -> AsyncIterator[str]:
    """Address of a running server, without `/v1`."""
    runner = web.AppRunner(build_app(engines), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.fixture
async def providers(url: str) -> AsyncIterator[ProvidersClient]:
    async with ProvidersClient(url) as client:
        yield client


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(headers={"Authorization": "Token local"}) as session:
        yield session
