"""Jobs, rooms and tokens, as a LiveKit server and a browser get them."""

import asyncio
import base64
import json
from typing import Any

import pytest

from src.adapters.livekit_dispatch import LiveKitDispatcher
from src.adapters.livekit_server import LiveKitServer
from src.adapters.livekit_tokens import LiveKitTokens
from src.schemas.contact import CallDirection
from src.schemas.errors import MediaServerError
from src.schemas.job_metadata import JobMetadata
from src.services.call_ports import RoomPass
from tests.fakes.livekit_http import FakeLiveKit, RefusalError

JOB = JobMetadata(
    call_type=CallDirection.OUTBOUND, agent_id="a", contact_uid="c", phone="+15105550100"
)


async def test_a_job_comes_with_its_room_and_once_only() -> None:
    livekit = FakeLiveKit()
    async with livekit.serving() as server:
        dispatcher = LiveKitDispatcher(server, agent_name="worker")
        await dispatcher.dispatch("room", JOB)
        await dispatcher.dispatch("room", JOB)
    (dispatch,) = livekit.rooms["room"]
    assert dispatch.agent_name == "worker"
    assert JobMetadata.model_validate_json(dispatch.metadata) == JOB
    assert livekit.created[0].empty_timeout > 0


async def test_a_room_whose_job_nobody_took_says_so_when_it_is_closed() -> None:
    livekit = FakeLiveKit()
    async with livekit.serving() as server:
        dispatcher = LiveKitDispatcher(server)
        await dispatcher.dispatch("room", JOB)
        assert not await dispatcher.cancel("room")
        assert livekit.rooms == {}
        # Closed already: an agent may have been there.
        assert await dispatcher.cancel("room")


async def test_a_room_whose_job_was_taken_is_closed_as_well() -> None:
    livekit = FakeLiveKit()
    async with livekit.serving() as server:
        dispatcher = LiveKitDispatcher(server)
        await dispatcher.dispatch("room", JOB)
        livekit.take("room")
        assert await dispatcher.cancel("room")
    assert livekit.rooms == {}


@pytest.mark.parametrize("code", ["internal", "unauthenticated"])
async def test_a_refusal_is_an_error_of_ours_without_the_servers_words(code: str) -> None:
    livekit = FakeLiveKit()
    livekit.refuse = RefusalError(code, 400)
    async with livekit.serving() as server:
        dispatcher = LiveKitDispatcher(server)
        for attempt in (dispatcher.dispatch("room", JOB), dispatcher.cancel("room")):
            with pytest.raises(MediaServerError) as refused:
                await attempt
            assert str(refused.value) == f"media server: {code}"
            assert refused.value.retryable


@pytest.mark.parametrize(
    ("method", "code"),
    [("DeleteRoom", "unavailable"), ("ListDispatch", "internal"), ("ListRooms", "not_found")],
)
async def test_a_room_that_cannot_be_closed_is_told(method: str, code: str) -> None:
    livekit = FakeLiveKit()
    livekit.refuse, livekit.refused = RefusalError(code, 500), method
    async with livekit.serving() as server:
        dispatcher = LiveKitDispatcher(server)
        await dispatcher.dispatch("room", JOB)
        with pytest.raises(MediaServerError, match=code):
            await dispatcher.cancel("room")
    assert "room" in livekit.rooms


async def test_a_room_that_no_node_has_any_more_may_have_had_an_agent() -> None:
    livekit = FakeLiveKit()
    livekit.refuse, livekit.refused = RefusalError("unavailable", 503), "ListDispatch"
    async with livekit.serving() as server:
        dispatcher = LiveKitDispatcher(server)
        await dispatcher.dispatch("room", JOB)
        assert await dispatcher.cancel("room")
    assert livekit.rooms == {}


async def test_a_server_that_is_away_is_told_at_once() -> None:
    server = LiveKitServer(url="http://127.0.0.1:9", api_key="key", api_secret="s" * 32)
    with pytest.raises(MediaServerError):
        await LiveKitDispatcher(server).dispatch("room", JOB)
    await server.aclose()
    await server.aclose()


async def test_a_server_that_does_not_answer_is_waited_for_only_so_long() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()  # until the client is gone
        writer.close()

    listener = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    server = LiveKitServer(
        url=f"http://127.0.0.1:{port}", api_key="key", api_secret="s" * 32, request_s=0.05
    )
    async with listener:
        with pytest.raises(MediaServerError, match="TimeoutError"):
            await LiveKitDispatcher(server).dispatch("room", JOB)
        await server.aclose()


def claims(token: str) -> dict[str, Any]:
    payload = token.split(".")[1]
    read: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return read


def tokens() -> LiveKitTokens:
    return LiveKitTokens(server_url="wss://media.example.com", api_key="key", api_secret="s" * 32)


def test_a_token_opens_one_room_for_ten_minutes_and_nothing_else() -> None:
    job = JobMetadata(call_type=CallDirection.WEB, agent_id="a", contact_uid="c", session_id="s")
    room_pass = RoomPass(room="room", identity="visitor-1", microphone=True, job=job)
    read = claims(tokens().sign(room_pass, ttl_s=600))
    assert read["sub"] == "visitor-1"
    assert read["exp"] - read["nbf"] == 600
    assert read["video"] == {
        "roomJoin": True,
        "room": "room",
        "canPublish": True,
        "canPublishSources": ["microphone"],
        "canPublishData": True,
        "canSubscribe": True,
        "canUpdateOwnMetadata": False,
    }
    (agent,) = read["roomConfig"]["agents"]
    assert agent["agentName"] == "familiar"
    assert JobMetadata.model_validate_json(agent["metadata"]) == job


def test_a_visitor_who_writes_has_no_microphone_and_one_whose_job_runs_starts_none() -> None:
    room_pass = RoomPass(room="room", identity="visitor-1", microphone=False, job=None)
    read = claims(tokens().sign(room_pass, ttl_s=600))
    assert read["video"]["canPublish"] is False
    assert "roomConfig" not in read
