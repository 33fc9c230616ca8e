"""A real Chromium at the demo page, with a microphone that speaks what a test gives it."""

from __future__ import annotations

import shutil
import wave
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from playwright.async_api import Page, async_playwright

from local.phone.rtp import RATE_HZ, Pcm

MICROPHONE_HZ = 48000
_QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
_LOUDEST_OF_AGENT = """
() => {
  const watch = (element) => {
    const context = new AudioContext();
    const analyser = new AnalyserNode(context, { fftSize: 1024 });
    context.createMediaStreamSource(element.srcObject).connect(analyser);
    const samples = new Float32Array(analyser.fftSize);
    setInterval(() => {
      analyser.getFloatTimeDomainData(samples);
      const power = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;
      window.agentLoudness = Math.max(window.agentLoudness ?? 0, Math.sqrt(power));
    }, 50);
  };
  new MutationObserver((_, observer) => {
    const element = document.querySelector("[data-testid=agent-audio]");
    if (!element?.srcObject) return;
    observer.disconnect();
    watch(element);
  }).observe(document.getElementById("speaker"), { childList: true });
}
"""


@dataclass
class Visit:
    """The page, and what went wrong on it."""

    page: Page
    problems: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)
    """Where the page loaded anything from."""

    async def measure_agent(self) -> None:
        """From now on, keep the greatest loudness (RMS) of what the agent's audio element is given."""
        await self.page.evaluate(_LOUDEST_OF_AGENT)

    async def agent_loudness(self) -> float:
        """What `measure_agent` found."""
        return float(await self.page.evaluate("window.agentLoudness ?? 0"))


def speak_into_microphone(pcm: Pcm, path: Path) -> Path:
    """Write telephone audio as the file that Chromium's pretended microphone plays."""
    times = np.arange(len(pcm) * MICROPHONE_HZ // RATE_HZ) * RATE_HZ / MICROPHONE_HZ
    resampled = np.interp(times, np.arange(len(pcm)), pcm).astype("<i2")
    with wave.open(str(path), "wb") as out:
        out.setparams((1, 2, MICROPHONE_HZ, 0, "NONE", "not compressed"))
        out.writeframes(resampled.tobytes())
    return path


@asynccontextmanager
async def visit(
    url: str, *, microphone: Path | None = None, width: int = 1280, scheme: str = "light"
) -> AsyncIterator[Visit]:
    """Open the page; without a microphone file the browser refuses to give one.

    Raises:
        FileNotFoundError: Chromium is not installed.
    """
    flags = [*_QUIET, "--use-fake-device-for-media-stream"]
    if microphone is not None:
        flags.append("--use-fake-ui-for-media-stream")  # says yes for the visitor
        flags.append(f"--use-file-for-fake-audio-capture={microphone}%noloop")
    async with (
        async_playwright() as playwright,
        await playwright.chromium.launch(executable_path=_chromium(), args=flags) as browser,
        await browser.new_page(
            viewport={"width": width, "height": 800},
            color_scheme="dark" if scheme == "dark" else "light",
        ) as page,
    ):
        seen = Visit(page)
        page.on("pageerror", lambda error: seen.problems.append(str(error)))
        page.on(
            "console",
            lambda line: seen.problems.append(line.text) if line.type == "error" else None,
        )
        page.on("request", lambda request: seen.hosts.add(urlsplit(request.url).hostname or ""))
        page.on("websocket", lambda socket: seen.hosts.add(urlsplit(socket.url).hostname or ""))
        await page.goto(url)
        yield seen


def _chromium() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    raise FileNotFoundError("Chromium is missing: apt-get install chromium")
