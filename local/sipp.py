"""sipp, an independent SIP phone, as a process of one's own.

async with Sipp.refusing(486) as sipp:
    ...                                   # call 127.0.0.1:sipp.sip_port
    result = await sipp.finished()
assert result.exit_code == 0, result.errors
"""

from __future__ import annotations

import asyncio
import socket
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from local.phone.rtp import Pcm, encode_ulaw
from local.phone.sip import HostPort, reason_of

HOST: Final = "127.0.0.1"
SCENARIOS: Final = Path(__file__).parent / "scenarios"
_BIND_S: Final = 10.0
_STOP_S: Final = 3.0


class SippError(Exception):
    """sipp did not start."""


@dataclass(frozen=True)
class SippResult:
    """How a run ended: 0 if every call went as the scenario says, 1 if one did not."""

    exit_code: int
    messages: str
    errors: str


class Sipp:
    """One run of a scenario; leaving `async with` ends it. A SIP port of 0 takes any that is free."""

    def __init__(
        self,
        scenario: str,
        arguments: Sequence[str] = (),
        *,
        words: Mapping[str, str] | None = None,
        audio: Pcm | None = None,
        sip_port: int = 0,
    ) -> None:
        self.sip_port = sip_port
        self._scenario = scenario
        self._arguments = arguments
        self._words = words or {}
        self._audio = audio
        self._folder = tempfile.TemporaryDirectory(prefix="sipp-")
        self._process: asyncio.subprocess.Process | None = None

    @classmethod
    def refusing(cls, status: int, *, calls: int = 1, sip_port: int = 0) -> Sipp:
        """Refuses: 486 busy, 603 declined, 404 not found."""
        words = {"status": f"{status} {reason_of(status)}"}
        return cls("refuse", ("-m", str(calls)), words=words, sip_port=sip_port)

    @classmethod
    def ringing(cls, *, calls: int = 1, sip_port: int = 0) -> Sipp:
        """Rings and expects the caller to give up."""
        return cls("ring", ("-m", str(calls)), sip_port=sip_port)

    @classmethod
    def echoing(cls, *, calls: int = 1, sip_port: int = 0) -> Sipp:
        """Answers, and sends back what it hears until it is hung up."""
        media = ("-rtp_echo", "-mp", str(_free_udp_port()))
        return cls("echo", ("-m", str(calls), *media), sip_port=sip_port)

    @classmethod
    def calling(
        cls,
        server: HostPort,
        number: str,
        *,
        audio: Pcm,
        caller: str = "+15551234567",
        talk_s: float = 1.0,
    ) -> Sipp:
        """Calls, plays the audio over and over for `talk_s`, hangs up."""
        media = ("-mp", str(_free_udp_port()), "-d", str(round(talk_s * 1000)))
        arguments = (f"{server[0]}:{server[1]}", "-s", number, "-m", "1", *media)
        return cls("call", arguments, words={"caller": caller}, audio=audio)

    @property
    def pid(self) -> int:
        """Its process."""
        return self._running.pid

    async def __aenter__(self) -> Self:
        folder = Path(self._folder.name)
        if self._audio is not None:
            (folder / "call.ul").write_bytes(encode_ulaw(self._audio))
        (folder / "scenario.xml").write_text(self._written_scenario())
        self.sip_port = self.sip_port or _free_udp_port()
        self._process = await asyncio.create_subprocess_exec(
            "sipp",
            *("-sf", "scenario.xml", *self._arguments),
            *("-i", HOST, "-bind_local", "-mi", HOST, "-p", str(self.sip_port), "-nostdin"),
            *("-trace_msg", "-message_file", "messages", "-trace_err", "-error_file", "errors"),
            cwd=folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            await self._bound()
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._stop()

    async def finished(self, timeout_s: float = 10.0) -> SippResult:
        """Wait for its end.

        Raises:
            TimeoutError: it still runs.
        """
        async with asyncio.timeout(timeout_s):
            exit_code = await self._running.wait()
        return SippResult(exit_code, self._read("messages"), self._read("errors"))

    @property
    def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise RuntimeError("not started")
        return self._process

    def _written_scenario(self) -> str:
        # sipp's own -key is put in only after it has checked the status line.
        text = (SCENARIOS / f"{self._scenario}.xml").read_text()
        for key, word in self._words.items():
            text = text.replace(f"[{key}]", word)
        return text

    async def _bound(self) -> None:
        try:
            async with asyncio.timeout(_BIND_S):
                while not _is_bound(self.sip_port):
                    if self._running.returncode is not None:
                        raise SippError(f"exit {self._running.returncode}: {self._read('errors')}")
                    await asyncio.sleep(0.01)
        except TimeoutError as error:
            raise SippError(f"did not listen within {_BIND_S} s") from error

    async def _stop(self) -> None:
        if self._running.returncode is None:
            with suppress(ProcessLookupError):
                self._running.terminate()
            try:
                async with asyncio.timeout(_STOP_S):
                    await self._running.wait()
            except TimeoutError:
                self._running.kill()
                await self._running.wait()
        self._folder.cleanup()

    def _read(self, name: str) -> str:
        path = Path(self._folder.name) / name
        return path.read_text(errors="replace") if path.exists() else ""


def _free_udp_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _is_bound(port: int) -> bool:
    # Trying to bind could take the port away from sipp, and a packet would count as a call.
    table = Path("/proc/net/udp").read_text().splitlines()[1:]
    return any(int(line.split()[1].rpartition(":")[2], 16) == port for line in table)
