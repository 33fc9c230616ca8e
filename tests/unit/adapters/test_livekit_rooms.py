"""Which rooms have an agent in them, as a LiveKit server tells."""

import pytest
from livekit import api

from src.adapters.livekit_rooms import LiveKitRooms
from src.adapters.livekit_server import LiveKitServer
from src.schemas.errors import MediaServerError
from tests.fakes.livekit_http import FakeLiveKit, RefusalError

AGENT = api.ParticipantInfo(
    kind=api.ParticipantInfo.Kind.AGENT, state=api.ParticipantInfo.State.ACTIVE
)
LEFT = api.ParticipantInfo(
    kind=api.ParticipantInfo.Kind.AGENT, state=api.ParticipantInfo.State.DISCONNECTED
)
CALLER = api.ParticipantInfo(kind=api.ParticipantInfo.Kind.SIP)


def server_with(**rooms: list[api.ParticipantInfo]) -> FakeLiveKit:
    livekit = FakeLiveKit()
    livekit.rooms = {name: [] for name in rooms}
    livekit.participants = dict(rooms)
    return livekit


async def test_a_room_is_served_while_an_agent_is_there() -> None:
    livekit = server_with(served=[CALLER, AGENT], alone=[CALLER], left=[LEFT], empty=[])
    async with livekit.serving() as server:
        rooms = LiveKitRooms(server)
        assert await rooms.served(["served", "alone", "left", "empty", "gone"]) == {"served"}


async def test_rooms_are_asked_for_in_batches_and_nothing_is_asked_for_none() -> None:
    livekit = server_with(r3=[AGENT], r399=[AGENT])
    async with livekit.serving() as server:
        assert await LiveKitRooms(server).served([f"r{n}" for n in range(400)]) == {"r3", "r399"}
        assert livekit.asked.count("RoomService/ListRooms") == 2
        assert await LiveKitRooms(server).served([]) == frozenset()
        assert livekit.asked.count("RoomService/ListRooms") == 2


async def test_a_room_that_closes_meanwhile_is_served_by_nobody() -> None:
    livekit = server_with(closing=[AGENT])
    livekit.participants.clear()
    async with livekit.serving() as server:
        assert await LiveKitRooms(server).served(["closing"]) == frozenset()


@pytest.mark.parametrize("method", ["ListRooms", "ListParticipants"])
async def test_without_an_answer_nothing_is_known(method: str) -> None:
    livekit = server_with(room=[AGENT])
    livekit.refuse, livekit.refused = RefusalError("internal", 500), method
    async with livekit.serving() as server:
        with pytest.raises(MediaServerError):
            await LiveKitRooms(server).served(["room"])


async def test_without_a_key_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LIVEKIT_API_KEY", raising=False)
    monkeypatch.delenv("LIVEKIT_API_SECRET", raising=False)
    server = LiveKitServer(url="ws://127.0.0.1:9", api_key="", api_secret="")
    with pytest.raises(MediaServerError):
        await LiveKitRooms(server).served(["room"])


async def test_a_room_is_closed_and_one_that_is_gone_stays_so() -> None:
    livekit = server_with(room=[CALLER])
    async with livekit.serving() as server:
        rooms = LiveKitRooms(server)
        await rooms.close("room")
        assert "room" not in livekit.rooms
        await rooms.close("room")
        livekit.refuse, livekit.refused = RefusalError("internal", 500), "DeleteRoom"
        with pytest.raises(MediaServerError):
            await rooms.close("room")
