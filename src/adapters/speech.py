"""Speech and language models of a call: the providers' plugins, built once per process.

Building them costs 0.1 to 0.3 s of imports and TLS contexts, so it happens before a call arrives.

A model is named `model` or `provider/model`; without a provider it is the first one of its kind:

| kind | providers                      |
| ---- | ------------------------------ |
| STT  | deepgram, openai, fallback     |
| LLM  | openai, fallback               |
| TTS  | deepgram, openai, fallback     |

`fallback` is another server of OpenAI's shape. The models of a chain take over in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

# The client and its event-loop backend import these at first use, which would block a running call.
import anyio._backends._asyncio  # noqa: F401
import openai.pagination
import openai.resources.chat  # noqa: F401
from livekit.agents import inference, llm, stt, tts, vad
from livekit.plugins import deepgram
from livekit.plugins import openai as openai_plugin

from src.logs import get_logger
from src.schemas.calls import TurnPolicy

logger = get_logger(__name__)

Model = TypeVar("Model")

SEVERAL_LANGUAGES = "multi"
"""Deepgram's language code that recognises whichever of its languages is spoken."""
_ATTEMPT_S = 3.0  # for one model of a chain to answer
_RETRY_S = 0.3


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
    fallback_api_key: str = ""
    fallback_base_url: str = ""


class SpeechModels:
    """The models of one job process; a process serves one call."""

    def __init__(self, config: SpeechConfig, turn: TurnPolicy) -> None:
        self._config = config
        self._turn = turn
        # The Silero model as LiveKit ships it. Its plugin runs the same model on onnxruntime, which
        # reports to its maker unless told not to.
        self._vad = inference.VAD(min_silence_duration=turn.vad_silence_s)
        self._stt = self._deepgram_stt(config.stt_model)
        self._tts = self._deepgram_tts(config.tts_model)
        self._voice = config.tts_model
        self._llm = self._openai_llm(config.llm_model)

    def listen(
        self,
        languages: Sequence[str],
        *,
        fallbacks: Sequence[str] = (),
        keyterms: Sequence[str] = (),
    ) -> stt.STT:
        """The recogniser for these languages (BCP 47), one or several."""
        language = languages[0] if len(languages) == 1 else SEVERAL_LANGUAGES
        if language.split("-")[0] != "en":
            self._stt.update_options(language=language)
        if keyterms:
            self._stt.update_options(keyterm=list(keyterms))
        makers = {"deepgram": self._deepgram_stt, **self._shaped(self._openai_stt)}
        return _chain(
            self._stt,
            _made(fallbacks, makers, "deepgram"),
            lambda models: stt.FallbackAdapter(
                models,
                vad=self._vad,
                attempt_timeout=_ATTEMPT_S,
                max_retry_per_stt=0,
                retry_interval=_RETRY_S,
            ),
        )

    def speak(self, voice: str | None, *, fallbacks: Sequence[str] = ()) -> tts.TTS:
        """The voice; None takes the configured one."""
        self.change_voice(voice)
        makers = {"deepgram": self._deepgram_tts, **self._shaped(self._openai_tts)}
        return _chain(
            self._tts,
            _made(fallbacks, makers, "deepgram"),
            lambda models: tts.FallbackAdapter(models, max_retry_per_tts=0),
        )

    def change_voice(self, voice: str | None) -> None:
        """Speak with another voice from the next reply on; None takes the configured one."""
        wanted = voice or self._config.tts_model
        if wanted != self._voice:
            self._tts.update_options(model=wanted)
            self._voice = wanted

    @property
    def voice_name(self) -> str:
        """The voice that speaks now."""
        return self._voice

    def think(self, model: str | None, *, fallbacks: Sequence[str] = ()) -> llm.LLM:
        """The language model; None takes the configured one."""
        makers = self._shaped(self._openai_llm)
        own = None if model == self._config.llm_model else model
        return _chain(
            next(iter(_made([own], makers, "openai")), self._llm) if own else self._llm,
            _made(fallbacks, makers, "openai"),
            lambda models: llm.FallbackAdapter(
                models, attempt_timeout=_ATTEMPT_S, retry_interval=_RETRY_S
            ),
        )

    def vad(self) -> vad.VAD:
        """Tells speech from silence."""
        return self._vad

    def turn_detector(self) -> inference.TurnDetector:
        """The on-device end-of-turn model; needs a running job."""
        if self._turn.threshold is None:
            return inference.TurnDetector(version="v1-mini")
        return inference.TurnDetector(version="v1-mini", unlikely_threshold=self._turn.threshold)

    def _shaped(
        self, make: Callable[[str, SpeechConfig], Model]
    ) -> Mapping[str, Callable[[str], Model]]:
        """Both servers of OpenAI's shape."""
        other = replace(
            self._config,
            openai_api_key=self._config.fallback_api_key or "none",
            openai_base_url=self._config.fallback_base_url or self._config.openai_base_url,
        )
        return {
            "openai": lambda name: make(name, self._config),
            "fallback": lambda name: make(name, other),
        }

    def _deepgram_stt(self, model: str) -> deepgram.STT:
        return deepgram.STT(
            model=model,
            base_url=f"{self._config.deepgram_base_url}/listen",
            api_key=self._config.deepgram_api_key,
        )

    def _deepgram_tts(self, model: str) -> deepgram.TTS:
        return deepgram.TTS(
            model=model,
            base_url=f"{self._config.deepgram_base_url}/speak",
            api_key=self._config.deepgram_api_key,
        )

    def _openai_llm(self, model: str, config: SpeechConfig | None = None) -> llm.LLM:
        where = config or self._config
        return openai_plugin.LLM(
            model=model, base_url=where.openai_base_url, api_key=where.openai_api_key
        )

    def _openai_stt(self, model: str, config: SpeechConfig) -> stt.STT:
        return openai_plugin.STT(
            model=model, base_url=config.openai_base_url, api_key=config.openai_api_key
        )

    def _openai_tts(self, model: str, config: SpeechConfig) -> tts.TTS:
        name, _, voice = model.partition(":")
        return openai_plugin.TTS(
            model=name,
            voice=voice or "alloy",
            response_format="pcm",
            base_url=config.openai_base_url,
            api_key=config.openai_api_key,
        )


def _chain(first: Model, rest: list[Model], adapter: Callable[[list[Model]], Model]) -> Model:
    return adapter([first, *rest]) if rest else first


def _made(
    names: Sequence[str], makers: Mapping[str, Callable[[str], Model]], otherwise: str
) -> list[Model]:
    """The models that the names stand for; a name of an unknown provider is passed over."""
    found = []
    for name in names:
        provider, slash, model = name.partition("/")
        if slash and provider not in makers:
            logger.error("unknown model provider passed over", extra={"provider": provider})
            continue
        found.append(makers[provider](model) if slash else makers[otherwise](name))
    return found
