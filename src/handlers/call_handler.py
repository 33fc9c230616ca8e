"""What every call shares: words, session, greeting, memory that comes late, handoff, apology."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from livekit.agents import Agent, AgentSession, llm, room_io

from src.handlers.call import Call
from src.handlers.controls import offer_controls, set_mode, take_text
from src.handlers.language_tool import language_tool
from src.handlers.session_events import SessionObserver
from src.handlers.thinker import Thinker
from src.handlers.voice_assistant import Script, VoiceAssistant, handoff_tools
from src.logs import get_logger
from src.schemas.agent_meta_schema import AgentMeta
from src.schemas.contact import CallDirection
from src.schemas.errors import AgentNotFoundError
from src.services.caller_memory import CallerMemory, Recollection
from src.services.rendering import render, system_values
from src.services.speech_gate import gate

logger = get_logger(__name__)

APOLOGY = "I am sorry, something went wrong on our side. Please call again in a few minutes."
UNAVAILABLE = "I am sorry, nobody is available on this line right now. Please call again later."
_LAST_WORDS_S = 0.3  # what was played is still on its way to the phone
_MAX_KEYTERMS = 100  # Deepgram's limit is 500 tokens of key terms per request
_ENTER_S = 5.0  # entering takes 2 to 5 ms; past this the greeting is spoken all the same


@dataclass(frozen=True)
class Modality:
    """Which streams a session opens."""

    text: bool = False
    """Typed messages are answered too, and the participant may switch between voice and text."""
    listening: bool = True
    """False keeps the caller's audio from the recogniser until `listen` (ringing is no speech)."""


PHONE = Modality()


def write_script(call: Call, meta: AgentMeta, values: Mapping[str, str]) -> Script:
    """The agent's words for this call; the knowledge base goes in as it stands."""
    number = call.caller.number if call.caller else None
    callers = call.dialled if call.direction is CallDirection.OUTBOUND else (number and number.e164)
    dialled = (number and number.e164) if call.direction is CallDirection.OUTBOUND else call.dialled
    system = system_values(
        now=call.services.sources.clock.now(),
        zone=meta.zone,
        caller_number=callers or "",
        called_number=dialled or "",
        call_direction=call.direction.value,
        agent_name=meta.name,
    )
    defaults = meta.variable_defaults
    prompt = render(meta.prompt, values, defaults=defaults, system=system, keep_foreign=True)
    spoken = render(
        meta.greeting_for(call.language),
        values,
        defaults=defaults,
        system=system,
        keep_foreign=False,
    )
    greeting, removed = gate(spoken.text)
    parts = [part for part in (prompt.text, meta.Context, call.opening_note) if part]
    return Script(
        instructions="\n\n".join(parts),
        greeting=greeting.strip(),
        missing=len(spoken.missing) + removed,
    )


def build_agent(
    call: Call,
    meta: AgentMeta,
    values: Mapping[str, str],
    *,
    chat_ctx: llm.ChatContext | None = None,
    speaks_first: bool = False,
) -> VoiceAssistant:
    """The assistant for `meta` with these values."""

    async def hand_over(agent_id: str, history: llm.ChatContext) -> Agent:
        return await hand_off(call, meta, agent_id, history)

    return VoiceAssistant(
        meta,
        write_script(call, meta, values),
        mind=Thinker(call, meta, call.services.thinking),
        tools=[*handoff_tools(meta.handoff_agent_ids, hand_over), *language_tool(call, meta)],
        chat_ctx=chat_ctx,
        speaks_first=speaks_first,
    )


async def start_session(
    call: Call, agent: Agent, meta: AgentMeta | None, modality: Modality, identity: str | None
) -> AgentSession:
    """Open the session in the room; publishing its track answers an inbound call."""
    turn = call.services.turn
    session: AgentSession = AgentSession(
        **_models(call, meta),
        turn_handling={
            # Named in full: the defaults reach for cloud services in development mode.
            "turn_detection": call.services.speech.turn_detector(),
            "endpointing": {"min_delay": turn.endpoint_min_s, "max_delay": turn.endpoint_max_s},
            "interruption": {"mode": "vad"},
            # The voice starts with the preempted reply, so that the end of the turn only releases it.
            "preemptive_generation": {"enabled": True, "preemptive_tts": True},
        },
        aec_warmup_duration=None,  # it would deafen the agent for the first 3 s of its greeting
        session_close_transcript_timeout=0.5,
    )
    SessionObserver(call, session)
    call.session = session
    if modality.text and call.conversation is not None:
        set_mode(session, call.conversation.mode)
        offer_controls(call, session, call.conversation)
    if not modality.listening:
        session.input.set_audio_enabled(False)
    await session.start(
        agent,
        room=call.ctx.room,
        room_options=_room_options(call, modality, identity),
        session_host=False,  # it would hand prompt and history to any participant who asks
        record=False,
    )
    return session


def _models(call: Call, meta: AgentMeta | None) -> dict[str, Any]:
    """Recogniser, language model and voice of an agent, each with those that take over from it."""
    speech, keyterms = call.services.speech, call.services.thinking.keyterms
    if meta is None:
        chosen = (speech.listen([call.language]), speech.think(None), speech.speak(None))
    else:
        chosen = (
            speech.listen(
                meta.all_languages,
                fallbacks=meta.stt_fallbacks,
                keyterms=(*meta.keyterms, *keyterms)[:_MAX_KEYTERMS],
            ),
            speech.think(meta.llm_model, fallbacks=meta.llm_fallbacks),
            speech.speak(meta.voice_for(call.language), fallbacks=meta.tts_fallbacks),
        )
    stt, llm_, tts = chosen
    return {"stt": stt, "llm": llm_, "tts": tts, "vad": speech.vad()}


def _room_options(call: Call, modality: Modality, identity: str | None) -> room_io.RoomOptions:
    async def typed(session: AgentSession, event: room_io.TextInputEvent) -> None:
        await take_text(call, session, event)

    options = room_io.RoomOptions(
        text_input=room_io.TextInputOptions(text_input_cb=typed) if modality.text else False,
        audio_input=room_io.AudioInputOptions(frame_size_ms=20, pre_connect_audio=False),
    )
    if identity is not None:
        options.participant_identity = identity
    return options


async def rebuild(call: Call, agent: VoiceAssistant) -> None:
    """Put `agent` in place of the live session's agent and wait until it hears the caller.

    `say` right after `update_agent` would still go to the old agent, which takes no new turns: what
    the caller says into the greeting would be lost without a trace.
    """
    session = call.session
    if session is None:
        raise RuntimeError("there is no session to rebuild")
    session.update_agent(agent)
    try:
        async with asyncio.timeout(_ENTER_S):
            await agent.entered.wait()
    except TimeoutError:
        call.degrade("rebuild_slow")


def so_far(call: Call) -> llm.ChatContext | None:
    """What was said in this conversation before this job, as after a refresh of the page; else None."""
    earlier = call.conversation.earlier if call.conversation else ()
    if not earlier:
        return None
    context = llm.ChatContext.empty()
    for entry in earlier:
        context.add_message(
            role=entry.role,
            content=entry.content,
            id=entry.id,
            interrupted=entry.interrupted,
            created_at=entry.timestamp.timestamp() if entry.timestamp else 0.0,
        )
    return context


def greet(call: Call, agent: VoiceAssistant) -> None:
    """Speak the greeting: once per conversation, and only when somebody listens."""
    if call.conversation is not None and call.conversation.earlier:
        logger.info("conversation resumed", extra={"messages": len(call.conversation.earlier)})
        return
    if agent.script.missing:
        logger.info("greeting variables missing", extra={"count": agent.script.missing})
    if call.session is not None and agent.script.greeting:
        _ = call.session.say(agent.script.greeting)


def remember(call: Call, recollection: Recollection) -> Recollection:
    """Note on the call what memory gave it."""
    call.recollection = recollection
    call.degrade(*recollection.degradations)
    return recollection


def join_late_memory(call: Call, memory: CallerMemory) -> None:
    """Let lookups that missed their deadline still reach the agent before a later turn."""
    if not memory.complete:
        _ = call.background.spawn(_join_late_memory(call, memory), name="late-memory")


async def _join_late_memory(call: Call, memory: CallerMemory) -> None:
    recollection = await memory.within(call.services.policy.late_memory_s)
    memory.stop()
    call.recollection = recollection
    agent = call.session.current_agent if call.session else None
    if not isinstance(agent, VoiceAssistant) or agent.meta.agent_id != recollection.meta.agent_id:
        return  # handed to another agent meanwhile: this memory was not looked up for it
    script = write_script(call, recollection.meta, recollection.values)
    if script.instructions != agent.instructions:
        # In place, not by a new agent: a swap would drop what the caller is saying at this moment.
        await agent.update_instructions(script.instructions)
        logger.info("late memory joined the call")


async def hand_off(
    call: Call, current: AgentMeta, agent_id: str, history: llm.ChatContext
) -> VoiceAssistant:
    """The agent that takes over, with its own memory features applied for this caller.

    It gets the conversation so far, but neither the instructions nor the remembered values of the
    agent before it: those were looked up under the other agent's settings.

    Raises:
        AgentNotFoundError: there is no such agent of the same owner.
    """
    found = await call.services.directory.by_id(agent_id)
    if found.meta.owner_id != current.owner_id:
        raise AgentNotFoundError("the agent belongs to another owner")
    memory = call.recall(found.meta)
    recollection = await memory.within(call.services.policy.ringing_memory_deadline_s)
    memory.stop()
    call.degrade(*recollection.degradations)
    if call.conversation is not None:
        call.conversation.handed_to(recollection.meta)
    call.handoff_receipts.append(recollection.receipt)
    return build_agent(
        call,
        recollection.meta,
        recollection.values,
        chat_ctx=history.copy(exclude_instructions=True, exclude_function_call=True),
        speaks_first=True,
    )


async def apologise(call: Call, sentence: str) -> None:
    """Say why the call ends, then end it: a caller is never left in silence."""
    policy = call.services.policy
    try:
        async with asyncio.timeout(policy.apology_s):
            if call.session is None:
                call.session = await start_session(
                    call, Agent(instructions=""), None, PHONE, identity=None
                )
            _ = call.session.interrupt(force=True)
            await call.session.say(sentence, allow_interruptions=False).wait_for_playout()
            await call.services.sources.clock.sleep(_LAST_WORDS_S)
    except (TimeoutError, RuntimeError):
        logger.warning("the apology could not be spoken")
    await call.telephony.hang_up(call.room)
