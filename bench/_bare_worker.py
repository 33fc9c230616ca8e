"""A bare AgentSession on the same providers and turn settings: what LiveKit alone does."""

from __future__ import annotations

import json

from google.protobuf.duration_pb2 import Duration
from livekit import api
from livekit.agents import Agent, AgentServer, AgentSession, JobContext, JobProcess, cli, room_io

from src.adapters.speech import SpeechModels
from src.bootstrap import build_speech
from src.settings import Settings

AGENT_NAME = "bare"
SETTINGS = Settings()


def prewarm(process: JobProcess) -> None:
    """Models as the product builds them."""
    process.userdata["speech"] = build_speech(SETTINGS)


server = AgentServer(
    setup_fnc=prewarm,
    load_fnc=lambda s: min(0.69, len(s.active_jobs) / 100),
    preload_modules=["preload"],
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
        stt=speech.listen(["en"]),
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
            "preemptive_generation": {"enabled": True, "preemptive_tts": True},
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
        room_options=room_io.RoomOptions(
            participant_identity="callee",
            audio_input=room_io.AudioInputOptions(frame_size_ms=20, pre_connect_audio=False),
        ),
        session_host=False,
        record=False,
    )
    await session.say(job["greeting"]).wait_for_playout()


if __name__ == "__main__":
    cli.run_app(server)
