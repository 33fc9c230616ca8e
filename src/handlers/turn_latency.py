"""How long a turn took, by stage."""

from __future__ import annotations

from collections.abc import Mapping

from livekit.agents import llm

_STAGES: Mapping[str, str] = {
    "transcription_delay": "transcript",
    "end_of_turn_delay": "end_of_turn",
    "on_user_turn_completed_delay": "hook",
    "llm_node_ttft": "llm",
    "tts_node_ttfb": "tts",
    "playback_latency": "playback",
    "e2e_latency": "reply",
}
"""LiveKit's name of a turn's latency, and ours."""


def stages_ms(message: llm.ChatMessage) -> dict[str, float]:
    """What LiveKit measured of a message, in milliseconds; empty for one that was not measured."""
    found = {ours: message.metrics.get(theirs) for theirs, ours in _STAGES.items()}
    return {
        name: round(value * 1000, 1)
        for name, value in found.items()
        if isinstance(value, int | float)
    }


def reply_ms(stages: Mapping[str, float]) -> float | None:
    """From the end of the question to the first sound of the answer; of a typed one, to its first word."""
    return stages.get("reply", stages.get("llm"))
