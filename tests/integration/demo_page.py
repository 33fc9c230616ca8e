"""The demo server with a made-up story, as the tests reach it."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp.test_utils import TestClient, TestServer

from local.demo.app import WEB_ROOT, DemoConfig, create_app
from local.story_events import TellStory

SECRET = "a-secret-of-this-test-that-is-long-enough"  # noqa: S105 - guards nothing
LIVEKIT = "ws://127.0.0.1:7880"
SEEDS = {
    "agents": [
        {"agentId": "reception", "name": "Clara"},
        {"agentId": "web-guide", "name": "Guide"},
    ]
}


@asynccontextmanager
async def open_page(tmp_path: Path, tell: TellStory) -> AsyncIterator[TestClient]:
    """The real page's files, without the client library, next to a seed file that must stay private."""
    web_root = tmp_path / "web"
    shutil.copytree(WEB_ROOT, web_root, ignore=shutil.ignore_patterns("node_modules"))
    library = web_root / "node_modules/livekit-client/dist/livekit-client.esm.mjs"
    library.parent.mkdir(parents=True)
    library.write_text("export {};")
    (tmp_path / "seed.json").write_text(json.dumps(SEEDS))
    config = DemoConfig(
        livekit_url=LIVEKIT,
        api_key="key",
        api_secret=SECRET,
        agents_file=tmp_path / "seed.json",
        web_root=web_root,
    )
    async with TestClient(TestServer(create_app(config, tell), host="127.0.0.1")) as client:
        yield client


def own_origin(page: TestClient) -> str:
    return str(page.make_url("/").origin())


async def status_of_raw_path(page: TestClient, path: str) -> int:
    """The answer to a path that no client library has tidied."""
    reader, writer = await asyncio.open_connection("127.0.0.1", page.port)
    try:
        writer.write(f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{page.port}\r\n\r\n".encode())
        return int((await reader.readline()).split()[1])
    finally:
        writer.close()
        await writer.wait_closed()
