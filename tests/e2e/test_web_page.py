"""Somebody talks and types to an agent in a real browser, and watches a caller be remembered."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp.test_utils import TestServer
from playwright.async_api import Locator, Page, expect

from local.demo.app import DemoConfig, create_app
from local.ports import Stack
from local.voice import say_pcm
from tests.e2e.browser import Visit, speak_into_microphone, visit
from tests.fakes.story import FakeStory

pytestmark = pytest.mark.stack

SPOKEN = "What does a replacement card cost?"
HEARD = re.compile(r"replacement", re.IGNORECASE)
SPOKEN_ANSWER = re.compile(r"twelve", re.IGNORECASE)
TYPED = "How long do refunds take?"
TYPED_ANSWER = re.compile(r"five", re.IGNORECASE)
BEFORE_THE_QUESTION_S = 10.0
"""The pretended microphone plays from the start; the agent has then greeted."""
TURN_MS = 30_000


def lines(page: Page, speaker: str) -> Locator:
    """What was said, whole."""
    return page.locator(f"[data-testid=line-{speaker}][data-final=true]")


async def hang_up(page: Page) -> None:
    await page.get_by_role("button", name="Hang up").click()
    await expect(page.get_by_test_id("talk")).to_have_attribute("data-phase", "ended")
    await expect(page.get_by_test_id("transcript")).to_contain_text("You hung up.")
    await expect(page.get_by_test_id("agent-audio")).to_have_count(0)


def assert_no_trouble(seen: Visit) -> None:
    assert seen.problems == []
    assert seen.hosts == {"127.0.0.1"}


async def test_talking_and_typing_in_one_conversation(stack: Stack, tmp_path: Path) -> None:
    question = await say_pcm(SPOKEN, lead_s=BEFORE_THE_QUESTION_S)
    microphone = speak_into_microphone(question, tmp_path / "microphone.wav")
    async with visit(stack.demo_url, microphone=microphone) as seen:
        page = seen.page
        await seen.measure_agent()
        await page.get_by_role("button", name="Start talking").click()

        await expect(lines(page, "agent").first).to_be_visible(timeout=TURN_MS)
        assert await seen.agent_loudness() > 0.01
        audio = await page.get_by_test_id("agent-audio").evaluate(
            "(element) => ({played: element.currentTime, paused: element.paused})"
        )
        assert audio["played"] > 1
        assert not audio["paused"]

        await expect(lines(page, "you").first).to_contain_text(HEARD, timeout=TURN_MS)
        answers = lines(page, "agent").filter(has_text=SPOKEN_ANSWER)
        await expect(answers.first).to_be_visible(timeout=TURN_MS)

        await page.get_by_label("Message to the agent").fill(TYPED)
        await page.get_by_role("button", name="Send").click()
        await expect(lines(page, "you").last).to_contain_text(TYPED)
        answers = lines(page, "agent").filter(has_text=TYPED_ANSWER)
        await expect(answers.first).to_be_visible(timeout=TURN_MS)
        await expect(page.get_by_test_id("agent-state")).to_have_text("Listening", timeout=TURN_MS)

        await page.get_by_role("button", name="Mute").click()
        await expect(page.get_by_role("button", name="Unmute")).to_be_visible()
        await hang_up(page)
        assert_no_trouble(seen)


async def test_a_refused_microphone_leads_to_typing(stack: Stack) -> None:
    async with visit(stack.demo_url) as seen:
        page = seen.page
        await page.get_by_role("button", name="Start talking").click()
        alert = page.get_by_test_id("talk-alert")
        await expect(alert).to_contain_text("not allowed to use the microphone")
        await alert.get_by_role("button", name="Type instead").click()

        await expect(lines(page, "agent").first).to_be_visible(timeout=TURN_MS)
        message = page.get_by_label("Message to the agent")
        await expect(message).to_be_focused()
        await message.fill(TYPED)
        await message.press("Enter")
        answers = lines(page, "agent").filter(has_text=TYPED_ANSWER)
        await expect(answers.first).to_be_visible(timeout=TURN_MS)
        await expect(page.get_by_test_id("agent-audio")).to_have_count(0)
        await hang_up(page)
        assert_no_trouble(seen)


@pytest.fixture
async def story_page(stack: Stack, tmp_path: Path) -> AsyncIterator[str]:
    """The page with a story that needs no calls."""
    recording = tmp_path / "call-2.wav"
    speak_into_microphone(await say_pcm("Hello."), recording)
    seeds = tmp_path / "seed.json"
    seeds.write_text('{"agents": []}')
    config = DemoConfig(
        livekit_url=stack.livekit_url,
        api_key="key",
        api_secret="secret",  # noqa: S106
        agents_file=seeds,
    )
    app = create_app(config, FakeStory(recording).tell)
    async with TestServer(app, host="127.0.0.1") as server:
        yield str(server.make_url("/"))


@pytest.mark.parametrize("width", [360, 1280])
async def test_the_story_is_shown_step_by_step(story_page: str, width: int) -> None:
    async with visit(story_page, width=width) as seen:
        page = seen.page
        await page.get_by_role("button", name="Play the story").click()
        await expect(page.get_by_test_id("story-verdict")).to_have_text(
            "story: 1 of 2 expectations held"
        )
        said = page.get_by_test_id("story-agent_said")
        await expect(said).to_contain_text("Hello, María: “welcome”")
        await expect(said).to_contain_text("1.50 s")
        await expect(page.get_by_test_id("story-check")).to_have_attribute("data-ok", "true")
        recording = page.get_by_test_id("recording")
        assert await recording.evaluate(
            "(element) => new Promise((heard) => {"
            "  element.onended = () => heard(true);"
            "  element.onerror = () => heard(false);"
            "  element.play();"
            "})"
        )
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        assert_no_trouble(seen)
