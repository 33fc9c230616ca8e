"""`python -m local.providers`: the server as a process. Says where it listens once it is ready."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import signal

from aiohttp import web

from local.providers.app import build_app
from local.providers.engines import Engines


def main() -> None:
    """Serve until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(
        prog="python -m local.providers",
        description="Deepgram- and OpenAI-shaped providers on engines that run offline",
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8100, help="0 takes a free one")
    parser.add_argument("--workers", type=int, default=2, help="recognitions at the same time")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    asyncio.run(_serve(args.host, args.port, args.workers))


async def _serve(host: str, port: int, workers: int) -> None:
    engines = await asyncio.to_thread(Engines, workers)
    runner = web.AppRunner(build_app(engines), access_log=None, shutdown_timeout=2.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        bound = runner.addresses[0][1]
        print(f"listening on http://{host}:{bound}", flush=True)
        await _asked_to_stop()
    finally:
        await runner.cleanup()
        engines.close()


async def _asked_to_stop() -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
