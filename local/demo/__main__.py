"""Serve the demo page of a local stack: `python -m local.demo`."""

from __future__ import annotations

import argparse
import logging
from typing import get_args

from aiohttp import web

from local.demo.app import DemoConfig, create_app
from local.ports import HOST, Stack, StackName
from local.story import tell
from local.story_events import OnStoryEvent, StoryResult

_SHUTDOWN_S = 2.0
"""A story that is being told ends with the server."""


def main() -> None:
    """Serve until stopped."""
    default_port = Stack.named("demo").demo
    parser = argparse.ArgumentParser(prog="python -m local.demo", description=__doc__)
    parser.add_argument("--port", type=int, default=default_port, help="default: %(default)s")
    port: int = parser.parse_args().port
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    stack = _stack_at(port)

    async def tell_story(on_event: OnStoryEvent) -> StoryResult:
        return await tell(stack, on_event)

    config = DemoConfig(
        livekit_url=stack.livekit_url,
        api_key=stack.env["LIVEKIT_API_KEY"],
        api_secret=stack.env["LIVEKIT_API_SECRET"],
    )
    try:
        app = create_app(config, tell_story)
    except (OSError, ValueError) as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    web.run_app(app, host=HOST, port=port, shutdown_timeout=_SHUTDOWN_S, access_log=None)


def _stack_at(port: int) -> Stack:
    """The stack whose page is on `port`; the demo stack for any other port."""
    stacks = [Stack.named(name) for name in get_args(StackName)]
    return next((stack for stack in stacks if stack.demo == port), Stack.named("demo"))


if __name__ == "__main__":
    main()
