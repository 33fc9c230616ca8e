"""The control plane as its users meet it: a key from the command line, and HTTP."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from aiohttp import web

from local.ports import HOST, ROOT, Stack

Json = dict[str, Any]


async def new_key(stack: Stack, owner: str, *options: str) -> str:
    """A key's token, from `familiar keys create`."""
    command = [sys.executable, "familiar.py", "keys", "create", "--owner", owner, *options]
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=ROOT,
        env={**os.environ, **stack.read_env()},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, error = await process.communicate()
    assert process.returncode == 0, error.decode()
    return out.decode().strip()


@dataclass
class Api:
    """One key's view of the API."""

    http: httpx.AsyncClient

    @classmethod
    @asynccontextmanager
    async def open(cls, stack: Stack, token: str, **headers: str) -> AsyncIterator[Api]:
        """A client that sends this key."""
        headers = {"Authorization": f"Bearer {token}", **headers}
        async with httpx.AsyncClient(
            base_url=f"{stack.api_url}/api/v2", headers=headers, timeout=30
        ) as http:
            yield cls(http)

    async def ask(self, method: str, path: str, body: Json | None = None, **options: Any) -> Any:
        """The answer's JSON; anything but 2xx fails the test."""
        response = await self.http.request(method, path, json=body, **options)
        assert response.is_success, f"{response.status_code} {response.text}"
        return response.json() if response.content else None

    async def until(
        self, path: str, holds: Callable[[Json], bool], *, timeout_s: float = 30.0
    ) -> Json:
        """What a path shows once something holds for it.

        Raises:
            TimeoutError: it did not in time.
        """
        stop_at = time.monotonic() + timeout_s
        while True:
            found: Json = await self.ask("GET", path)
            if holds(found):
                return found
            if time.monotonic() > stop_at:
                raise TimeoutError(f"never so far: {found}")
            await asyncio.sleep(0.1)


@dataclass
class WebhookReceiver:
    """An HTTP server that takes webhooks."""

    url: str = ""
    received: asyncio.Queue[tuple[dict[str, str], bytes]] = field(default_factory=asyncio.Queue)

    @classmethod
    @asynccontextmanager
    async def listening(cls) -> AsyncIterator[WebhookReceiver]:
        """On a free port of this machine."""
        receiver = cls()

        async def take(request: web.Request) -> web.Response:
            receiver.received.put_nowait((dict(request.headers), await request.read()))
            return web.Response(status=204)

        app = web.Application()
        app.router.add_post("/events", take)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, HOST, 0)
        await site.start()
        port = runner.addresses[0][1]
        receiver.url = f"http://{HOST}:{port}/events"
        try:
            yield receiver
        finally:
            await runner.cleanup()
