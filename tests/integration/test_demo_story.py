"""The demo server shows the story of a remembered caller."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient

from tests.fakes.story import CHECK, GREETING, FakeStory
from tests.integration.demo_page import open_page, status_of_raw_path

pytestmark = pytest.mark.integration


@pytest.fixture
def story(tmp_path: Path) -> FakeStory:
    folder = tmp_path / "recordings"
    folder.mkdir()
    (folder / "call-2.wav").write_bytes(b"RIFF what was heard")
    (folder / "of-somebody-else.wav").write_bytes(b"RIFF private")
    return FakeStory(folder / "call-2.wav")


@pytest.fixture
async def page(tmp_path: Path, story: FakeStory) -> AsyncIterator[TestClient]:
    async with open_page(tmp_path, story.tell) as client:
        yield client


async def frames_of(response: Any) -> list[tuple[str, Any]]:
    frames = []
    for frame in (await response.text()).strip().split("\n\n"):
        head, _, rest = frame.partition("\n")
        kind, data = (head, rest) if head.startswith("event: ") else ("event: message", head)
        frames.append((kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return frames


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://evil.example"},
    ],
)
async def test_another_site_cannot_start_the_story(
    page: TestClient, story: FakeStory, headers: dict[str, str]
) -> None:
    story.may_go_on.clear()  # would hold the answer back if it were told
    assert (await page.get("/story", headers=headers)).status == 403


async def test_the_story_is_shown_event_by_event_and_ends_with_its_result(page: TestClient) -> None:
    response = await page.get("/story")
    assert response.content_type == "text/event-stream"
    assert await frames_of(response) == [
        ("message", json.loads(GREETING.to_json())),
        ("message", json.loads(CHECK.to_json())),
        (
            "result",
            {
                "line": "story: 1 of 2 expectations held",
                "held": 1,
                "expected": 2,
                "recordings": [
                    {"url": "recordings/call-2.wav", "title": "What the phone heard", "call": 2}
                ],
            },
        ),
    ]


async def test_one_story_at_a_time(page: TestClient, story: FakeStory) -> None:
    story.may_go_on.clear()
    first = await page.get("/story")
    assert (await page.get("/story")).status == 409
    story.may_go_on.set()
    assert (await frames_of(first))[-1][0] == "result"
    assert (await page.get("/story")).status == 200


async def test_a_story_that_breaks_off_says_so_and_can_be_told_again(
    page: TestClient, story: FakeStory, caplog: pytest.LogCaptureFixture
) -> None:
    story.breaks_off = True
    kind, data = (await frames_of(await page.get("/story")))[-1]
    assert kind == "failure"
    assert "RuntimeError" in data["message"]
    assert "Maria" not in data["message"]
    assert "the story broke off" in caplog.text
    story.breaks_off = False
    assert (await frames_of(await page.get("/story")))[-1][0] == "result"


async def test_a_viewer_who_leaves_ends_the_story(page: TestClient, story: FakeStory) -> None:
    story.may_go_on.clear()
    response = await page.get("/story")
    await response.content.readline()
    response.close()
    async with asyncio.timeout(10):
        await story.was_cancelled.wait()
    story.may_go_on.set()
    assert (await page.get("/story")).status == 200


async def test_a_recording_can_be_played_once_the_story_is_told(page: TestClient) -> None:
    assert (await page.get("/recordings/call-2.wav")).status == 404
    await (await page.get("/story")).read()
    response = await page.get("/recordings/call-2.wav", headers={"Range": "bytes=0-3"})
    assert response.status == 206
    assert response.content_type == "audio/wav"
    assert await response.read() == b"RIFF"


@pytest.mark.parametrize(
    "name",
    [
        "of-somebody-else.wav",
        "../recordings/call-2.wav",
        "..%2fseed.json",
        "%2e%2e%2fseed.json",
        "..%5cseed.json",
        "%2fetc%2fpasswd",
        "call-2.wav%00",
    ],
)
async def test_no_other_file_is_a_recording(page: TestClient, name: str) -> None:
    await (await page.get("/story")).read()
    assert await status_of_raw_path(page, f"/recordings/{name}") in {400, 404}
