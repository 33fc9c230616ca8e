"""Live sessions in Redis: lifetimes, poison, other processes, and a server that does not answer."""

import asyncio
import json
import logging
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest
from redis.asyncio import Redis

from src.adapters.redis_client import connect_redis
from src.adapters.redis_memory import MAX_ITEM_BYTES, RedisMemoryStore
from src.schemas.errors import MemoryStoreError
from src.schemas.memory import SESSION_TTL_S, WINDOW, MemoryEntry
from src.services.memory_ports import SessionStore
from tests.contract.memory_stores import USER, LiveSessions, content_of, said, switch, ttls
from tests.fakes.clock import NOON

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
LATER = NOON + timedelta(hours=1)
OPERATIONS: dict[str, Callable[[SessionStore], Awaitable[object]]] = {
    "append": lambda store: store.append(said("b", at=LATER)),
    "append_event": lambda store: store.append_event(switch("b", at=LATER)),
    "save_session": lambda store: store.save_session("s1", [said("b", at=LATER)]),
    "load_session": lambda store: store.load_session("s1"),
    "load_events": lambda store: store.load_events("s1"),
    "put_metadata": lambda store: store.put_metadata("s1", {"language": "hi"}),
    "metadata": lambda store: store.metadata("s1"),
    "extend_ttl": lambda store: store.extend_ttl("s1"),
    "delete_session": lambda store: store.delete_session("s1"),
    "delete_all": lambda store: store.delete_all(USER),
}
WRITES = [name for name in OPERATIONS if name not in {"load_session", "load_events", "metadata"}]


@pytest.fixture
def live(redis_client: Redis) -> LiveSessions:
    return LiveSessions(redis_client)


@pytest.fixture
def store(redis_client: Redis) -> RedisMemoryStore:
    return RedisMemoryStore(redis_client, deadline_s=5)


async def test_the_keys_are_the_documented_ones(store: SessionStore, redis_client: Redis) -> None:
    await store.append(said("a"))
    await store.append_event(switch("b"))
    assert set(await ttls(redis_client)) == {
        "memory:s1",
        "memory:s1:events",
        "memory:s1:meta",
        "memory:s1:ids",
        f"memory_sessions:{USER}",
    }
    (element,) = await redis_client.lrange("memory:s1", 0, -1)
    assert MemoryEntry.from_dict(json.loads(element)).content == "a"


@pytest.mark.parametrize("write", WRITES)
async def test_every_write_gives_every_key_its_whole_life(
    write: str, live: LiveSessions, redis_client: Redis
) -> None:
    store = live.store()
    await store.delete_session("s1")
    await store.append(said("a", at=live.later()))
    await store.append_event(switch("a", at=live.later()))
    await store.put_metadata("s1", {"user_id": USER})
    for key in await ttls(redis_client):
        await redis_client.expire(key, 100)
    live.later()
    await OPERATIONS[write](store)
    for key, ttl in (await ttls(redis_client)).items():
        assert SESSION_TTL_S - 60 < ttl <= SESSION_TTL_S, key


async def test_reading_writes_nothing(store: SessionStore, redis_client: Redis) -> None:
    await store.load_session("s1")
    await store.load_events("s1")
    await store.metadata("s1")
    await store.extend_ttl("s1")
    assert await ttls(redis_client) == {}


async def test_an_append_is_one_command(store: SessionStore, redis_client: Redis) -> None:
    await store.append(said("a"))
    before = (await redis_client.info("commandstats"))["cmdstat_evalsha"]["calls"]
    await store.append(said("b"))
    after = await redis_client.info("commandstats")
    assert after["cmdstat_evalsha"]["calls"] == before + 1


async def test_the_scripts_are_loaded_again_after_a_restart(
    store: SessionStore, redis_client: Redis
) -> None:
    await store.append(said("a"))
    await redis_client.script_flush()
    await store.append(said("b"))
    assert [entry.content for entry in await store.load_session("s1")] == ["a", "b"]


@pytest.mark.parametrize(
    "poison",
    [
        b"",
        b"{",
        b"null",
        b"1],[2",
        b'{"role":"user","content":"x","mode":"smell"}',
        b'{"role":"user","content":7,"mode":"text"}',
        b'{"content":"x"}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'"' + b"x" * 10_000_000 + b'"',
        said("x" * 10_000_000).to_json().encode(),
    ],
    ids=lambda poison: repr(poison[:12]),
)
async def test_an_unreadable_element_is_skipped_and_counted(
    poison: bytes, redis_client: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    store = RedisMemoryStore(redis_client, deadline_s=5)
    await store.append(said("a"))
    await redis_client.rpush("memory:s1", poison)
    await store.append(said("b"))
    assert [(one.content, one.sequence) for one in await store.load_session("s1")] == [
        ("a", 1),
        ("b", 2),
    ]
    assert store.unreadable == 1
    assert caplog.messages == ["unreadable memory items skipped"]
    await redis_client.rpush("memory:s1:events", poison)
    assert await store.load_events("s1") == []
    assert store.unreadable == 2


async def test_a_session_of_poison_is_not_sent_to_the_reader(
    store: RedisMemoryStore, redis_client: Redis
) -> None:
    for number in range(WINDOW):
        await redis_client.rpush("memory:s1", f"{number:02}" * MAX_ITEM_BYTES)
    before = (await redis_client.info("stats"))["total_net_output_bytes"]
    assert await store.load_session("s1") == []
    after = (await redis_client.info("stats"))["total_net_output_bytes"]
    assert after - before < MAX_ITEM_BYTES


async def test_what_would_be_too_long_to_be_read_is_stored_without_its_extras(
    store: SessionStore,
) -> None:
    await store.append(said("a", retrieved_passages=("x" * MAX_ITEM_BYTES,)))
    await store.append(said("\x00" * 10_000_000, id="b"))
    await store.append_event(switch("c", data={"x": "x" * MAX_ITEM_BYTES}))
    first, second = await store.load_session("s1")
    assert (first.content, first.retrieved_passages) == ("a", ())
    assert second.content.startswith("\x00")
    assert [event.data for event in await store.load_events("s1")] == [{}]


async def test_half_a_surrogate_pair_is_stored_as_a_question_mark(store: SessionStore) -> None:
    await store.append(said("a \ud83d b", id="a"))
    assert [entry.content for entry in await store.load_session("s1")] == ["a ? b"]


async def test_what_is_no_json_is_refused(store: SessionStore) -> None:
    with pytest.raises(MemoryStoreError):
        await store.append_event(switch("a", data={"what": object()}))


async def test_counting_goes_on_when_the_server_evicted_the_counter(
    store: SessionStore, redis_client: Redis
) -> None:
    await store.append(said("a"))
    await store.append_event(switch("b"))
    await redis_client.delete("memory:s1:meta", "memory:s1:ids")
    assert (await store.append(said("c"))).sequence == 3


async def test_a_deletion_leaves_no_word_and_names_nobody(
    live: LiveSessions, redis_client: Redis
) -> None:
    store = live.store()
    for session in ("s1", "s2"):
        await store.append(said("canary", session=session, user="canary"))
        await store.append_event(switch("canary", session=session, user="canary"))
        await store.put_metadata(session, {"user_id": "canary", "name": "canary"})
    assert "canary" in await content_of(redis_client)
    live.later()
    await store.delete_session("s1")
    assert "memory:s1:deleted" in await ttls(redis_client)
    assert {key for key in await ttls(redis_client) if key.startswith("memory:s1")} == {
        "memory:s1:deleted"
    }
    await store.delete_all("canary")
    assert "canary" not in await content_of(redis_client)


async def test_what_others_put_in_place_of_a_session_can_be_deleted(
    store: SessionStore, redis_client: Redis
) -> None:
    await redis_client.set("memory:s1", "[]", ex=100)
    with pytest.raises(MemoryStoreError):
        await store.append(said("a"))
    assert await store.delete_session("s1") == 0
    assert set(await ttls(redis_client)) == {"memory:s1:deleted"}


async def test_the_index_of_a_person_forgets_sessions_that_ended(
    live: LiveSessions, redis_client: Redis
) -> None:
    store = live.store()
    await store.append(said("a", session="s1"))
    live.later(SESSION_TTL_S - 1)
    await store.append(said("a", session="s2"))
    assert await redis_client.zcard(f"memory_sessions:{USER}") == 2
    await store.append(said("a", session="s3", at=live.later(2)))
    assert await redis_client.zrange(f"memory_sessions:{USER}", 0, -1) == [
        b"memory:s2",
        b"memory:s3",
    ]


async def test_two_processes_write_one_session_and_nothing_is_lost(
    redis_client: Redis, redis_url: str, store: SessionStore
) -> None:
    count = 200
    command = [sys.executable, "-m", "tests.contract.memory_writer", redis_url, "s1"]
    writers = [
        await asyncio.create_subprocess_exec(
            *command, name, str(count), cwd=ROOT, stdout=asyncio.subprocess.PIPE
        )
        for name in ("voice", "text")
    ]
    outputs = [(await writer.communicate())[0] for writer in writers]
    voice, text = (json.loads(output) for output in outputs)
    assert sorted(voice + text) == list(range(1, 2 * count + 1))
    assert min(voice) < max(text)
    assert min(text) < max(voice)
    entries = await store.load_session("s1")
    assert [entry.sequence for entry in entries] == list(
        range(2 * count - WINDOW + 1, 2 * count + 1)
    )
    members = {f"entry:{name}-{n}".encode() for name in ("voice", "text") for n in range(count)}
    assert set(await redis_client.zrange("memory:s1:ids", 0, -1)) == members


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_server_that_is_away_is_a_memory_store_error(operation: str) -> None:
    async with connect_redis("redis://127.0.0.1:1") as nobody_there:
        with pytest.raises(MemoryStoreError):
            await OPERATIONS[operation](RedisMemoryStore(nobody_there))


async def test_a_hung_server_costs_no_more_than_the_deadline_and_mixes_up_no_answers(
    redis_client: Redis, redis_url: str
) -> None:
    async with connect_redis(redis_url, timeout_s=30) as client:
        store = RedisMemoryStore(client, deadline_s=0.02)
        patient = RedisMemoryStore(client, deadline_s=5)
        await patient.append(said("a"))
        await redis_client.client_pause(timeout=1_500, all=True)
        async with asyncio.timeout(1.2):
            for operation in OPERATIONS.values():
                with pytest.raises(MemoryStoreError):
                    await operation(store)
        await patient.append(said("c", session="s2", user="user-2"))
        assert [entry.content for entry in await patient.load_session("s2")] == ["c"]
        assert await patient.metadata("s2") == {}
        assert await patient.load_events("s2") == []


async def test_an_error_and_the_log_quote_nobody(
    redis_client: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await redis_client.set("memory:s1", "canary")
    with pytest.raises(MemoryStoreError) as caught:
        await RedisMemoryStore(redis_client, deadline_s=5).append(said("canary"))
    assert "canary" not in f"{caught.value}{caplog.text}"
