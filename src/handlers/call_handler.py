"""What every call shares: words, session, greeting, memory that comes late, handoff, apology."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from livekit.agents import Agent, llm

from src.handlers.call import Call
from src.handlers.language_tool import language_tool
from src.handlers.session import PHONE, start_session
from src.handlers.sorry import keep_ready, say_sorry
from src.handlers.thinker import Thinker
from src.handlers.voice_assistant import VoiceAssistant, handoff_tools
from src.logs import get_logger
from src.schemas.agent_meta_schema import AgentMeta
from src.schemas.errors import AgentNotFoundError
from src.services.caller_memory import CallerMemory, Recollection
from src.services.script import Scene, Script, write_script

logger = get_logger(__name__)

_TAGS = (
    "Tags such as [NAME] stand for details that were not kept. Never say them; ask if you need one."
)
_LAST_WORDS_S = 0.3  # what was played is still on its way to the phone
_ENTER_S = 5.0  # entering takes 2 to 5 ms; past this the greeting is spoken all the same


def script(call: Call, meta: AgentMeta, values: Mapping[str, str]) -> Script:
    """The agent's words for this call, as they stand now."""
    scene = Scene(
        now=call.services.sources.clock.now(),
        direction=call.direction,
        person=call.caller.number if call.caller else None,
        dialled=call.dialled,
        language=call.language,
        opening_note=call.opening_note,
    )
    return write_script(meta, values, scene)


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
        script(call, meta, values),
        mind=Thinker(call, meta, call.services.thinking),
        tools=[*handoff_tools(meta.handoff_agent_ids, hand_over), *language_tool(call, meta)],
        chat_ctx=chat_ctx,
        speaks_first=speaks_first,
    )


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
    if any(entry.phi_detected for entry in earlier):
        context.add_message(role="system", content=_TAGS, created_at=0.0)
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
    if missing := len(agent.script.missing) + agent.script.removed:
        logger.info("greeting variables missing", extra={"count": missing})
    if call.session is not None and agent.script.greeting:
        _ = call.session.say(agent.script.greeting)
    if call.conversation is None or call.conversation.mode == "voice":
        keep_ready(call, agent.meta)


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
    instructions = script(call, recollection.meta, recollection.values).instructions
    if instructions != agent.instructions:
        # In place, not by a new agent: a swap would drop what the caller is saying at this moment.
        await agent.update_instructions(instructions)
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
            said = await say_sorry(call, call.session, sentence, interruptible=False)
            if said is not None:
                await said.wait_for_playout()
            await call.services.sources.clock.sleep(_LAST_WORDS_S)
    except (TimeoutError, RuntimeError):
        logger.warning("the apology could not be spoken")
    await call.telephony.hang_up(call.room)
