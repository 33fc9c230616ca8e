"""The agent a caller talks to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from typing import Protocol

from livekit import rtc
from livekit.agents import Agent, FlushSentinel, ModelSettings, RunContext, function_tool, llm
from typing_extensions import override

from src.logs import get_logger
from src.schemas.agent_meta_schema import AgentMeta
from src.schemas.errors import AgentNotFoundError
from src.services.script import Script
from src.services.speech_gate import SpeechGate

logger = get_logger(__name__)

Handoff = Callable[[str, llm.ChatContext], Awaitable[Agent]]
"""Builds the agent (by id) that takes over a conversation."""


class Mind(Protocol):
    """What an agent thinks and remembers with."""

    async def prepared(self, context: llm.ChatContext) -> llm.ChatContext:
        """The context for a reply; never raises."""

    async def spoken(self, context: llm.ChatContext, message: llm.ChatMessage) -> None:
        """A spoken turn is over; `context` is that of its reply. Never raises."""


class VoiceAssistant(Agent):
    """One agent of one call; nothing with braces leaves it."""

    def __init__(
        self,
        meta: AgentMeta,
        script: Script,
        *,
        mind: Mind,
        tools: Sequence[llm.Tool] = (),
        chat_ctx: llm.ChatContext | None = None,
        speaks_first: bool = False,
    ) -> None:
        """With `speaks_first` the greeting is said on entering: for handoffs only.

        At the start of a call the greeting waits for the answer, which `on_enter` does not.
        """
        super().__init__(
            instructions=script.instructions,
            chat_ctx=chat_ctx,
            tools=[*tools],
        )
        self.meta = meta
        self.mind = mind
        self.script = script
        self.entered = asyncio.Event()
        """Set once this agent hears the caller; speaking earlier loses a barge-in."""
        self.removed_placeholders = 0
        self._speaks_first = speaks_first

    @override
    async def on_enter(self) -> None:
        self.entered.set()
        if self._speaks_first and self.script.greeting:
            _ = self.session.say(self.script.greeting)

    @override
    async def on_user_turn_completed(
        self, turn_ctx: llm.ChatContext, new_message: llm.ChatMessage
    ) -> None:
        await self.mind.spoken(turn_ctx, new_message)

    @override
    async def llm_node(
        self,
        chat_ctx: llm.ChatContext,
        tools: list[llm.Tool],
        model_settings: ModelSettings,
    ) -> AsyncIterable[llm.ChatChunk | str | FlushSentinel]:
        context = await self.mind.prepared(chat_ctx)
        async for chunk in Agent.default.llm_node(self, context, tools, model_settings):
            yield chunk

    @override
    async def tts_node(
        self, text: AsyncIterable[str], model_settings: ModelSettings
    ) -> AsyncIterable[rtc.AudioFrame]:
        gated = self._gated(text, counted=True)
        async for frame in Agent.default.tts_node(self, gated, model_settings):
            yield frame

    @override
    async def transcription_node(
        self, text: AsyncIterable[str], model_settings: ModelSettings
    ) -> AsyncIterable[str]:
        async for chunk in self._gated(text, counted=False):
            yield chunk

    async def _gated(self, text: AsyncIterable[str], *, counted: bool) -> AsyncIterable[str]:
        gate = SpeechGate()
        async for chunk in text:
            if passed := gate.feed(chunk):
                yield passed
        if rest := gate.flush():
            yield rest
        if counted and gate.removed:
            self.removed_placeholders += gate.removed
            logger.warning("placeholder kept from being spoken", extra={"count": gate.removed})


def handoff_tools(agent_ids: Sequence[str], handoff: Handoff) -> list[llm.Tool]:
    """One tool per agent that the caller may be handed to."""
    return [_handoff_tool(agent_id, handoff) for agent_id in agent_ids]


def _handoff_tool(agent_id: str, handoff: Handoff) -> llm.Tool:
    async def transfer(context: RunContext) -> Agent:
        history = context.session.current_agent.chat_ctx
        try:
            return await handoff(agent_id, history)
        except AgentNotFoundError as error:
            raise llm.ToolError(
                "That colleague is not available. Offer to help yourself."
            ) from error

    name = "".join(c if c.isalnum() else "_" for c in agent_id)
    return function_tool(
        transfer,
        name=f"transfer_to_{name}",
        description=f"Hand the caller over to {agent_id.replace('-', ' ')}, when they ask for it.",
    )
