"""The only reader of the environment."""

from __future__ import annotations

from pathlib import Path

from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Every setting, with defaults that fit a machine where all services run beside the worker.

    Names of the providers' and stores' own conventions (`OPENAI_API_KEY`, `MONGODB_URI`) are kept;
    the product's own begin with `FAMILIAR_`. In the worker, the LiveKit SDK reads its own.
    """

    model_config = SettingsConfigDict(
        frozen=True, env_file=".env", env_ignore_empty=True, extra="ignore"
    )

    mongodb_uri: str = "mongodb://127.0.0.1:27017"
    mongodb_database: str = "familiar"
    redis_url: str = "redis://127.0.0.1:6379/0"
    database_url: str = "postgresql://familiar@127.0.0.1:5432/familiar"

    deepgram_api_key: SecretStr = SecretStr("")
    deepgram_base_url: str = "https://api.deepgram.com/v1"
    openai_api_key: SecretStr = SecretStr("")
    openai_base_url: str = "https://api.openai.com/v1"
    fallback_api_key: SecretStr = Field(
        default=SecretStr(""), validation_alias="FAMILIAR_FALLBACK_API_KEY"
    )
    fallback_base_url: str = Field(default="", validation_alias="FAMILIAR_FALLBACK_BASE_URL")
    """Another server of OpenAI's shape, for models named `fallback/…`."""
    embedding_model: str = Field(
        default="text-embedding-3-small", validation_alias="FAMILIAR_EMBEDDING_MODEL"
    )
    stt_model: str = Field(default="nova-3", validation_alias="FAMILIAR_STT_MODEL")
    tts_model: str = Field(default="aura-2-andromeda-en", validation_alias="FAMILIAR_TTS_MODEL")
    llm_model: str = Field(default="gpt-4.1-mini", validation_alias="FAMILIAR_LLM_MODEL")

    livekit_url: str = "ws://127.0.0.1:7880"
    livekit_api_key: SecretStr = SecretStr("")
    livekit_api_secret: SecretStr = SecretStr("")
    livekit_public_url: str = Field(default="", validation_alias="FAMILIAR_LIVEKIT_PUBLIC_URL")
    """The LiveKit server as browsers reach it, where that differs from `livekit_url`."""

    sip_trunk_id: str = Field(
        default="",
        validation_alias=AliasChoices("FAMILIAR_SIP_TRUNK_ID", "LIVEKIT_SIP_OUTBOUND_TRUNK"),
    )
    """The LiveKit outbound trunk that calls are placed through."""
    default_region: str | None = Field(default=None, validation_alias="FAMILIAR_DEFAULT_REGION")
    """ISO 3166 region in which national phone numbers are read."""

    data_dir: Path = Field(
        default=Path("data"),
        validation_alias=AliasChoices("VOICEASSIST_DATA_DIR", "FAMILIAR_DATA_DIR"),
    )
    """Lexicons, and journals of what could not be stored at once."""
    log_pii: bool = Field(default=False, validation_alias="FAMILIAR_LOG_PII")
    """Keep callers' words, numbers and names in the logs; for a developer's own machine only."""

    worker_port: int = Field(default=8081, validation_alias="FAMILIAR_WORKER_PORT")
    worker_host: str = Field(default="127.0.0.1", validation_alias="FAMILIAR_WORKER_HOST")
    metrics_port: int | None = Field(default=None, validation_alias="FAMILIAR_METRICS_PORT")
    """Where the worker shows Prometheus metrics; None shows none."""
    max_calls: int = Field(default=4, ge=1, validation_alias="FAMILIAR_MAX_CALLS")
    """Calls from which on this worker counts as full: others are preferred, but no call is refused."""
    idle_processes: int = Field(default=2, ge=0, validation_alias="FAMILIAR_IDLE_PROCESSES")
    """Job processes kept warm; bursts beyond it wait for a fork."""

    ringing_memory_deadline_ms: int = Field(
        default=1000, ge=1, validation_alias="FAMILIAR_RINGING_MEMORY_DEADLINE_MS"
    )
    memory_deadline_ms: int = Field(
        default=300, ge=1, validation_alias="FAMILIAR_MEMORY_DEADLINE_MS"
    )
    ring_timeout_s: float = Field(default=30.0, gt=0, validation_alias="FAMILIAR_RING_TIMEOUT_S")
    vad_silence_s: float = Field(default=0.3, gt=0, validation_alias="FAMILIAR_VAD_SILENCE_S")
    """Silence after which the caller may have finished; the turn detector decides."""
    turn_threshold: float | None = Field(default=None, validation_alias="FAMILIAR_TURN_THRESHOLD")
    """Probability from which the turn detector takes a pause for the end; None takes the model's."""
    # See TurnPolicy for these two.
    endpoint_min_s: float = Field(default=0.58, ge=0, validation_alias="FAMILIAR_ENDPOINT_MIN_S")
    endpoint_max_s: float = Field(default=1.0, ge=0, validation_alias="FAMILIAR_ENDPOINT_MAX_S")

    api_host: str = Field(default="127.0.0.1", validation_alias="FAMILIAR_API_HOST")
    api_port: int = Field(default=8080, validation_alias="FAMILIAR_API_PORT")
    trusted_proxies: str = Field(default="", validation_alias="FAMILIAR_TRUSTED_PROXIES")
    """Addresses, with commas, of proxies that may say whom a request is from."""

    memory_budget_ms: int = Field(default=100, ge=1, validation_alias="FAMILIAR_MEMORY_BUDGET_MS")
    """How long a turn may wait for its place in memory before it goes to the journal instead."""

    webhook_private_targets: bool = Field(
        default=False, validation_alias="FAMILIAR_WEBHOOK_PRIVATE_TARGETS"
    )
    """Let webhooks lead to private addresses, and over http; for a developer's own machine."""


def _resolve_data_dir() -> Path:
    """Where lexicons and journals are: VOICEASSIST_DATA_DIR, else `./data`."""
    return Settings().data_dir
