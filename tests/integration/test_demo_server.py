"""The demo server: who may ask it, and what a session may do."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from aiohttp.test_utils import TestClient

from local.demo.agent_list import read_agents
from src.schemas.job_metadata import JobMetadata
from tests.fakes.story import FakeStory
from tests.integration.demo_page import (
    LIVEKIT,
    SECRET,
    open_page,
    own_origin,
    status_of_raw_path,
)

pytestmark = pytest.mark.integration


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[TestClient]:
    async with open_page(tmp_path, FakeStory(tmp_path / "call-2.wav").tell) as client:
        yield client


async def ask_for_session(page: TestClient, **wish: Any) -> Any:
    return await page.post("/session", json=wish, headers={"Origin": own_origin(page)})


async def claims_of_session(page: TestClient, **wish: Any) -> dict[str, Any]:
    response = await ask_for_session(page, **wish)
    assert response.status == 200
    invitation = await response.json()
    assert invitation["url"] == LIVEKIT
    claims: dict[str, Any] = jwt.decode(invitation["token"], SECRET, algorithms=["HS256"])
    assert claims["video"]["room"] == invitation["room"]
    assert claims["sub"] == invitation["identity"]
    return claims


# Sessions


async def test_a_voice_session_may_enter_its_room_and_publish_a_microphone_only(
    page: TestClient,
) -> None:
    claims = await claims_of_session(page, agent_id="web-guide", mode="voice")
    assert claims["video"] == {
        "roomJoin": True,
        "room": claims["video"]["room"],
        "canPublish": True,
        "canPublishSources": ["microphone"],
        "canPublishData": True,
        "canSubscribe": True,
        "canUpdateOwnMetadata": False,
    }
    assert not {"sip", "agent", "inference", "observability"} & claims.keys()
    assert claims["exp"] - claims["nbf"] <= 600


async def test_a_text_session_may_publish_no_media(page: TestClient) -> None:
    claims = await claims_of_session(page, agent_id="web-guide", mode="text")
    assert claims["video"]["canPublish"] is False
    assert claims["video"]["canPublishData"] is True


@pytest.mark.parametrize("mode", ["voice", "text"])
async def test_the_job_is_told_agent_and_mode(page: TestClient, mode: str) -> None:
    claims = await claims_of_session(page, agent_id="reception", mode=mode)
    (dispatch,) = claims["roomConfig"]["agents"]
    job = JobMetadata.model_validate_json(dispatch["metadata"])
    assert dispatch["agentName"] == "familiar"
    assert (job.call_type, job.agent_id, job.mode) == ("web", "reception", mode)
    assert job.phone is None
    assert job.contact_uid
    assert job.session_id


async def test_sessions_share_nothing(page: TestClient) -> None:
    first, second = [await claims_of_session(page, agent_id="web-guide") for _ in range(2)]
    jobs = [
        JobMetadata.model_validate_json(claims["roomConfig"]["agents"][0]["metadata"])
        for claims in (first, second)
    ]
    assert first["video"]["room"] != second["video"]["room"]
    assert first["sub"] != second["sub"]
    assert jobs[0].session_id != jobs[1].session_id
    assert jobs[0].contact_uid != jobs[1].contact_uid


@pytest.mark.parametrize(
    ("wish", "status"),
    [
        ({"agent_id": "stranger"}, 404),
        ({"agent_id": ""}, 400),
        ({"agent_id": "web-guide", "mode": "video"}, 400),
        ({"agent_id": "web-guide", "room": "somebody-elses"}, 400),
        ({}, 400),
    ],
)
async def test_a_bad_wish_is_refused(page: TestClient, wish: dict[str, str], status: int) -> None:
    assert (await ask_for_session(page, **wish)).status == status


async def test_a_form_is_no_session_request(page: TestClient) -> None:
    headers = {"Origin": own_origin(page)}
    response = await page.post("/session", data={"agent_id": "web-guide"}, headers=headers)
    assert response.status == 415


async def test_the_web_agent_is_offered_first(page: TestClient) -> None:
    listed = await (await page.get("/agents")).json()
    assert [agent["agent_id"] for agent in listed["agents"]] == ["web-guide", "reception"]


def test_a_file_that_lists_no_agents_is_named(tmp_path: Path) -> None:
    (tmp_path / "seed.json").write_text('{"agents": [{"name": "nobody"}]}')
    with pytest.raises(ValueError, match=r"seed\.json has no list of agents"):
        read_agents(tmp_path / "seed.json")


# Who may ask


@pytest.mark.parametrize(
    "path", ["/", "/agents", "/story", "/style/ground.css", "/recordings/call-2.wav"]
)
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "[",
        "evil@localhost@x",
    ],
)
async def test_a_name_that_is_not_loopback_is_refused(
    page: TestClient, path: str, host: str
) -> None:
    assert (await page.get(path, headers={"Host": host})).status == 403


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
async def test_every_loopback_name_is_served(page: TestClient, host: str) -> None:
    headers = {"Host": f"{host}:{page.port}", "Origin": f"http://{host}:{page.port}"}
    response = await page.post("/session", json={"agent_id": "web-guide"}, headers=headers)
    assert response.status == 200


@pytest.mark.parametrize(
    "origin",
    [None, "null", "http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1:1"],
)
async def test_a_post_from_another_origin_is_refused(page: TestClient, origin: str | None) -> None:
    headers = {"Origin": origin.format(port=page.port)} if origin else {}
    response = await page.post("/session", json={"agent_id": "web-guide"}, headers=headers)
    assert response.status == 403


async def test_a_link_from_elsewhere_opens_the_page(page: TestClient) -> None:
    response = await page.get("/", headers={"Sec-Fetch-Site": "cross-site"})
    assert response.status == 200
    assert "<title>Familiar</title>" in await response.text()


@pytest.mark.parametrize("path", ["/", "/agents", "/nothing-here"])
async def test_the_browser_is_told_to_load_from_here_only(page: TestClient, path: str) -> None:
    headers = (await page.get(path)).headers
    policy = dict(rule.split(" ", 1) for rule in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert set(policy["connect-src"].split()) == {
        "'self'",
        *(f"{scheme}://127.0.0.1:7880" for scheme in ("ws", "wss", "http", "https")),
    }
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "path", ["/", "/style/ground.css", "/app.js", "/talk/panel.js", "/vendor/livekit-client.mjs"]
)
async def test_the_files_of_the_page_are_served(page: TestClient, path: str) -> None:
    assert await status_of_raw_path(page, path) == 200


@pytest.mark.parametrize(
    "path",
    [
        "/package.json",
        "/.npmrc",
        "/node_modules/livekit-client/dist/livekit-client.esm.mjs",
        "/talk/../package.json",
        "/talk/../../seed.json",
        "/talk/%2e%2e/package.json",
        "/watch/..%2f..%2fseed.json",
    ],
)
async def test_only_the_files_of_the_page_are_served(page: TestClient, path: str) -> None:
    assert await status_of_raw_path(page, path) in {400, 403, 404}
