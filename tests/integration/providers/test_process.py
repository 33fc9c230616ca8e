"""The server as a process."""

from __future__ import annotations

import asyncio
import signal
import sys

import pytest

from local.providers.client import ProvidersClient

pytestmark = pytest.mark.integration


async def test_the_process_says_where_it_listens_serves_and_ends_when_told() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "local.providers", "--port", "0", "--workers", "1"),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout
        async with asyncio.timeout(60):
            line = (await process.stdout.readline()).decode()
        assert line.startswith("listening on http://127.0.0.1:")
        async with ProvidersClient(line.split()[-1]) as providers:
            assert len(await providers.speak("Ready.")) > 0
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(10):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
