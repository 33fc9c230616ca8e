"""OpenAI's `/v1/chat/completions`, streamed and not."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from pydantic import ValidationError

from local.providers.control import Control, Endpoint, Json, Step
from local.providers.conversation import ChatRequest, Function, NamedTool
from local.providers.engines import Engines
from local.providers.errors import bad_request
from local.providers.grounded_reply import Reply, reply_to
from local.providers.matching import Matcher

MODEL = "local-extractive"
_TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass
class Completion:
    """One answer on the wire."""

    reply: Reply
    usage: Json
    forced: bool
    """The request named the tool, after which the API says "stop"."""
    head: Json = field(
        default_factory=lambda: {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "created": int(time.time()),
            "model": MODEL,
        }
    )

    @property
    def finish_reason(self) -> str:
        """Why the answer ends."""
        return "tool_calls" if self.reply.tool and not self.forced else "stop"

    def whole(self) -> Json:
        """The answer in one piece."""
        message: Json = {"role": "assistant", "content": self.reply.text, "refusal": None}
        if self.reply.tool:
            message |= {
                "content": None,
                "tool_calls": [self._call(self.reply.tool, self.reply.arguments)],
            }
        choice = {"index": 0, "message": message, "finish_reason": self.finish_reason}
        shape = {"object": "chat.completion", "choices": [choice | {"logprobs": None}]}
        return self.head | shape | {"usage": self.usage}

    def pieces(self, *, with_usage: bool) -> Iterator[str]:
        """The events of a stream."""
        for delta in self._deltas():
            yield self._event(delta)
        yield self._event({}, self.finish_reason)
        if with_usage:
            chunk = self.head | {"object": "chat.completion.chunk", "choices": []}
            yield json.dumps(chunk | {"usage": self.usage})
        yield "[DONE]"

    def _deltas(self) -> Iterator[Json]:
        if not self.reply.tool:
            yield {"role": "assistant", "content": ""}
            for word in re.findall(r"\s*\S+|\s+$", self.reply.text):
                yield {"content": word}
            return
        opened = self._call(self.reply.tool, "") | {"index": 0}
        yield {"role": "assistant", "content": None, "tool_calls": [opened]}
        for part in re.findall(r".{1,16}", self.reply.arguments, re.DOTALL):
            yield {"tool_calls": [{"index": 0, "function": {"arguments": part}}]}

    def _event(self, delta: Json, finish_reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        return json.dumps(self.head | {"object": "chat.completion.chunk", "choices": [choice]})

    def _call(self, tool: Function, arguments: str) -> Json:
        function = {"name": tool.name, "arguments": arguments}
        call_id = self.head["id"].replace("chatcmpl-", "call_")
        return {"id": call_id, "type": "function", "function": function}


@dataclass
class Chat:
    """The endpoint."""

    engines: Engines
    control: Control
    matcher: Matcher

    async def complete(self, request: web.Request) -> web.StreamResponse:
        """Answer a conversation from what the request holds, or as scripted."""
        body = await request.read()
        wanted = _parsed(body)
        raw = json.loads(body)
        entry = self.control.note(
            Endpoint.CHAT,
            messages=raw["messages"],
            tools=raw.get("tools") or [],
            tool_choice=raw.get("tool_choice"),
            response_format=raw.get("response_format"),
            model=raw.get("model"),
        )
        step = await self.control.play(Endpoint.CHAT, json.dumps(raw, ensure_ascii=False))
        reply = _scripted(step)
        if reply is None:
            reply = await self.engines.think(reply_to, wanted, self.matcher)
        entry["reply"] = reply.text
        entry["called"] = reply.tool.name if reply.tool else None
        completion = Completion(
            reply, _usage(wanted, reply), forced=isinstance(wanted.tool_choice, NamedTool)
        )
        if not wanted.stream:
            return web.json_response(completion.whole())
        options = wanted.stream_options
        return await _streamed(
            request, completion, with_usage=bool(options and options.include_usage)
        )


async def _streamed(
    request: web.Request, completion: Completion, *, with_usage: bool
) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    with suppress(ConnectionError):  # an interrupted agent drops the stream
        for piece in completion.pieces(with_usage=with_usage):
            await response.write(f"data: {piece}\n\n".encode())
        await response.write_eof()
    return response


def _parsed(body: bytes) -> ChatRequest:
    try:
        request = ChatRequest.model_validate_json(body)
    except ValidationError as error:
        raise bad_request(str(error)) from error
    if not request.tools and request.tool_choice == "required":
        raise bad_request("tool_choice is only allowed when tools are specified")
    if isinstance(request.tool_choice, NamedTool):
        wanted = request.tool_choice.function.name
        if wanted not in {tool.function.name for tool in request.tools}:
            raise bad_request(f"tool_choice names {wanted}, which is not among the tools")
    return request


def _scripted(step: Step) -> Reply | None:
    if step.tool:
        return Reply(tool=Function(name=step.tool.name), arguments=json.dumps(step.tool.arguments))
    return None if step.reply is None else Reply(step.reply)


def _usage(request: ChatRequest, reply: Reply) -> Json:
    """Counts of words and marks: near a tokeniser's, and free."""
    asked = sum(len(_TOKEN.findall(message.text)) for message in request.messages)
    answered = len(_TOKEN.findall(reply.text or reply.arguments))
    details: dict[str, Any] = {"prompt_tokens_details": {"cached_tokens": 0}}
    return {
        "prompt_tokens": asked,
        "completion_tokens": answered,
        "total_tokens": asked + answered,
    } | details
