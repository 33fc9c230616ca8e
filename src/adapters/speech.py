"""Speech and language models of a call: the providers' plugins, built once per process.

Building them costs 0.1 to 0.3 s of imports and TLS contexts, so it happens before a call arrives.
"""

from __future__ import annotations

from dataclasses import dataclass

# The client and its event-loop backend import these at first use, which would block a running call.
import anyio._backends._asyncio  # noqa: F401
import openai.pagination
import openai.resources.chat  # noqa: F401
from livekit.agents import inference, llm, stt, tts, vad
from livekit.plugins import deepgram
from livekit.plugins import openai as openai_plugin

from src.schemas.calls import TurnPolicy


@dataclass(frozen=True)
class SpeechConfig:
    """Where the providers are, and which models are asked for."""

    deepgram_api_key: str
    deepgram_base_url: str
    openai_api_key: str
    openai_base_url: str
    stt_model: str
    tts_model: str
    llm_model: str


class SpeechModels:
    """The models of one job process; a process serves one call."""

    def __init__(self, config: SpeechConfig, turn: TurnPolicy) -> None:
        self._config = config
        self._turn = turn
        # The Silero model as LiveKit ships it. Its plugin runs the same model on onnxruntime, which
        # reports to its maker unless told not to.
        self._vad = inference.VAD(min_silence_duration=turn.vad_silence_s)
        self._stt = deepgram.STT(
            model=config.stt_model,
            base_url=f"{config.deepgram_base_url}/listen",
            api_key=config.deepgram_api_key,
        )
        self._tts = deepgram.TTS(
            model=config.tts_model,
            base_url=f"{config.deepgram_base_url}/speak",
            api_key=config.deepgram_api_key,
        )
        self._llm = self._language_model(config.llm_model)

    def listen(self, language: str) -> stt.STT:
        """The recogniser for a call in `language` (BCP 47)."""
        if language.split("-")[0] != "en":
            self._stt.update_options(language=language)
        return self._stt

    def speak(self, voice: str | None) -> tts.TTS:
        """The voice; None takes the configured one."""
        if voice is not None:
            self._tts.update_options(model=voice)
        return self._tts

    def think(self, model: str | None) -> llm.LLM:
        """The language model; None takes the configured one."""
        if model in (None, self._config.llm_model):
            return self._llm
        return self._language_model(str(model))

    def vad(self) -> vad.VAD:
        """Tells speech from silence."""
        return self._vad

    def turn_detector(self) -> inference.TurnDetector:
        """The on-device end-of-turn model; needs a running job."""
        if self._turn.threshold is None:
            return inference.TurnDetector(version="v1-mini")
        return inference.TurnDetector(version="v1-mini", unlikely_threshold=self._turn.threshold)

    def _language_model(self, model: str) -> llm.LLM:
        return openai_plugin.LLM(
            model=model, base_url=self._config.openai_base_url, api_key=self._config.openai_api_key
        )
