"""Who may enter a session in the browser, and with what rights."""

import json

import pytest

from src.schemas.contact import CallDirection
from src.schemas.errors import InvalidInputError, MediaServerError, NotFoundError
from src.schemas.job_metadata import JobMetadata
from src.schemas.web_sessions import JoinRequest, WebSessionRequest, WebSessionView
from src.services.call_ports import RoomPass
from src.services.owned import Resource
from src.services.web_sessions import TOKEN_TTL_S, WebSessions
from tests.fakes.clock import FakeClock
from tests.fakes.media_server import FakeDispatcher, FakeRoomTokens
from tests.fakes.owned import InMemoryOwnedStore

DAY_S = 24 * 3600


class World:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.owned = InMemoryOwnedStore()
        self.tokens = FakeRoomTokens()
        self.dispatcher = FakeDispatcher()
        self.sessions = WebSessions(
            owned=self.owned, tokens=self.tokens, dispatcher=self.dispatcher, clock=self.clock
        )

    async def create(self, *, trusted: bool = False, **fields: object) -> WebSessionView:
        request = WebSessionRequest.model_validate({"agentId": "reception", **fields})
        return await self.sessions.create("acme", request, trusted=trusted)


@pytest.fixture
async def world() -> World:
    world = World()
    for owner, agent in [("acme", "reception"), ("other", "theirs")]:
        await world.owned.of(owner, Resource.AGENTS).insert({"agentId": agent})
    return world


async def test_a_session_keeps_only_the_hash_of_its_secret(world: World) -> None:
    made = await world.create()
    (document,) = world.owned.documents[Resource.SESSIONS]
    assert len(made.secret) >= 43
    assert made.secret not in json.dumps(document, default=str)
    assert document["sessionId"] == made.session_id
    assert document["expiresAt"] == made.expires_at
    assert (made.expires_at - world.clock.now()).total_seconds() == DAY_S


async def test_a_visitor_joins_with_a_pass_to_one_room(world: World) -> None:
    made = await world.create()
    invitation = await world.sessions.join(
        "acme", made.session_id, JoinRequest(secret=made.secret), trusted=False
    )
    job = JobMetadata(
        call_type=CallDirection.WEB,
        agent_id="reception",
        contact_uid=invitation.contact_uid,
        session_id=made.session_id,
    )
    given = RoomPass(room=invitation.room, identity=invitation.identity, microphone=True, job=job)
    assert world.tokens.passes == [(given, TOKEN_TTL_S)]
    assert (invitation.token, invitation.server_url) == ("token-1", "wss://media.example.com")
    assert (invitation.token_expires_at - world.clock.now()).total_seconds() == TOKEN_TTL_S
    assert world.dispatcher.jobs == {}


async def test_a_refresh_gives_another_room_in_the_same_session(world: World) -> None:
    made = await world.create(mode="text")
    request = JoinRequest(secret=made.secret)
    first = await world.sessions.join("acme", made.session_id, request, trusted=False)
    second = await world.sessions.join(
        "acme", made.session_id, JoinRequest(secret=made.secret, mode="voice"), trusted=False
    )
    assert len({first.room, second.room}) == len({first.contact_uid, second.contact_uid}) == 2
    assert first.identity != second.identity
    jobs = [given.job for given, _ in world.tokens.passes]
    assert [job and job.session_id for job in jobs] == [made.session_id] * 2
    assert [given.microphone for given, _ in world.tokens.passes] == [False, True]
    assert [first.mode, second.mode] == ["text", "voice"]


async def test_what_the_agent_is_told_is_not_in_the_visitors_token(world: World) -> None:
    made = await world.create(trusted=True, userId="42", dynamicVariables={"debt": "900"})
    invitation = await world.sessions.join("acme", made.session_id, JoinRequest(), trusted=True)
    ((given, _),) = world.tokens.passes
    assert given.job is None
    assert list(world.dispatcher.jobs) == [invitation.room]
    job = world.dispatcher.jobs[invitation.room]
    assert (job.user_id, job.dynamic_values) == ("42", {"debt": "900"})
    assert job.contact_uid == invitation.contact_uid


async def test_nobody_is_let_in_where_no_agent_could_be_sent(world: World) -> None:
    made = await world.create(trusted=True, dynamicVariables={"name": "Ana"})
    world.dispatcher.faults.error = MediaServerError("away")
    with pytest.raises(MediaServerError):
        await world.sessions.join("acme", made.session_id, JoinRequest(), trusted=True)
    assert world.tokens.passes == []


async def test_a_page_that_anybody_can_open_may_not_say_who_the_visitor_is(world: World) -> None:
    with pytest.raises(InvalidInputError) as refused:
        await world.create(agentId="theirs", userId="42", dynamicVariables={"{{": "x"})
    assert [problem.field for problem in refused.value.problems] == [
        "dynamicVariables.{{",
        "userId",
        "dynamicVariables",
        "agentId",
    ]
    assert world.owned.documents[Resource.SESSIONS] == []


@pytest.mark.parametrize(
    ("owner", "session", "guess", "trusted"),
    [
        ("acme", None, "wrong", False),
        ("acme", None, "wrong", True),
        ("acme", None, "", False),
        ("acme", None, None, False),
        ("acme", "0" * 32, None, True),
        ("other", None, None, True),
        ("other", None, "right", False),
    ],
)
async def test_a_guess_is_answered_like_a_session_that_is_not_there(
    world: World, owner: str, session: str | None, guess: str | None, trusted: bool
) -> None:
    made = await world.create()
    key = made.secret if guess == "right" else guess
    with pytest.raises(NotFoundError, match="no such session"):
        await world.sessions.join(
            owner,
            session or made.session_id,
            JoinRequest.model_construct(secret=key, mode=None),
            trusted=trusted,
        )
    with pytest.raises(NotFoundError, match="no such session"):
        await world.sessions.authorise(owner, session or made.session_id, key, trusted=trusted)
    assert world.tokens.passes == []


async def test_a_session_without_a_hash_opens_to_nobody(world: World) -> None:
    sessions = world.owned.of("acme", Resource.SESSIONS)
    await sessions.insert({"sessionId": "s", "agentId": "reception", "mode": "voice"})
    for trusted in (False, True):  # nor without an end
        with pytest.raises(NotFoundError):
            await world.sessions.join("acme", "s", JoinRequest(), trusted=trusted)


async def test_a_session_lasts_for_a_day(world: World) -> None:
    made = await world.create(trusted=True, userId="42")
    world.clock.advance(DAY_S - 1)
    assert (
        await world.sessions.authorise("acme", made.session_id, made.secret, trusted=False) == "42"
    )
    world.clock.advance(1)
    with pytest.raises(NotFoundError):
        await world.sessions.authorise("acme", made.session_id, made.secret, trusted=False)


async def test_an_ended_session_closes_its_room_and_opens_no_other(world: World) -> None:
    made = await world.create()
    joined = await world.sessions.join(
        "acme", made.session_id, JoinRequest(secret=made.secret), trusted=False
    )
    await world.sessions.end("acme", made.session_id, made.secret, trusted=False)
    assert world.dispatcher.cancelled == [joined.room]
    with pytest.raises(NotFoundError):
        await world.sessions.join("acme", made.session_id, JoinRequest(), trusted=True)
    with pytest.raises(NotFoundError):
        await world.sessions.end("acme", made.session_id, None, trusted=True)


async def test_a_session_can_be_ended_that_nobody_joined(world: World) -> None:
    made = await world.create()
    await world.sessions.end("acme", made.session_id, None, trusted=True)
    assert world.dispatcher.cancelled == []


async def test_a_session_is_over_although_its_room_could_not_be_closed(world: World) -> None:
    made = await world.create()
    request = JoinRequest(secret=made.secret)
    await world.sessions.join("acme", made.session_id, request, trusted=False)
    world.dispatcher.faults.error = MediaServerError("away")
    await world.sessions.end("acme", made.session_id, made.secret, trusted=False)
    with pytest.raises(NotFoundError):
        await world.sessions.join("acme", made.session_id, request, trusted=False)


async def test_a_session_of_an_agent_that_is_gone_is_gone(world: World) -> None:
    made = await world.create()
    await world.owned.of("acme", Resource.AGENTS).delete("reception")
    with pytest.raises(NotFoundError):
        await world.sessions.join("acme", made.session_id, JoinRequest(), trusted=True)
