"""The record of conversations, whatever stores it: what is saved, how it is read."""

import asyncio
import json
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from src.schemas.memory import MemoryEntry, MemorySettings, PastSession
from src.services.memory_ports import ConversationArchive
from tests.contract.conversations import OTHER, PERSON, ago, happened, said, summarised, told
from tests.fakes.clock import NOON, FakeClock

pytestmark = pytest.mark.integration

FULL = MemoryEntry(
    role="assistant",
    content="Take it with food.\nنعم، मधुमेह 🩺",
    mode="text",
    language="ar",
    detected_language="hi-IN",
    language_switched=True,
    retrieved_passages=("first passage", 'second, with "quotes", {braces} and \\'),
    sources=(
        {"document": "leaflet.pdf", "page": None, "score": 0.25},
        {"document": "b", "page": 3},
    ),
    latency_ms=812.5,
    stages_ms={"llm": 310.25, "tts": 95.0},
    degradations=("rag_late", "tts_fallback"),
    phi_detected=True,
    interrupted=True,
    id="item_1",
    session_id="s1",
    user_id=PERSON,
    timestamp=datetime(2026, 12, 1, 11, 59, 58, 123456, tzinfo=UTC),
    sequence=7,
)


async def test_every_field_of_a_message_is_kept(archive: ConversationArchive) -> None:
    assert await archive.save_conversation(PERSON, "s1", [FULL]) == 1
    assert await archive.load_conversation("s1") == [FULL]


async def test_a_plain_message_gets_what_it_lacks(
    archive: ConversationArchive, archive_clock: FakeClock
) -> None:
    plain = MemoryEntry(role="user", content="Hello", mode="voice")
    assert await archive.save_conversation(PERSON, "s1", [plain, plain]) == 2
    first, second = await archive.load_conversation("s1")
    assert (first.session_id, first.user_id, first.timestamp) == ("s1", PERSON, archive_clock.now())
    assert first.id
    assert second.id not in ("", first.id)


async def test_every_field_of_an_event_is_kept(archive: ConversationArchive) -> None:
    event = happened(
        "e1", data={"from": "en", "to": ["ar", None, {"deep": 1.5}]}, sequence=3, user_id=PERSON
    )
    assert await archive.save_conversation(PERSON, "s1", [], [event]) == 1
    assert await archive.load_events("s1") == [replace(event, session_id="s1")]


async def test_messages_without_a_sequence_get_the_next_ones_in_the_order_given(
    archive: ConversationArchive,
) -> None:
    await archive.save_conversation(PERSON, "s1", [said("a", at=ago(minutes=1)), said("b")])
    later = [said("d", sequence=9), said("c", at=ago(hours=1)), said("e", at=ago(hours=2))]
    await archive.save_conversation(PERSON, "s1", later, [happened("x"), happened("y")])
    assert [(one.id, one.sequence) for one in await archive.load_conversation("s1")] == [
        ("a", 1),
        ("b", 2),
        ("d", 9),
        ("c", 10),
        ("e", 11),
    ]
    assert [(one.id, one.sequence) for one in await archive.load_events("s1")] == [
        ("x", 12),
        ("y", 13),
    ]


async def test_a_message_that_is_there_takes_no_sequence(archive: ConversationArchive) -> None:
    await archive.save_conversation(PERSON, "s1", [said("a"), said("b")])
    assert await archive.save_conversation(PERSON, "s1", [said("a"), said("b"), said("c")]) == 1
    assert [one.sequence for one in await archive.load_conversation("s1")] == [1, 2, 3]


async def test_an_id_given_twice_in_one_save_is_one_message(archive: ConversationArchive) -> None:
    again = [said("a"), said("b"), said("a", content="other words"), said("c")]
    assert await archive.save_conversation(PERSON, "s1", again) == 3
    found = await archive.load_conversation("s1")
    assert [(one.content, one.sequence) for one in found] == [("a", 1), ("b", 2), ("c", 3)]


async def test_a_sequence_that_is_taken_keeps_both(archive: ConversationArchive) -> None:
    await archive.save_conversation(PERSON, "s1", [said("late", sequence=1)])
    twins = [said("early", sequence=1, at=ago(seconds=1)), said("also late", sequence=1)]
    assert await archive.save_conversation(PERSON, "s1", twins) == 2
    assert await told(archive, "s1") == ["early", "also late", "late"]


async def test_replayed_twice_and_shuffled_nothing_changes(archive: ConversationArchive) -> None:
    entries = [said(f"m{n}", sequence=n, at=ago(seconds=100 - n)) for n in range(1, 40)]
    events = [happened(f"e{n}", sequence=n + 100) for n in range(10)]
    shuffled = random.Random(7)  # noqa: S311 - no secret
    for _ in range(2):
        for batch in (entries[:20], entries[10:], entries):
            mixed = shuffled.sample(batch, len(batch))
            await archive.save_conversation(PERSON, "s1", mixed, shuffled.sample(events, 10))
    assert await told(archive, "s1") == [entry.id for entry in entries]
    assert [event.id for event in await archive.load_events("s1")] == [one.id for one in events]


async def test_the_same_saves_at_once_store_each_message_once(archive: ConversationArchive) -> None:
    entries = [said(f"m{n}") for n in range(30)]
    async with asyncio.TaskGroup() as group:
        saves = [
            group.create_task(archive.save_conversation(PERSON, "s1", entries)) for _ in range(6)
        ]
    assert sum(save.result() for save in saves) == 30
    found = await archive.load_conversation("s1")
    assert [(one.id, one.sequence) for one in found] == [(f"m{n}", n + 1) for n in range(30)]


async def test_different_saves_at_once_lose_nothing_and_share_no_sequence(
    archive: ConversationArchive,
) -> None:
    async with asyncio.TaskGroup() as group:
        for writer in range(8):
            batch = [said(f"w{writer}-{n}") for n in range(5)]
            group.create_task(
                archive.save_conversation(PERSON, "s1", batch, [happened(f"e{writer}")])
            )
    entries, events = await archive.load_conversation("s1"), await archive.load_events("s1")
    given = [one.sequence for one in entries] + [one.sequence for one in events]
    assert sorted(given) == list(range(1, 49))


async def test_saves_of_several_sessions_and_persons_at_once(archive: ConversationArchive) -> None:
    async with asyncio.TaskGroup() as group:
        for n in range(12):
            group.create_task(archive.save_conversation(f"p{n % 3}", f"s{n}", [said("a")]))
    for n in range(12):
        assert await told(archive, f"s{n}") == ["a"]
    assert sorted(await archive.sessions_of("p0")) == ["s0", "s3", "s6", "s9"]


async def test_with_a_limit_the_last_messages_are_loaded(archive: ConversationArchive) -> None:
    await archive.save_conversation(PERSON, "s1", [said(name) for name in "abcde"])
    assert [one.id for one in await archive.load_conversation("s1", limit=2)] == ["d", "e"]
    assert len(await archive.load_conversation("s1", limit=50)) == 5


async def test_what_is_unknown_is_empty(archive: ConversationArchive) -> None:
    assert await archive.load_conversation("nobody") == []
    assert await archive.load_events("nobody") == []
    assert await archive.sessions_of("nobody") == []
    assert await archive.preferences("nobody") == {}
    assert await archive.settings("nobody") == MemorySettings()
    await archive.put_summary("nobody", "nothing", through=1)
    assert await archive.past_sessions("nobody", limit=5) == []


async def test_nothing_to_save_begins_no_session(archive: ConversationArchive) -> None:
    assert await archive.save_conversation(PERSON, "s1", []) == 0
    assert await archive.sessions_of(PERSON) == []


async def test_sessions_are_the_persons_own_newest_first(archive: ConversationArchive) -> None:
    await archive.save_conversation(PERSON, "middle", [said("a", at=ago(days=2))])
    await archive.save_conversation(PERSON, "old", [said("a", at=ago(days=9))])
    await archive.save_conversation(PERSON, "new", [said("a", at=ago(days=1))])
    await archive.save_conversation(OTHER, "theirs", [said("a")])
    await archive.save_conversation("", "nobodys", [said("a")])
    assert await archive.sessions_of(PERSON) == ["new", "middle", "old"]
    assert await archive.sessions_of("") == []


async def test_a_session_is_its_persons_once_one_is_known(archive: ConversationArchive) -> None:
    await archive.save_conversation("", "s1", [said("a")])
    await archive.save_conversation(PERSON, "s1", [said("b")], owner_id="acme", agent_id="front")
    await archive.save_conversation(OTHER, "s1", [said("c")], owner_id="x", agent_id="y")
    assert await archive.sessions_of(PERSON) == ["s1"]
    assert await archive.sessions_of(OTHER) == []
    exported = (await archive.export(PERSON))["sessions"][0]
    assert (exported["owner_id"], exported["agent_id"]) == ("acme", "front")
    assert [entry["id"] for entry in exported["entries"]] == ["a", "b", "c"]


async def test_settings_are_what_the_person_chose_last(archive: ConversationArchive) -> None:
    chosen = MemorySettings(
        enabled=False,
        retention_days=3,
        cross_session=False,
        save_voice_transcripts=False,
        save_rag_context=False,
        anonymize_phi=False,
    )
    await archive.put_settings(PERSON, MemorySettings(retention_days=90))
    await archive.put_settings(PERSON, chosen)
    await archive.put_settings(PERSON, chosen)
    assert await archive.settings(PERSON) == chosen
    assert await archive.settings(OTHER) == MemorySettings()


async def test_preferences_are_set_one_by_one(archive: ConversationArchive) -> None:
    await archive.put_preferences(PERSON, {"language": "ar", "voice": {"name": "amy", "rate": 1.5}})
    await archive.put_preferences(PERSON, {"language": "hi", "nickname": None})
    await archive.put_preferences(PERSON, {})
    assert await archive.preferences(PERSON) == {
        "language": "hi",
        "voice": {"name": "amy", "rate": 1.5},
        "nickname": None,
    }
    assert await archive.preferences(OTHER) == {}


async def test_nobody_has_no_settings_or_preferences(archive: ConversationArchive) -> None:
    await archive.put_settings("", MemorySettings(retention_days=1))
    await archive.put_preferences("", {"language": "ar"})
    assert await archive.settings("") == MemorySettings()
    assert await archive.preferences("") == {}


async def test_idle_sessions_wait_for_a_summary_longest_idle_first(
    archive: ConversationArchive,
) -> None:
    await archive.save_conversation(PERSON, "b", [said("x", at=ago(hours=2))])
    await archive.save_conversation(PERSON, "a", [said("x", at=ago(hours=3))])
    await archive.save_conversation("", "c", [said("x", at=ago(hours=1, seconds=1))])
    await archive.save_conversation(PERSON, "busy", [said("x", at=ago(hours=1)), said("y")])
    await archive.save_conversation(PERSON, "silent", [], [happened("e", at=ago(days=1))])
    idle_since = ago(hours=1)
    assert await archive.unsummarised(idle_since=idle_since, limit=10) == ["a", "b", "c"]
    assert await archive.unsummarised(idle_since=idle_since, limit=2) == ["a", "b"]


async def test_a_summarised_session_waits_again_after_a_new_message(
    archive: ConversationArchive,
) -> None:
    await archive.save_conversation(PERSON, "s1", [said("a", at=ago(hours=2))])
    await archive.put_summary("s1", "about a", through=1)
    assert await archive.unsummarised(idle_since=NOON, limit=10) == []
    await archive.save_conversation(PERSON, "s1", [said("b", at=ago(hours=1))])
    assert await archive.unsummarised(idle_since=NOON, limit=10) == ["s1"]


async def test_a_later_summary_is_never_replaced_by_an_earlier_one(
    archive: ConversationArchive,
) -> None:
    await archive.save_conversation(PERSON, "s1", [said(name) for name in "abc"])
    await archive.put_summary("s1", "of two", through=2)
    await archive.put_summary("s1", "of one", through=1)
    assert [past.summary for past in await archive.past_sessions(PERSON, limit=1)] == ["of two"]
    await archive.put_summary("s1", "of three", through=3)
    await archive.put_summary("s1", "of three", through=3)
    assert [past.summary for past in await archive.past_sessions(PERSON, limit=1)] == ["of three"]


async def test_the_latest_summaries_win_whatever_order_they_come_in(
    archive: ConversationArchive,
) -> None:
    await archive.save_conversation(PERSON, "s1", [said(f"m{n}") for n in range(20)])
    async with asyncio.TaskGroup() as group:
        for through in (4, 20, 8, 1, 16, 12):
            group.create_task(archive.put_summary("s1", f"of {through}", through=through))
    assert [past.summary for past in await archive.past_sessions(PERSON, limit=1)] == ["of 20"]


async def test_past_sessions_are_those_with_a_summary_newest_first(
    archive: ConversationArchive,
) -> None:
    for days in (3, 1, 2):
        await summarised(archive, f"s{days}", at=ago(days=days), language=f"l{days}")
    await summarised(archive, "theirs", person=OTHER)
    await summarised(archive, "nobodys", person="")
    await archive.save_conversation(PERSON, "now", [said("a")])
    first, second, third = await archive.past_sessions(PERSON, limit=10)
    assert first == PastSession(session_id="s1", summary="about s1", language="l1", at=ago(days=1))
    assert (second.session_id, third.session_id) == ("s2", "s3")
    assert await archive.past_sessions(PERSON, limit=1) == [first]
    assert await archive.past_sessions(PERSON, limit=1, exclude="s1") == [second]
    assert await archive.past_sessions("", limit=10) == []


async def test_a_past_session_speaks_the_language_of_its_last_message(
    archive: ConversationArchive,
) -> None:
    await archive.save_conversation(
        PERSON, "s1", [said("a", language="en"), said("b", language="ar", at=ago(hours=1))]
    )
    await archive.save_conversation(PERSON, "s1", [said("z", language="hi", sequence=1)])
    await archive.put_summary("s1", "hello", through=2)
    (past,) = await archive.past_sessions(PERSON, limit=1)
    assert (past.language, past.at) == ("ar", NOON)


ODD = {
    "nul": ("a\0b", "ab"),
    "surrogate": ("a\ud83db", "ab"),
    "emoji": ("👩🏽‍⚕️ 🇮🇳", "👩🏽‍⚕️ 🇮🇳"),
    "scripts": ("नमस्ते مرحبا \u202e\ufeff", "नमस्ते مرحبا \u202e\ufeff"),
    "escapes": ("\\u0000 \\x00 '; DROP TABLE conversations; --", None),
    "empty": ("", ""),
    "blank": (" \r\n\t", " \r\n\t"),
    "huge": ("wörd " * 200_000, None),
}


@pytest.mark.parametrize(("text", "kept"), ODD.values(), ids=ODD)
async def test_odd_texts_are_kept_as_far_as_can_be(
    archive: ConversationArchive, text: str, kept: str | None
) -> None:
    kept = text if kept is None else kept
    entry = said(
        "a",
        content=text,
        language=text[:50],
        retrieved_passages=(text, text),
        sources=({"document": text, text[:9]: 1},),
        degradations=(text[:50],),
    )
    event = happened("e", event_type=text[:50], data={"text": text, "list": [text]})
    assert await archive.save_conversation(PERSON, "s1", [entry], [event]) == 2
    (found,), (noted,) = await archive.load_conversation("s1"), await archive.load_events("s1")
    assert (found.content, found.retrieved_passages) == (kept, (kept, kept))
    assert found.sources[0]["document"] == kept
    assert noted.data == {"text": kept, "list": [kept]}
    await archive.put_summary("s1", text, through=1)
    await archive.put_preferences(PERSON, {"note": text})
    assert await archive.preferences(PERSON) == {"note": kept}


async def test_odd_ids_are_one_and_the_same(archive: ConversationArchive) -> None:
    await archive.save_conversation("per\0son", "se\0ssion", [said("i\0d")])
    await archive.save_conversation("per\0son", "se\0ssion", [said("i\0d")])
    assert [entry.id for entry in await archive.load_conversation("se\0ssion")] == ["id"]
    assert await archive.sessions_of("per\0son") == ["session"]
    counts = await archive.delete_session("se\0ssion")
    assert counts["conversation_entries"] == 1


async def test_values_that_are_no_json_break_nothing(archive: ConversationArchive) -> None:
    entry = said(
        "a",
        latency_ms=float("nan"),
        stages_ms={"llm": float("inf"), "tts": 1.5},
        sources=({"page": {1}, "when": NOON, "score": float("-inf")},),
    )
    await archive.save_conversation(PERSON, "s1", [entry], [happened("e", data={"t": (1, 2)})])
    (found,), (noted,) = await archive.load_conversation("s1"), await archive.load_events("s1")
    assert (found.latency_ms, found.stages_ms) == (None, {"llm": None, "tts": 1.5})
    assert found.sources == ({"page": [1], "when": str(NOON), "score": None},)
    assert noted.data == {"t": [1, 2]}
    json.dumps(await archive.export(PERSON), allow_nan=False)


async def test_times_are_utc(archive: ConversationArchive) -> None:
    kolkata = NOON.astimezone(timezone(timedelta(hours=5, minutes=30)))
    entries = [said("a", at=kolkata), said("b", at=NOON.replace(tzinfo=None))]
    await archive.save_conversation(PERSON, "s1", entries)
    for entry in await archive.load_conversation("s1"):
        assert entry.timestamp is not None
        assert entry.timestamp.isoformat() == NOON.isoformat()
