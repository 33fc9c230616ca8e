"""What the archive forgets, whatever stores it: on demand and by age; and what it hands out."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from src.schemas.memory import MemoryEntry, MemorySettings
from src.services.memory_ports import ConversationArchive
from tests.contract.conversations import OTHER, PERSON, ago, happened, said, summarised, told
from tests.fakes.clock import NOON, FakeClock

pytestmark = pytest.mark.integration

MIDNIGHT = ago(hours=12)
NOTHING = {
    "conversations": 0,
    "conversation_entries": 0,
    "conversation_events": 0,
    "memory_settings": 0,
    "memory_preferences": 0,
}


async def words_of(archive: ConversationArchive, person: str) -> str:
    return json.dumps(await archive.export(person))


async def test_a_deleted_session_is_gone_and_counted(archive: ConversationArchive) -> None:
    await archive.save_conversation(PERSON, "s1", [said("a"), said("b")], [happened("e")])
    await archive.put_summary("s1", "about it", through=2)
    await archive.save_conversation(PERSON, "s2", [said("kept")])
    assert await archive.delete_session("s1") == {
        **NOTHING,
        "conversations": 1,
        "conversation_entries": 2,
        "conversation_events": 1,
    }
    assert await archive.load_conversation("s1") == []
    assert await archive.load_events("s1") == []
    assert await archive.sessions_of(PERSON) == ["s2"]
    assert await archive.past_sessions(PERSON, limit=5) == []
    assert await archive.delete_session("s1") == NOTHING


async def test_what_was_said_before_its_session_was_deleted_is_never_stored_again(
    archive: ConversationArchive, archive_clock: FakeClock
) -> None:
    before = [said("a"), said("never stored yet", at=ago(minutes=1))]
    await archive.save_conversation(PERSON, "s1", before[:1], [happened("e")])
    archive_clock.advance(60)
    await archive.delete_session("s1")
    assert await archive.save_conversation(PERSON, "s1", before, [happened("e")]) == 0
    assert await archive.save_conversation("", "s1", before) == 0
    assert await archive.sessions_of(PERSON) == []
    later = said("later", at=archive_clock.now() + timedelta(seconds=1))
    assert await archive.save_conversation(PERSON, "s1", [*before, later]) == 1
    assert await told(archive, "s1") == ["later"]


async def test_a_session_may_be_deleted_before_anything_of_it_is_stored(
    archive: ConversationArchive,
) -> None:
    assert await archive.delete_session("s1") == NOTHING
    assert await archive.save_conversation(PERSON, "s1", [said("a", at=ago(hours=1))]) == 0
    assert await archive.load_conversation("s1") == []


async def test_a_message_from_a_clock_that_is_ahead_does_not_come_back(
    archive: ConversationArchive,
) -> None:
    ahead = said("a", at=NOON + timedelta(minutes=5))
    await archive.save_conversation(PERSON, "s1", [ahead])
    await archive.delete_session("s1")
    assert await archive.save_conversation(PERSON, "s1", [ahead]) == 0


async def test_a_message_from_a_far_future_does_not_keep_all_others_away(
    archive: ConversationArchive, archive_clock: FakeClock
) -> None:
    await archive.save_conversation(PERSON, "s1", [said("a", at=NOON + timedelta(days=4000))])
    await archive.delete_all(PERSON)
    archive_clock.advance(3600)
    assert await archive.save_conversation(PERSON, "s1", [said("b", at=archive_clock.now())]) == 1


async def test_today_goes_with_its_summary_and_the_days_before_stay(
    archive: ConversationArchive,
) -> None:
    old = [said("old 1", at=ago(days=1)), said("old 2", at=ago(hours=13), language="hi")]
    new = [said("new 1", at=MIDNIGHT), said("new 2")]
    events = [happened("old", at=ago(hours=13)), happened("new")]
    await archive.save_conversation(PERSON, "both", [*old, *new], events)
    await archive.put_summary("both", "about it", through=4)
    await summarised(archive, "before", at=ago(days=2))
    await archive.save_conversation(PERSON, "today", [said("a")], [happened("b")])
    await archive.save_conversation(OTHER, "theirs", [said("a")])
    await archive.put_settings(PERSON, MemorySettings(retention_days=9))
    assert await archive.delete_today(PERSON, since=MIDNIGHT) == {
        **NOTHING,
        "conversations": 1,
        "conversation_entries": 3,
        "conversation_events": 2,
    }
    assert await told(archive, "both") == ["old 1", "old 2"]
    assert [event.id for event in await archive.load_events("both")] == ["old"]
    assert await archive.sessions_of(PERSON) == ["both", "before"]
    assert await told(archive, "theirs") == ["a"]
    assert await archive.settings(PERSON) == MemorySettings(retention_days=9)
    # The summary that told of today is written anew from what is left.
    assert [past.session_id for past in await archive.past_sessions(PERSON, limit=9)] == ["before"]
    assert await archive.unsummarised(idle_since=MIDNIGHT, limit=9) == ["both"]
    await archive.put_summary("both", "about yesterday", through=2)
    past = (await archive.past_sessions(PERSON, limit=1))[0]
    assert (past.summary, past.at, past.language) == ("about yesterday", ago(hours=13), "hi")


async def test_a_summary_of_earlier_messages_only_outlives_today(
    archive: ConversationArchive,
) -> None:
    await archive.save_conversation(PERSON, "s1", [said("old", at=ago(days=1)), said("new")])
    await archive.put_summary("s1", "about old", through=1)
    await archive.delete_today(PERSON, since=MIDNIGHT)
    assert [past.summary for past in await archive.past_sessions(PERSON, limit=1)] == ["about old"]


async def test_a_summary_of_what_was_deleted_meanwhile_is_not_stored(
    archive: ConversationArchive,
) -> None:
    await archive.save_conversation(PERSON, "s1", [said("old", at=ago(days=1)), said("new")])
    await archive.delete_today(PERSON, since=MIDNIGHT)
    await archive.put_summary("s1", "about old and new", through=2)
    assert await archive.past_sessions(PERSON, limit=1) == []


async def test_todays_words_are_never_stored_again_but_yesterdays_may_be(
    archive: ConversationArchive, archive_clock: FakeClock
) -> None:
    entries = [said("old", at=ago(days=1)), said("new", at=ago(hours=1))]
    await archive.delete_today(PERSON, since=MIDNIGHT)
    assert await archive.save_conversation(PERSON, "s1", entries) == 1
    assert await told(archive, "s1") == ["old"]
    archive_clock.advance(1)
    later = said("later", at=archive_clock.now())
    assert await archive.save_conversation(PERSON, "s1", [*entries, later]) == 1


async def test_deleting_today_twice_remembers_both(
    archive: ConversationArchive, archive_clock: FakeClock
) -> None:
    await archive.delete_today(PERSON, since=MIDNIGHT)
    archive_clock.advance(3600)
    await archive.delete_today(PERSON, since=MIDNIGHT)
    between = said("between", at=archive_clock.now() - timedelta(minutes=1))
    assert await archive.save_conversation(PERSON, "s1", [between, said("first")]) == 0


async def test_everything_of_a_person_goes_and_others_keep_theirs(
    archive: ConversationArchive,
) -> None:
    for person in (PERSON, OTHER):
        await archive.save_conversation(
            person, f"{person} a", [said("x", at=ago(days=9)), said("y")], [happened("e")]
        )
        await archive.put_summary(f"{person} a", "about x", through=1)
        await archive.save_conversation(person, f"{person} b", [said("z")])
        await archive.put_settings(person, MemorySettings(enabled=False))
        await archive.put_preferences(person, {"language": "ar", "voice": "amy"})
    kept = await archive.export(OTHER)
    assert await archive.delete_all(PERSON) == {
        "conversations": 2,
        "conversation_entries": 3,
        "conversation_events": 1,
        "memory_settings": 1,
        "memory_preferences": 2,
    }
    assert await archive.export(OTHER) == kept
    assert await archive.export(PERSON) == await archive.export("stranger") | {"user_id": PERSON}
    assert await archive.past_sessions(PERSON, limit=9) == []
    assert await archive.delete_all(PERSON) == NOTHING


async def test_a_deleted_persons_words_do_not_return_under_another_name(
    archive: ConversationArchive, archive_clock: FakeClock
) -> None:
    entries = [said("a"), said("b", user_id=PERSON)]
    await archive.save_conversation(PERSON, "s1", entries)
    await archive.delete_all(PERSON)
    assert await archive.save_conversation("", "s1", entries) == 0
    assert await archive.save_conversation(OTHER, "s1", entries) == 0
    assert await archive.save_conversation(OTHER, "s2", entries) == 1
    assert await archive.save_conversation(PERSON, "s3", [said("c", at=ago(hours=3))]) == 0
    archive_clock.advance(1)
    assert await archive.save_conversation(PERSON, "s3", [said("d", at=archive_clock.now())]) == 1
    assert await told(archive, "s3") == ["d"]


async def test_what_a_person_said_in_anothers_session_goes_too(
    archive: ConversationArchive,
) -> None:
    entries = [said("theirs"), said("mine", user_id=PERSON)]
    await archive.save_conversation(OTHER, "s1", entries, [happened("e", user_id=PERSON)])
    await archive.put_summary("s1", "about both", through=2)
    exported = (await archive.export(PERSON))["sessions"]
    assert [entry["id"] for entry in exported[0]["entries"]] == ["mine"]
    assert exported[0]["summary"] is None
    counts = await archive.delete_all(PERSON)
    assert (counts["conversations"], counts["conversation_entries"]) == (0, 1)
    assert await told(archive, "s1") == ["theirs"]
    assert await archive.past_sessions(OTHER, limit=1) == []


async def test_nobody_is_not_everybody_without_an_id(archive: ConversationArchive) -> None:
    await archive.save_conversation("", "s1", [said("a")])
    assert await archive.delete_all("") == NOTHING
    assert await archive.delete_today("", since=MIDNIGHT) == NOTHING
    assert (await archive.export(""))["sessions"] == []
    assert await told(archive, "s1") == ["a"]


@pytest.mark.parametrize("scope", ["session", "day", "all"])
async def test_a_save_that_races_a_deletion_leaves_nothing(
    archive: ConversationArchive, scope: str
) -> None:
    async def delete() -> None:
        match scope:
            case "session":
                await archive.delete_session("s1")
            case "day":
                await archive.delete_today(PERSON, since=MIDNIGHT)
            case _:
                await archive.delete_all(PERSON)

    for attempt in range(5):
        entries = [said(f"{attempt}-{n}") for n in range(30)]
        async with asyncio.TaskGroup() as group:
            for n in range(0, 30, 5):
                group.create_task(
                    archive.save_conversation(PERSON, "s1", entries[n : n + 5], [happened("e")])
                )
                if n == 15:
                    group.create_task(delete())
        assert await archive.load_conversation("s1") == []
        assert await archive.load_events("s1") == []
        assert await archive.sessions_of(PERSON) == []


async def test_deletions_at_once_do_not_hinder_each_other(archive: ConversationArchive) -> None:
    for n in range(6):
        await archive.save_conversation(PERSON, f"s{n}", [said("a"), said("b", user_id=OTHER)])
    async with asyncio.TaskGroup() as group:
        group.create_task(archive.delete_all(PERSON))
        group.create_task(archive.delete_all(OTHER))
        group.create_task(archive.delete_today(PERSON, since=MIDNIGHT))
        group.create_task(archive.purge(now=NOON + timedelta(days=60)))
        for n in range(6):
            group.create_task(archive.delete_session(f"s{n}"))
    assert (await archive.export(PERSON))["sessions"] == []
    assert (await archive.export(OTHER))["sessions"] == []


async def test_export_is_everything_as_json(archive: ConversationArchive) -> None:
    entry = said(
        "a",
        content="नमस्ते",
        at=ago(hours=1),
        sources=({"document": "d", "page": 1, "score": 0.5},),
        retrieved_passages=("p",),
        stages_ms={"llm": 1.5},
    )
    event = happened("e", at=ago(minutes=59))
    await archive.save_conversation(PERSON, "s1", [entry], [event], owner_id="acme", agent_id="a1")
    await archive.put_summary("s1", "about it", through=1)
    await archive.save_conversation(PERSON, "s2", [], [event])
    await archive.save_conversation(OTHER, "s3", [said("theirs")])
    await archive.put_settings(PERSON, MemorySettings(retention_days=9))
    await archive.put_preferences(PERSON, {"language": "hi"})
    exported = await archive.export(PERSON)
    assert json.loads(json.dumps(exported, allow_nan=False)) == as_json(exported)
    first, second = exported.pop("sessions")
    assert exported == {
        "user_id": PERSON,
        "settings": {
            "enabled": True,
            "retention_days": 9,
            "cross_session": True,
            "save_voice_transcripts": True,
            "save_rag_context": True,
            "anonymize_phi": True,
        },
        "preferences": {"language": "hi"},
    }
    assert [MemoryEntry.from_dict(one) for one in first.pop("entries")] == (
        await archive.load_conversation("s1")
    )
    assert [one["id"] for one in first.pop("events")] == ["e"]
    assert first == {
        "session_id": "s1",
        "owner_id": "acme",
        "agent_id": "a1",
        "created_at": NOON.isoformat(),
        "summary": "about it",
    }
    assert (second["session_id"], second["entries"], second["summary"]) == ("s2", [], None)


def as_json(value: Any) -> Any:
    """With lists where JSON has no tuples."""
    if isinstance(value, dict):
        return {key: as_json(one) for key, one in value.items()}
    return [as_json(one) for one in value] if isinstance(value, list | tuple) else value


async def test_purge_keeps_to_each_persons_retention(archive: ConversationArchive) -> None:
    retentions = {"week": 7, "quarter": 90}
    ages = (1, 6, 8, 29, 31, 89, 91)
    for person in ("week", "quarter", "default", ""):
        entries = [said(f"{age}", at=ago(days=age), sequence=100 - age) for age in ages]
        events = [happened(f"{age}", at=ago(days=age)) for age in ages]
        await archive.save_conversation(person, f"of {person}", entries, events)
        if person in retentions:
            settings = MemorySettings(retention_days=retentions[person])
            await archive.put_settings(person, settings)
    assert await archive.purge(now=NOON) == 2 * (5 + 1 + 3 + 3)
    assert await told(archive, "of week") == ["6", "1"]
    assert await told(archive, "of quarter") == ["89", "31", "29", "8", "6", "1"]
    assert await told(archive, "of default") == ["29", "8", "6", "1"]
    assert await told(archive, "of ") == ["29", "8", "6", "1"]
    assert {event.id for event in await archive.load_events("of week")} == {"6", "1"}
    assert await archive.purge(now=NOON) == 0


async def test_purge_takes_empty_sessions_and_summaries_of_nothing_else(
    archive: ConversationArchive,
) -> None:
    await summarised(archive, "all gone", at=ago(days=40))
    for session, through in (("old summary", 1), ("newer summary", 2)):
        entries = [said("old", at=ago(days=40)), said("new", at=ago(days=1))]
        await archive.save_conversation(PERSON, session, entries)
        await archive.put_summary(session, f"{session} text", through=through)
    assert await archive.purge(now=NOON) == 3
    assert sorted(await archive.sessions_of(PERSON)) == ["newer summary", "old summary"]
    past = await archive.past_sessions(PERSON, limit=9)
    assert [one.session_id for one in past] == ["newer summary"]
    assert "old summary text" not in await words_of(archive, PERSON)
    assert await archive.unsummarised(idle_since=NOON, limit=9) == ["old summary"]


async def test_what_is_exactly_as_old_as_its_retention_stays(archive: ConversationArchive) -> None:
    await archive.save_conversation(PERSON, "s1", [said("a", at=ago(days=30))])
    assert await archive.purge(now=NOON) == 0
    assert await archive.purge(now=NOON + timedelta(microseconds=1)) == 1


async def test_purge_takes_more_sessions_than_one_batch(archive: ConversationArchive) -> None:
    for n in range(450):
        await archive.save_conversation("", f"s{n}", [said("a", at=ago(days=31))])
    assert await archive.purge(now=NOON) == 450


async def test_purge_beside_saves_loses_nothing_recent(archive: ConversationArchive) -> None:
    async with asyncio.TaskGroup() as group:
        for n in range(20):
            entries = [said(f"old {n}", at=ago(days=31)), said(f"new {n}")]
            group.create_task(archive.save_conversation(PERSON, f"s{n % 4}", entries))
            group.create_task(archive.purge(now=NOON))
    await archive.purge(now=NOON)
    kept = [one for n in range(4) for one in await told(archive, f"s{n}")]
    assert sorted(kept) == sorted(f"new {n}" for n in range(20))
