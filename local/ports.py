"""Where the parts of a local stack listen and keep their data.

Tests and tools say `Stack.named("test")` and take URLs and ports from it; nothing else knows them.
"""

from __future__ import annotations

import json
import os
import shlex
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal, get_args

StackName = Literal["demo", "test", "spare"]
"""`demo` is a person's, `test` the test suite's; `spare` is for tests that break a stack."""

ROOT = Path(__file__).parents[1]
HOST = "127.0.0.1"
UDP_RANGE = 200
LAST_PORT = 32767
"""Above it the kernel hands out ports to clients, so that a server may find its own taken."""

LIVEKIT_API_KEY = "devkey"
LIVEKIT_API_SECRET = "loopback-development-secret-of-this-project"  # noqa: S105 - guards nothing
LOCAL_PROVIDER_KEY = "local"
"""What the local providers take for a key; it never counts as a real one."""

PROVIDERS = ("DEEPGRAM", "OPENAI")


@dataclass(frozen=True)
class Stack:
    """One local stack: its name, folder and ports. All of it is on loopback."""

    name: StackName
    home: Path
    """Data, logs and generated configuration."""

    livekit: int
    livekit_udp: int
    """First of `UDP_RANGE` media ports."""
    redis: int
    mongodb: int
    postgres: int
    sip: int
    """UDP: where phones call in."""
    sip_rtp: int
    """First of `UDP_RANGE` ports of the SIP bridge's media."""
    phone_sip: int
    """UDP: the first of four ports where test phones listen; see `phone_ports`."""
    phone_rtp: int
    """First of `UDP_RANGE` ports for the media of test phones."""
    providers: int
    worker: int
    metrics: int
    api: int
    demo: int

    @classmethod
    def named(cls, name: StackName, *, root: Path = ROOT, shift: int | None = None) -> Stack:
        """The stack of that name in the checkout at `root`.

        Args:
            name: which one; each has its own ports.
            root: the checkout.
            shift: added to every port, so that two checkouts can run at once; by default
                FAMILIAR_PORT_SHIFT of the environment, or 0.
        """
        if shift is None:
            shift = int(os.environ.get("FAMILIAR_PORT_SHIFT", "0"))
        index = get_args(StackName).index(name)
        one = 1000 * index + shift
        media = 2000 * index + shift
        stack = cls(
            name=name,
            home=root / ".local" / name,
            livekit=17880 + one,
            livekit_udp=20000 + media,
            redis=16379 + one,
            mongodb=17017 + one,
            postgres=15432 + one,
            sip=15060 + one,
            sip_rtp=21000 + media,
            phone_sip=15070 + one,
            phone_rtp=26000 + one,
            providers=18100 + one,
            worker=18191 + one,
            metrics=18192 + one,
            api=18082 + one,
            demo=18080 + one,
        )
        if stack.phone_rtp + UDP_RANGE > LAST_PORT:
            msg = f"FAMILIAR_PORT_SHIFT={shift} moves ports beyond {LAST_PORT}"
            raise ValueError(msg)
        return stack

    @property
    def tcp_ports(self) -> dict[str, int]:
        """The TCP port of each part."""
        return {
            "livekit": self.livekit,
            "redis": self.redis,
            "mongodb": self.mongodb,
            "postgres": self.postgres,
            "providers": self.providers,
            "worker": self.worker,
            "metrics": self.metrics,
            "api": self.api,
            "demo": self.demo,
        }

    @property
    def phone_ports(self) -> dict[str, int]:
        """Where the outbound trunks lead: the test phone, and spare ports for phones that refuse."""
        names = ("phone", "busy", "silent", "spare")
        return {name: self.phone_sip + i for i, name in enumerate(names)}

    @property
    def livekit_url(self) -> str:
        """For SDKs."""
        return f"ws://{HOST}:{self.livekit}"

    @property
    def providers_url(self) -> str:
        """The local speech and language providers, without `/v1`."""
        return f"http://{HOST}:{self.providers}"

    @property
    def api_url(self) -> str:
        """The control plane."""
        return f"http://{HOST}:{self.api}"

    @property
    def demo_url(self) -> str:
        """The demo page."""
        return f"http://{HOST}:{self.demo}"

    @property
    def data_dir(self) -> Path:
        """Where the product keeps journals."""
        return self.home / "data"

    @property
    def log_dir(self) -> Path:
        """One file per part."""
        return self.home / "log"

    @property
    def env_file(self) -> Path:
        """The environment of every child, as shell assignments; `make call` and people read it too."""
        return self.home / "stack.env"

    @property
    def socket(self) -> Path:
        """Where the process manager listens; a socket's path may not be long."""
        path = self.home / "supervisor.sock"
        if len(os.fsencode(path)) <= 90:
            return path
        short = sha256(os.fsencode(path)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"familiar-{short}.sock"

    @property
    def uses_local_only(self) -> bool:
        """Whether real provider keys are ignored: only a person's own stack may cost money."""
        return self.name != "demo"

    @property
    def env(self) -> dict[str, str]:
        """What a child of the stack needs in its environment; see `environment`."""
        return self.environment(os.environ)

    def environment(self, person: Mapping[str, str]) -> dict[str, str]:
        """The settings that point the product at this stack.

        Args:
            person: the environment of who starts it. A real key there keeps its provider real:
                neither key nor address of that provider is then among the settings.
        """
        settings = {
            "MONGODB_URI": f"mongodb://{HOST}:{self.mongodb}",
            "MONGODB_DATABASE": "familiar",
            "REDIS_URL": f"redis://{HOST}:{self.redis}/0",
            "DATABASE_URL": f"postgresql://postgres:local@{HOST}:{self.postgres}/familiar?sslmode=disable",
            "LIVEKIT_URL": self.livekit_url,
            "LIVEKIT_API_KEY": LIVEKIT_API_KEY,
            "LIVEKIT_API_SECRET": LIVEKIT_API_SECRET,
            # onnxruntime, on which the local voices run, reports to its maker otherwise.
            "ORT_DISABLE_TELEMETRY": "1",
            "FAMILIAR_DATA_DIR": str(self.data_dir),
            "FAMILIAR_WORKER_HOST": HOST,
            "FAMILIAR_WORKER_PORT": str(self.worker),
            "FAMILIAR_METRICS_PORT": str(self.metrics),
            "FAMILIAR_API_HOST": HOST,
            "FAMILIAR_API_PORT": str(self.api),
            # What receives webhooks is on this machine too.
            "FAMILIAR_WEBHOOK_PRIVATE_TARGETS": "true",
        }
        for provider in PROVIDERS:
            if self.uses_local_only or not is_real_key(person.get(f"{provider}_API_KEY", "")):
                settings[f"{provider}_API_KEY"] = LOCAL_PROVIDER_KEY
                settings[f"{provider}_BASE_URL"] = f"{self.providers_url}/v1"
        return settings

    def read_env(self) -> dict[str, str]:
        """The environment of the running stack, trunk ids included.

        Raises:
            FileNotFoundError: the stack was never started.
        """
        lines = self.env_file.read_text().splitlines()
        pairs = (shlex.split(line)[0].partition("=") for line in lines if line)
        return {name: value for name, _, value in pairs}

    def write_env(self, settings: Mapping[str, str]) -> None:
        """Replace `env_file`."""
        text = "".join(f"{name}={shlex.quote(value)}\n" for name, value in settings.items())
        draft = self.env_file.with_suffix(".new")
        draft.write_text(text)
        draft.replace(self.env_file)

    @property
    def trunks(self) -> dict[str, str]:
        """The id of the outbound trunk to each of `phone_ports`.

        Raises:
            FileNotFoundError: the stack was never started.
            KeyError: it was started without the SIP bridge.
        """
        trunks: dict[str, str] = json.loads(self.read_env()["FAMILIAR_SIP_TRUNKS"])
        return trunks


def is_real_key(key: str) -> bool:
    """Whether a provider key is a person's own."""
    return key not in ("", LOCAL_PROVIDER_KEY)
