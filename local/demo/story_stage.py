"""Shows the story of a remembered caller to one viewer at a time, as it happens."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aiohttp import web

from local.story_events import Recording, StoryEvent, StoryResult, TellStory

_HEARTBEAT_S = 5.0
"""How long a silent story takes to notice that its viewer has left."""
_HEARTBEAT = ": still telling\n\n"

logger = logging.getLogger(__name__)


class StoryStage:
    """Tells the story while somebody watches, and keeps the recordings of the last one."""

    def __init__(self, tell: TellStory) -> None:
        self._tell = tell
        self._is_telling = False
        self._recordings: Mapping[str, Path] = {}

    async def watch(self, request: web.Request) -> web.StreamResponse:
        """Tell the story as Server-Sent Events: a message per event, then `result` or `failure`.

        A viewer who leaves ends the story.

        Raises:
            aiohttp.web.HTTPConflict: it is being told already.
        """
        if self._is_telling:
            raise web.HTTPConflict(text="The story is being told already.")
        self._is_telling = True
        try:
            response = web.StreamResponse(
                headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
            )
            await response.prepare(request)
            await self._relay(response)
            return response
        finally:
            self._is_telling = False

    async def recording(self, request: web.Request) -> web.StreamResponse:
        """A recording of the last story, by name; a name it does not know is never a path.

        Raises:
            aiohttp.web.HTTPNotFound: the last story has no such recording.
        """
        path = self._recordings.get(request.match_info["name"])
        if path is None:
            raise web.HTTPNotFound(text="No such recording.")
        return web.FileResponse(
            path, headers={"Content-Type": "audio/wav", "Cache-Control": "no-store"}
        )

    async def _relay(self, response: web.StreamResponse) -> None:
        frames: asyncio.Queue[str | None] = asyncio.Queue()
        async with asyncio.TaskGroup() as tasks:
            telling = tasks.create_task(self._told(frames), name="story")
            try:
                while (frame := await _next(frames)) is not None:
                    await response.write(frame.encode())
            except ConnectionResetError:
                logger.info("the story's viewer has left")
                telling.cancel()

    async def _told(self, frames: asyncio.Queue[str | None]) -> None:
        def show(event: StoryEvent) -> None:
            frames.put_nowait(f"data: {event.to_json()}\n\n")

        try:
            result = await self._tell(show)
        except Exception as error:
            logger.exception("the story broke off")
            message = f"The story broke off: {type(error).__name__}. The server's log says more."
            frames.put_nowait(_frame("failure", {"message": message}))
        else:
            self._recordings = {item.path.name: item.path for item in result.recordings}
            frames.put_nowait(_frame("result", _shown(result)))
        finally:
            frames.put_nowait(None)


async def _next(frames: asyncio.Queue[str | None]) -> str | None:
    try:
        async with asyncio.timeout(_HEARTBEAT_S):
            return await frames.get()
    except TimeoutError:
        return _HEARTBEAT


def _frame(event: str, data: Mapping[str, Any]) -> str:
    return f"event: {event}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def _shown(result: StoryResult) -> dict[str, Any]:
    return {
        "line": result.line,
        "held": result.held,
        "expected": result.expected,
        "recordings": [_link(recording) for recording in result.recordings],
    }


def _link(recording: Recording) -> dict[str, Any]:
    return {
        "url": f"recordings/{recording.path.name}",
        "title": recording.title,
        "call": recording.call,
    }
