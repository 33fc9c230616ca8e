"""Writing: order, durability, outages of each store, and processes that die."""

import asyncio

import pytest

from src.services.breaker import BreakerPolicy
from src.services.memory_stores import MemoryPolicy, WritePolicy
from tests.unit.services.memory_bench import AWAY, SESSION, USER, bench, said, until

HASTY = MemoryPolicy(
    writes=WritePolicy(budget_s=0.01), sessions=BreakerPolicy(timeout_s=0.02, probe_s=0.02)
)


async def test_an_entry_reaches_every_store_and_leaves_the_journal() -> None:
    async with bench() as b:
        written = await b.memory.add_entry(SESSION, said("hello"), USER)
        assert written.stored
        assert written.sequence == 1
        assert written.degradations == ()
        assert await b.live() == ["hello"]
        assert await b.archived() == ["hello"]
        assert await b.journalled() == []


async def test_ids_and_times_are_given_where_there_are_none() -> None:
    async with bench() as b:
        await b.memory.add_entry(SESSION, said("a"), USER)
        await b.memory.add_entry(SESSION, said("a"), USER)
        first, second = await b.memory.get_history(SESSION)
        assert first.id
        assert first.id != second.id
        assert first.timestamp == b.clock.now()
        assert first.user_id == USER
        assert (first.sequence, second.sequence) == (1, 2)


async def test_a_repeated_event_is_one_entry_and_five_times_yes_is_five() -> None:
    async with bench() as b:
        for n in (1, 1, 2, 3, 2, 4, 5):
            await b.memory.add_entry(SESSION, said("yes", id=f"item-{n}"), USER)
        assert await b.history() == ["yes"] * 5
        assert await b.archived() == ["yes"] * 5


async def test_a_repeated_event_is_one_entry_for_the_next_process_too() -> None:
    async with bench() as b:
        await b.say("a", "b")
        await b.restart()
        await b.memory.add_entry(SESSION, said("a", id="a"), USER)
        assert await b.history() == ["a", "b"]
        assert await b.archived() == ["a", "b"]


async def test_writes_at_the_same_time_keep_the_order_of_their_calls() -> None:
    async with bench() as b:
        texts = [f"m{n}" for n in range(20)]
        await asyncio.gather(*(b.memory.add_entry(SESSION, said(text), USER) for text in texts))
        assert await b.history() == texts
        assert await b.archived() == texts


async def test_a_cancelled_caller_cancels_no_write() -> None:
    async with bench() as b:
        b.redactor.free.clear()
        task = asyncio.ensure_future(b.memory.add_entry(SESSION, said("a"), USER))
        await until(lambda: b.redactor.asked)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        b.redactor.free.set()
        assert await b.archived() == ["a"]


async def test_without_its_session_store_memory_is_in_the_journal_and_the_archive() -> None:
    async with bench() as b:
        await b.say("a")
        b.fakes.session_faults.error = AWAY
        written = await b.memory.add_entry(SESSION, said("b"), USER)
        assert written.stored
        assert written.degradations == ("session_store_away",)
        assert await b.history() == ["a", "b"]
        assert await b.archived() == ["a", "b"]


async def test_a_hung_session_store_is_waited_for_once() -> None:
    async with bench() as b:
        await b.say("a")
        b.fakes.session_faults.up.clear()
        await b.say("b")
        asked = b.fakes.session_calls
        # A probe in the background is all that asks from here on, and it hangs.
        await b.say("c", "d")
        assert b.fakes.session_calls <= asked + 1
        assert await b.history() == ["a", "b", "c", "d"]


async def test_a_hung_session_store_is_given_up_before_its_writer_is() -> None:
    policy = MemoryPolicy(writes=WritePolicy(budget_s=5))
    assert policy.sessions.timeout_s < WritePolicy().budget_s
    async with bench(policy=policy) as b:
        await b.say("a")
        b.fakes.session_faults.up.clear()
        written = await b.memory.add_entry(SESSION, said("b"), USER)
        assert written.stored
        assert written.degradations == ("session_store_away",)


async def test_a_session_store_that_is_back_is_given_what_it_missed_in_order() -> None:
    async with bench() as b:
        await b.say("a")
        b.fakes.session_faults.error = AWAY
        await b.say("b", "c")
        await b.memory.add_event(SESSION, "mode_switch", {"to_mode": "text"})
        b.fakes.session_faults.error = None
        await b.say("d")
        live = await b.fakes.raw.sessions.load_session(SESSION)
        async with asyncio.timeout(10):
            while [one.content for one in live] != ["a", "b", "c", "d"]:
                await asyncio.sleep(0.001)
                live = await b.fakes.raw.sessions.load_session(SESSION)
        assert [one.sequence for one in live] == [1, 2, 3, 5]
        assert await b.archived() == ["a", "b", "c", "d"]
        metadata = await b.fakes.raw.sessions.metadata(SESSION)
        assert metadata["mode"] == "text"


async def test_what_the_archive_cannot_take_waits_in_the_journal_for_the_next_process() -> None:
    async with bench() as b:
        b.fakes.archive_faults.error = AWAY
        await b.say("a", "b")
        assert await b.memory.flush(SESSION, deadline_s=0.01) == 2
        assert await b.journalled() == ["a", "b"]
        await b.restart()
        b.fakes.archive_faults.error = None
        assert await b.memory.replay() == 2
        assert await b.archived() == ["a", "b"]
        assert await b.journalled() == []
        assert await b.memory.replay() == 0


async def test_the_archive_is_tried_again_until_it_is_back() -> None:
    async with bench() as b:
        b.fakes.archive_faults.error = AWAY
        await b.say("a")
        await b.memory.flush(SESSION, deadline_s=0.01)
        b.fakes.archive_faults.error = None
        assert await b.archived() == ["a"]
        assert await b.journalled() == []


async def test_a_replay_gives_a_living_session_what_it_misses() -> None:
    async with bench() as b:
        await b.say("a")
        assert await b.archived() == ["a"]
        b.fakes.archive_faults.error = b.fakes.session_faults.error = AWAY
        await b.memory.add_entry(SESSION, said("b"), USER)
        await b.restart()
        b.fakes.archive_faults.error = b.fakes.session_faults.error = None
        assert await b.live() == ["a"]
        await b.memory.replay()
        assert await b.live() == ["a", "b"]
        assert await b.history() == ["a", "b"]


async def test_a_replay_does_not_begin_a_session_that_is_over() -> None:
    async with bench() as b:
        b.fakes.archive_faults.error = AWAY
        await b.say("a")
        await b.restart()
        b.clock.advance(90_000)
        b.fakes.archive_faults.error = None
        await b.memory.replay()
        assert await b.live() == []
        assert await b.history() == ["a"]


async def test_without_journal_and_session_store_the_archive_is_what_is_left() -> None:
    async with bench() as b:
        b.fakes.session_faults.error = b.fakes.journal_faults.error = AWAY
        written = await b.memory.add_entry(SESSION, said("a"), USER)
        assert not written.stored
        assert written.degradations == ("session_store_away", "memory_not_durable")
        b.fakes.journal_faults.error = None
        assert await b.archived() == ["a"]


async def test_a_lost_session_is_filled_again_by_the_next_write() -> None:
    async with bench() as b:
        await b.say("a", "b")
        await b.memory.add_event(SESSION, "language_switch", {"to_language": "hi"})
        b.clock.advance(90_000)  # beyond the session's life
        await b.say("c")
        assert await b.live() == ["a", "b", "c"]
        assert len(await b.memory.get_events(SESSION)) == 1
        assert (await b.fakes.raw.sessions.metadata(SESSION))["language"] == "hi"
        assert await b.archived() == ["a", "b", "c"]
        told = await b.fakes.raw.archive.load_conversation(SESSION)
        assert [one.sequence for one in told] == [1, 2, 4]


async def test_a_lost_session_is_rebuilt_from_the_archive_by_the_next_process() -> None:
    async with bench() as b:
        await b.say("a", "b")
        await b.memory.add_event(SESSION, "mode_switch", {"from_mode": "voice", "to_mode": "text"})
        assert await b.archived() == ["a", "b"]
        await b.restart()
        b.clock.advance(90_000)
        context = await b.memory.resume(SESSION)
        assert [one.content for one in context.messages] == ["a", "b"]
        assert context.metadata["user_id"] == USER
        assert await b.live() == ["a", "b"]
        await b.say("c")
        assert await b.history() == ["a", "b", "c"]
        assert [event["to_mode"] for event in await b.memory.get_events(SESSION)] == ["text"]


async def test_the_window_holds_fifty_messages() -> None:
    async with bench() as b:
        await b.say(*(f"m{n}" for n in range(60)))
        assert await b.history() == [f"m{n}" for n in range(10, 60)]
        assert len(await b.archived()) == 60


async def test_a_write_that_takes_too_long_goes_on_in_the_background() -> None:
    async with bench(policy=HASTY) as b:
        b.redactor.free.clear()
        written = await b.memory.add_entry(SESSION, said("call 555 0123"), USER)
        assert not written.stored
        assert written.degradations == ("redaction_late",)
        assert "555" not in b.fakes.dump()
        b.redactor.free.set()
        assert await b.archived() == ["call [NUMBER]"]


async def test_an_item_that_breaks_a_store_does_not_hold_up_the_session() -> None:
    async with bench() as b:
        b.fakes.journal_faults.error = TypeError("a bug")
        written = await b.memory.add_entry(SESSION, said("a"), USER)
        assert not written.stored
        b.fakes.journal_faults.error = None
        await b.say("b")
        assert (await b.history())[-1] == "b"
