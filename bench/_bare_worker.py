"""A bare AgentSession on the same providers and turn settings: what LiveKit alone does."""

from __future__ import annotations

import json

from google.protobuf.duration_pb2 import Duration
from livekit import api
from livekit.agents import Agent, AgentServer, AgentSession, JobContext, JobProcess, cli, room_io

from src.adapters.speech import SpeechConfig, SpeechModels
from src.schemas.calls import TurnPolicy
from src.settings import Settings

AGENT_NAME = "bare"
SETTINGS = Settings()


def prewarm(process: JobProcess) -> None:
    """Models as the product builds them."""
    turn = TurnPolicy(
        vad_silence_s=SETTINGS.vad_silence_s,
        threshold=SETTINGS.turn_threshold,
        endpoint_min_s=SETTINGS.endpoint_min_s,
        endpoint_max_s=SETTINGS.endpoint_max_s,
    )
    config = SpeechConfig(
        deepgram_api_key=SETTINGS.deepgram_api_key.get_secret_value(),
        deepgram_base_url=SETTINGS.deepgram_base_url,
        openai_api_key=SETTINGS.openai_api_key.get_secret_value(),
        openai_base_url=SETTINGS.openai_base_url,
        stt_model=SETTINGS.stt_model,
        tts_model=SETTINGS.tts_model,
        llm_model=SETTINGS.llm_model,
    )
    process.userdata["speech"] = SpeechModels(config, turn)


server = AgentServer(
    setup_fnc=prewarm,
    load_fnc=lambda s: min(0.69, len(s.active_jobs) / 100),
    preload_modules=["src.adapters.speech", "openai.resources.chat.completions.completions"],
    initialize_process_timeout=60,
    num_idle_processes=1,
    host="127.0.0.1",
    port=0,
)


@server.rtc_session(agent_name=AGENT_NAME)
async def entrypoint(ctx: JobContext) -> None:
    """Dial, start, greet."""
    job = json.loads(ctx.job.metadata)
    speech: SpeechModels = ctx.proc.userdata["speech"]
    await ctx.connect()
    session: AgentSession = AgentSession(
        stt=speech.listen("en"),
        llm=speech.think(None),
        tts=speech.speak(None),
        vad=speech.vad(),
        turn_handling={
            "turn_detection": speech.turn_detector(),
            "endpointing": {
                "min_delay": SETTINGS.endpoint_min_s,
                "max_delay": SETTINGS.endpoint_max_s,
            },
            "interruption": {"mode": "vad"},
        },
        aec_warmup_duration=None,
    )
    await ctx.api.sip.create_sip_participant(
        api.CreateSIPParticipantRequest(
            sip_trunk_id=job["trunk"],
            sip_call_to=job["phone"],
            room_name=ctx.room.name,
            participant_identity="callee",
            wait_until_answered=True,
            ringing_timeout=Duration(seconds=20),
        )
    )
    await session.start(
        Agent(instructions=job["instructions"]),
        room=ctx.room,
        room_options=room_io.RoomOptions(participant_identity="callee"),
        session_host=False,
        record=False,
    )
    await session.say(job["greeting"]).wait_for_playout()


if __name__ == "__main__":
    cli.run_app(server)
