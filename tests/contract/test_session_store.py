"""Live sessions, wherever they are kept."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis

from src.schemas.memory import CUT_MARKER, MAX_CONTENT_CHARS, REMEMBERED_IDS, WINDOW, Appended
from src.services.memory_ports import SessionStore
from tests.contract.memory_stores import USER, LiveSessions, numbered, said, switch

pytestmark = pytest.mark.integration

REFUSED = Appended(0, new=False)


@pytest.fixture
def memory_sessions() -> LiveSessions:
    return LiveSessions()


@pytest.fixture
def redis_sessions(redis_client: Redis) -> LiveSessions:
    return LiveSessions(redis_client)


@pytest.fixture(params=["memory_sessions", "redis_sessions"])
def live(request: pytest.FixtureRequest) -> LiveSessions:
    found: LiveSessions = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def store(live: LiveSessions) -> SessionStore:
    return live.store()


async def contents(store: SessionStore, session_id: str = "s1") -> list[str]:
    return [entry.content for entry in await store.load_session(session_id)]


async def places(store: SessionStore, session_id: str = "s1") -> list[int]:
    return [entry.sequence for entry in await store.load_session(session_id)]


async def test_an_unknown_session_is_empty(store: SessionStore) -> None:
    assert await store.load_session("s1") == []
    assert await store.load_events("s1") == []
    assert await store.metadata("s1") == {}
    await store.extend_ttl("s1")
    assert await store.delete_session("s1") == 0
    assert await store.delete_all(USER) == 0


async def test_an_entry_comes_back_as_it_went_in(store: SessionStore) -> None:
    entry = said(
        "नमस्ते 👋\n\x00\u2028 \"quoted\" 'single' }",
        role="assistant",
        mode="text",
        language="hi",
        detected_language="hi-IN",
        language_switched=True,
        retrieved_passages=("one", "two"),
        sources=({"document": "a.pdf", "page": None, "score": 0.5},),
        latency_ms=812.5,
        stages_ms={"llm": 301.0},
        degradations=("rag_late",),
        phi_detected=True,
        interrupted=True,
    )
    assert await store.append(entry) == Appended(1, new=True)
    assert await store.load_session("s1") == [replace(entry, sequence=1)]


async def test_an_event_comes_back_as_it_went_in(store: SessionStore) -> None:
    event = switch("e", data={"to_mode": "text", "nested": {"list": [1, None, "é"]}})
    assert await store.append_event(event) == Appended(1, new=True)
    assert await store.load_events("s1") == [replace(event, sequence=1)]


async def test_the_order_is_that_of_the_writes_whatever_the_clocks_say(live: LiveSessions) -> None:
    store = live.store()
    for number in range(6):
        ahead = 300 if number % 2 else -300
        await store.append(said(str(number), at=live.earlier(ahead)))
    assert await contents(store) == list("012345")
    assert await places(store) == [1, 2, 3, 4, 5, 6]


async def test_of_many_writes_at_once_none_is_lost(store: SessionStore) -> None:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(store.append(said(str(number)))) for number in range(40)]
    given_places = {task.result().sequence: str(number) for number, task in enumerate(tasks)}
    assert sorted(given_places) == list(range(1, 41))
    assert await contents(store) == [given_places[place] for place in range(1, 41)]


async def test_messages_and_events_have_one_order(store: SessionStore) -> None:
    assert (await store.append(said("a"))).sequence == 1
    assert (await store.append_event(switch("b"))).sequence == 2
    assert (await store.append(said("c"))).sequence == 3
    assert await places(store) == [1, 3]
    assert [event.sequence for event in await store.load_events("s1")] == [2]


async def test_the_same_id_is_added_once(store: SessionStore) -> None:
    await store.append(said("a"))
    await store.append(said("b"))
    assert await store.append(said("a")) == Appended(1, new=False)
    await store.append_event(switch("e"))
    assert await store.append_event(switch("e")) == Appended(3, new=False)
    assert await contents(store) == ["a", "b"]
    assert len(await store.load_events("s1")) == 1


async def test_an_event_may_have_the_id_of_a_message(store: SessionStore) -> None:
    assert (await store.append(said("a"))).new
    assert (await store.append_event(switch("a"))).new


async def test_an_id_is_one_in_its_session_only(store: SessionStore) -> None:
    assert (await store.append(said("a"))).new
    assert (await store.append(said("a", session="s2"))).new


async def test_saying_yes_five_times_is_five_messages(store: SessionStore) -> None:
    for number in range(5):
        await store.append(said("yes", id=f"item-{number}"))
    assert await contents(store) == ["yes"] * 5


async def test_the_window_holds_the_last_messages_and_events(store: SessionStore) -> None:
    for number in range(WINDOW + 10):
        await store.append(said(str(number)))
        await store.append_event(switch(str(number)))
    assert await contents(store) == [str(number) for number in range(10, WINDOW + 10)]
    assert [event.id for event in await store.load_events("s1")] == [
        str(number) for number in range(10, WINDOW + 10)
    ]
    # What has left the window is known all the same.
    assert await store.append(said("0")) == Appended(1, new=False)


async def test_ids_are_remembered_up_to_a_number(store: SessionStore) -> None:
    for number in range(REMEMBERED_IDS + 1):
        await store.append(said(str(number)))
    assert not (await store.append(said("1"))).new
    assert (await store.append(said("0"))).new


async def test_a_long_content_is_cut(store: SessionStore) -> None:
    await store.append(said("word " * 2_000_000, id="long"))
    (entry,) = await store.load_session("s1")
    assert len(entry.content) == MAX_CONTENT_CHARS + len(CUT_MARKER)
    assert entry.content.endswith(CUT_MARKER)


async def test_a_replayed_message_keeps_its_place_and_the_counter_follows(
    store: SessionStore,
) -> None:
    assert await store.append(said("seven", sequence=7)) == Appended(7, new=True)
    assert await store.append(said("next")) == Appended(8, new=True)
    assert await store.append(said("three", sequence=3)) == Appended(3, new=True)
    assert await store.append(said("nine")) == Appended(9, new=True)
    assert await contents(store) == ["three", "seven", "next", "nine"]


async def test_a_replay_of_what_is_older_than_the_window_changes_nothing(
    store: SessionStore,
) -> None:
    for entry in numbered(*(said(str(number)) for number in range(WINDOW)), first=100):
        await store.append(entry)
    await store.append(said("old", sequence=7))
    assert await contents(store) == [str(number) for number in range(WINDOW)]
    assert (await store.append(said("next"))).sequence == 100 + WINDOW


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(order=st.permutations(range(1, WINDOW + 11)))
async def test_a_replay_in_any_order_ends_in_the_same_window(
    live: LiveSessions, order: list[int]
) -> None:
    store = live.store()
    session = f"s-{hash(tuple(order))}"
    for sequence in order:
        await store.append(said(str(sequence), session=session, sequence=sequence))
    assert await places(store, session) == sorted(order)[-WINDOW:]


async def test_a_lost_session_is_filled_again(store: SessionStore) -> None:
    await store.append(said("lost, or soon"))
    memory = numbered(*(said(str(number)) for number in range(60)), first=3)
    await store.save_session("s1", memory)
    assert await store.load_session("s1") == memory[-WINDOW:]
    assert await store.append(said("59")) == Appended(62, new=False)
    assert await store.append(said("60")) == Appended(63, new=True)


async def test_filling_a_session_takes_no_number_twice(store: SessionStore) -> None:
    for number in range(5):
        await store.append(said(str(number)))
    await store.append_event(switch("e"))
    await store.put_metadata("s1", {"language": "hi"})
    await store.save_session("s1", [said("b", sequence=2), said("c"), said("a", sequence=1)])
    assert await contents(store) == ["a", "b", "c"]
    assert await places(store) == [1, 2, 7]
    assert len(await store.load_events("s1")) == 1
    assert await store.metadata("s1") == {"language": "hi"}
    assert (await store.append(said("d"))).sequence == 8
    await store.save_session("s1", [])
    assert await store.load_session("s1") == []
    assert (await store.append(said("e"))).sequence == 9


async def test_metadata_is_set_by_field(store: SessionStore) -> None:
    await store.put_metadata("s1", {"language": "en", "mode": "voice"})
    await store.put_metadata("s1", {"language": "हिन्दी"})
    await store.put_metadata("s1", {})
    await store.append(said("a"))
    assert await store.metadata("s1") == {"language": "हिन्दी", "mode": "voice"}
    assert await store.metadata("s2") == {}


@pytest.mark.parametrize("other", ["s1:events", "s1:meta", "s1%3Aevents", "s1:ids", "s1:deleted"])
async def test_no_session_id_leads_into_another_session(store: SessionStore, other: str) -> None:
    await store.append(said("mine"))
    await store.append_event(switch("mine"))
    await store.append(said("theirs", session=other))
    await store.append_event(switch("theirs", session=other))
    assert await store.delete_session(other) == 2
    assert await contents(store) == ["mine"]
    assert len(await store.load_events("s1")) == 1


async def test_every_write_lets_a_session_live_on(live: LiveSessions) -> None:
    store = live.store(ttl_s=2)
    await store.append(said("a"))
    await store.append_event(switch("a"))
    writes: list[Callable[[], Awaitable[object]]] = [
        lambda: store.append(said("b")),
        lambda: store.append(said("b")),
        lambda: store.append_event(switch("b")),
        lambda: store.put_metadata("s1", {"language": "hi"}),
        lambda: store.extend_ttl("s1"),
    ]
    for write in writes:
        await live.pass_time(0.8)
        await write()
    assert await contents(store) == ["a", "b"]
    assert len(await store.load_events("s1")) == 2
    assert await store.metadata("s1") == {"language": "hi"}


async def test_a_session_ends_when_nothing_is_written(live: LiveSessions) -> None:
    store = live.store(ttl_s=1)
    await store.append(said("a"))
    await store.append_event(switch("a"))
    await store.put_metadata("s1", {"user_id": USER})
    await live.pass_time(1.1)
    assert await store.load_session("s1") == []
    assert await store.load_events("s1") == []
    assert await store.metadata("s1") == {}
    assert await store.delete_all(USER) == 0
    await store.extend_ttl("s1")
    assert await store.append(said("b", at=live.later())) == Appended(1, new=True)


async def test_a_deleted_session_is_gone_and_the_others_stay(store: SessionStore) -> None:
    await store.append(said("a"))
    await store.append(said("b"))
    await store.append_event(switch("c"))
    await store.put_metadata("s1", {"language": "hi"})
    await store.append(said("other", session="s2"))
    assert await store.delete_session("s1") == 3
    assert await store.load_session("s1") == []
    assert await store.load_events("s1") == []
    assert await store.metadata("s1") == {}
    assert await store.delete_session("s1") == 0
    assert await contents(store, "s2") == ["other"]


async def test_what_was_said_before_a_deletion_is_refused_after_it(live: LiveSessions) -> None:
    store = live.store()
    before = live.clock.now()
    await store.append(said("first", at=before))
    await store.append(said("second", at=before))
    live.later()
    await store.delete_session("s1")
    assert await store.append(said("first", at=before)) == REFUSED
    assert await store.append(said("late", at=before)) == REFUSED
    assert await store.append(said("late", at=before, sequence=9)) == REFUSED
    assert await store.append(replace(said("undated"), timestamp=None)) == REFUSED
    assert await store.append_event(switch("late", at=before)) == REFUSED
    await store.save_session("s1", [said("first", at=before, sequence=1)])
    assert await store.load_session("s1") == []
    assert await store.load_events("s1") == []


async def test_what_is_said_after_a_deletion_is_kept(live: LiveSessions) -> None:
    store = live.store()
    await store.append(said("first"))
    live.later()
    await store.delete_session("s1")
    after = live.later()
    # Counting goes on: no place in a session is given twice.
    assert await store.append(said("third", at=after)) == Appended(2, new=True)
    assert await store.append_event(switch("third", at=after)) == Appended(3, new=True)
    assert await contents(store) == ["third"]
    live.later()
    assert await store.delete_session("s1") == 2
    assert await store.append(said("third", at=after)) == REFUSED
    assert (await store.append(said("fourth", at=live.later()))).sequence == 4


async def test_a_deletion_covers_a_writer_whose_clock_is_ahead(live: LiveSessions) -> None:
    store = live.store()
    ahead = live.earlier(-60)
    far_ahead = live.earlier(-3600 * 24 * 365)
    await store.append(said("ahead", at=ahead))
    await store.delete_session("s1")
    assert await store.append(said("ahead", at=ahead)) == REFUSED
    await store.append(said("ahead", session="s2", at=ahead))
    await store.delete_all(USER)
    assert await store.append(said("ahead", session="s3", at=ahead)) == REFUSED
    # A clock that is wrong altogether does not keep everything from being stored.
    await store.append(said("wrong", session="s4", user="", at=far_ahead))
    await store.delete_session("s4")
    assert (await store.append(said("new", session="s4", user="", at=live.later(601)))).new


async def test_a_deletion_is_remembered_as_long_as_the_session_goes_on(live: LiveSessions) -> None:
    store = live.store(ttl_s=2)
    before = live.clock.now()
    live.later(0.001)
    await store.delete_session("s1")
    for number in range(3):
        await live.pass_time(0.9)
        assert (await store.append(said(str(number), at=live.clock.now()))).new
    assert await store.append(said("late", at=before)) == REFUSED


async def test_deleting_all_of_a_person_reaches_every_session(live: LiveSessions) -> None:
    store = live.store()
    await store.append(said("a", session="s1"))
    await store.append_event(switch("b", session="s2"))
    await store.save_session("s3", [said("c", session="s3"), said("d", session="s3", user="")])
    await store.put_metadata("s4", {"user_id": USER, "language": "hi"})
    await store.append(said("e", session="s4", user=""))
    await store.append(said("other", session="s5", user="user-2"))
    live.later()
    assert await store.delete_all(USER) == 5
    for session in ("s1", "s2", "s3", "s4"):
        assert await store.load_session(session) == []
        assert await store.load_events(session) == []
        assert await store.metadata(session) == {}
    assert await contents(store, "s5") == ["other"]
    assert await store.delete_all(USER) == 0


async def test_after_deleting_all_a_late_write_to_any_session_is_refused(
    live: LiveSessions,
) -> None:
    store = live.store()
    before = live.clock.now()
    await store.append(said("a", at=before))
    live.later()
    await store.delete_all(USER)
    assert await store.append(said("b", at=before)) == REFUSED
    assert await store.append(said("b", at=before, user="")) == REFUSED
    assert await store.append(said("b", at=before, session="never seen")) == REFUSED
    assert await store.append_event(switch("b", at=before, session="never seen")) == REFUSED
    await store.save_session("never seen", [said("b", at=before, session="never seen")])
    assert await store.load_session("never seen") == []
    assert (await store.append(said("b", at=before, session="of another", user="user-2"))).new
    assert (await store.append(said("c", at=live.later()))).new


async def test_what_is_loaded_is_not_the_store_s_own(store: SessionStore) -> None:
    await store.append(said("a"))
    (await store.load_session("s1")).clear()
    (await store.metadata("s1"))["language"] = "hi"
    assert await contents(store) == ["a"]
    assert await store.metadata("s1") == {}
