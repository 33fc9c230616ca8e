"""What the browser steers: typed messages, the mode, the language.

Only the participant that the session serves may steer it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress

from livekit import rtc
from livekit.agents import AgentSession, llm, room_io

from src.handlers.call import Call
from src.handlers.conversation import Conversation
from src.logs import get_logger
from src.schemas.memory import Mode

logger = get_logger(__name__)

SWITCH_MODE = "switch_mode"
"""RPC: `{"mode": "voice" | "text"}`; answers the mode and language that hold from now on."""
SET_LANGUAGE = "set_language"
"""RPC: `{"language": <BCP 47>}`; answers as `SWITCH_MODE` does."""
_REFUSED = 403
_BAD_REQUEST = 400
_UNINTERRUPTIBLE_S = 15.0


def set_mode(session: AgentSession, mode: Mode) -> None:
    """Let the agent speak and listen, or only read and write.

    Without voice nobody plays the agent's track, and waiting for a listener would hold back every
    reply.
    """
    session.output.set_audio_enabled(mode == "voice")
    session.input.set_audio_enabled(mode == "voice")


async def take_text(call: Call, session: AgentSession, event: room_io.TextInputEvent) -> None:
    """Answer a typed message, also one that comes while the agent must not be interrupted."""
    text = event.text.strip()
    if not text:
        return
    session.reset_away_timer()
    message = llm.ChatMessage(role="user", content=[text])
    await _silence(session)
    if call.conversation is not None:
        await call.conversation.typed(message)
    _ = session.generate_reply(user_input=message, input_modality="text")


async def _silence(session: AgentSession) -> None:
    """Stop the agent, or wait until it has said what must not be interrupted."""
    try:
        await session.interrupt()
    except RuntimeError:
        if (speech := session.current_speech) is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_UNINTERRUPTIBLE_S):
                    await speech.wait_for_playout()


def offer_controls(call: Call, session: AgentSession, conversation: Conversation) -> None:
    """Let the participant switch mode and language."""

    async def switch_mode(payload: dict[str, object]) -> None:
        mode = payload.get("mode")
        if mode not in ("voice", "text"):
            raise rtc.RpcError(_BAD_REQUEST, "mode is voice or text")
        if mode == conversation.mode:
            return
        if mode == "text":
            await _silence(session)  # the rest would be spoken to nobody
        set_mode(session, mode)
        await conversation.mode_switched(mode)

    async def set_language(payload: dict[str, object]) -> None:
        language = payload.get("language")
        if not isinstance(language, str) or not await conversation.choose_language(language):
            raise rtc.RpcError(_BAD_REQUEST, "the agent does not speak that language")

    local = call.ctx.room.local_participant
    for name, act in ((SWITCH_MODE, switch_mode), (SET_LANGUAGE, set_language)):
        local.register_rpc_method(name, _guarded(call, conversation, act))


def _guarded(
    call: Call,
    conversation: Conversation,
    act: Callable[[dict[str, object]], Awaitable[None]],
) -> Callable[[rtc.RpcInvocationData], Awaitable[str]]:
    async def serve(request: rtc.RpcInvocationData) -> str:
        if request.caller_identity != call.identity:
            raise rtc.RpcError(_REFUSED, "only the participant of this session may do that")
        try:
            payload = json.loads(request.payload or "{}")
        except ValueError:
            payload = None
        if not isinstance(payload, dict):
            raise rtc.RpcError(_BAD_REQUEST, "the payload is a JSON object")
        await act(payload)
        return json.dumps({"mode": conversation.mode, "language": call.language})

    return serve
