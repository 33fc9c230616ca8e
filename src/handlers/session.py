"""Opens the LiveKit session of a call: its models, its turns, its streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from livekit.agents import Agent, AgentSession, APIConnectOptions, room_io
from livekit.agents.voice.agent_session import SessionConnectOptions

from src.handlers.call import Call
from src.handlers.controls import offer_controls, set_mode, take_text
from src.handlers.session_events import SessionObserver
from src.schemas.agent_meta_schema import AgentMeta

_MAX_KEYTERMS = 100  # Deepgram's limit is 500 tokens of key terms per request
_CONNECT = SessionConnectOptions(
    # Somebody waits for every answer: one more try, soon, and then the next of the chain or an apology.
    llm_conn_options=APIConnectOptions(max_retry=1, retry_interval=0.3, timeout=8.0),
    tts_conn_options=APIConnectOptions(max_retry=1, retry_interval=0.3, timeout=5.0),
)


@dataclass(frozen=True)
class Modality:
    """Which streams a session opens."""

    text: bool = False
    """Typed messages are answered too, and the participant may switch between voice and text."""
    listening: bool = True
    """False keeps the caller's audio from the recogniser until `listen` (ringing is no speech)."""


PHONE = Modality()


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
        conn_options=_CONNECT,
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
