"""Words of regret, which are heard also when the voice itself is what failed."""

from __future__ import annotations

from livekit.agents import AgentSession, tts
from livekit.agents.voice import SpeechHandle

from src.handlers.call import Call
from src.schemas.agent_meta_schema import AgentMeta

APOLOGY = "I am sorry, something went wrong on our side. Please call again in a few minutes."
UNAVAILABLE = "I am sorry, nobody is available on this line right now. Please call again later."

_AFTER_GREETING_S = 4.0

VOICE_FAILED = "tts_error"
"""LiveKit's name of it, and so that of the degradation."""


async def say_sorry(
    call: Call, session: AgentSession, sentence: str, *, interruptible: bool = True
) -> SpeechHandle | None:
    """Say the sentence; from its sound on disk if the voice failed, and not at all without that."""
    if VOICE_FAILED not in call.degradations:
        return session.say(sentence, allow_interruptions=interruptible)
    frames = await call.services.spare.frames(
        name=call.services.speech.voice_name, sentence=sentence
    )
    if frames is None:
        return None
    return session.say(sentence, audio=frames, allow_interruptions=interruptible)


def keep_ready(call: Call, meta: AgentMeta) -> None:
    """Have what may have to be said without the voice on disk, once per voice and machine."""
    if call.session is not None and (voice := call.session.tts) is not None:
        _ = call.background.spawn(_keep_ready(call, meta, voice), name="spare-speech")


async def _keep_ready(call: Call, meta: AgentMeta, voice: tts.TTS) -> None:
    await call.services.sources.clock.sleep(_AFTER_GREETING_S)  # which it would hold up
    name = call.services.speech.voice_name
    for sentence in filter(None, (meta.apology, APOLOGY)):
        await call.services.spare.keep(voice, name=name, sentence=sentence)
