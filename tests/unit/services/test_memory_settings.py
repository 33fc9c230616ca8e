"""Each setting changes what is stored and what is not."""

from dataclasses import replace
from typing import Any

import pytest

from src.schemas.memory import MemoryEntry, MemorySettings
from tests.unit.services.memory_bench import AWAY, SESSION, USER, Bench, bench, said, until

NUMBER = "555 0123"
ANSWER = said(
    f"It is {NUMBER}.",
    role="assistant",
    retrieved_passages=(f"The office: {NUMBER}",),
    sources=({"document": "handbook.pdf", "page": 2, "score": 0.5},),
)


async def choose(b: Bench, **choice: Any) -> None:
    await b.fakes.raw.archive.put_settings(USER, MemorySettings(**choice))


async def test_disabled_memory_stores_nothing_anywhere() -> None:
    async with bench() as b:
        await choose(b, enabled=False)
        before = b.fakes.dump()
        await b.memory.begin_session(SESSION, user_id=USER, metadata={"language": "hi"})
        written = await b.memory.add_entry(SESSION, said("a"), USER)
        await b.memory.add_event(SESSION, "mode_switch", {"to_mode": "text"})
        await b.memory.track_language_switch(SESSION, "en", "hi", "user_request")
        # What the session is in is known to this process all the same.
        context = await b.memory.get_context(SESSION)
        assert (context.mode, context.language) == ("text", "hi")
        assert await b.archived() == []
        assert not written.stored
        assert written.degradations == ()
        assert b.fakes.dump() == before


async def test_voice_transcripts_are_left_out_where_they_are_not_wanted() -> None:
    async with bench() as b:
        await choose(b, save_voice_transcripts=False)
        await b.memory.add_entry(SESSION, said("spoken"), USER)
        await b.memory.add_entry(SESSION, said("typed", mode="text"), USER)
        await b.memory.add_entry(SESSION, said("spoken too", role="assistant"), USER)
        await b.memory.add_entry(SESSION, said("typed too", mode="text"), USER)
        assert await b.live() == ["typed", "typed too"]
        assert await b.archived() == ["typed", "typed too"]
        told = await b.fakes.raw.archive.load_conversation(SESSION)
        assert [one.sequence for one in told] == [1, 2]
        assert "spoken" not in b.fakes.dump()


@pytest.mark.parametrize("wanted", [True, False])
async def test_passages_are_kept_if_they_are_wanted(*, wanted: bool) -> None:
    async with bench() as b:
        await choose(b, save_rag_context=wanted)
        await b.memory.add_entry(SESSION, ANSWER, USER)
        await b.archived()
        for entry in (
            (await b.fakes.raw.sessions.load_session(SESSION))[0],
            (await b.fakes.raw.archive.load_conversation(SESSION))[0],
        ):
            assert bool(entry.retrieved_passages) is wanted
            assert bool(entry.sources) is wanted
        with_rag = await b.memory.get_context(SESSION)
        without = await b.memory.get_context(SESSION, include_rag=False)
        assert with_rag.passages == (("The office: [NUMBER]",) if wanted else ())
        assert without.passages == ()


async def test_anonymised_memory_holds_no_identifier_in_any_store() -> None:
    async with bench() as b:
        b.fakes.archive_faults.error = AWAY
        await b.memory.begin_session(SESSION, user_id=USER)
        await b.memory.add_entry(SESSION, said(f"I am at {NUMBER}."), USER)
        await b.memory.add_entry(SESSION, ANSWER, USER)
        await b.memory.add_event(
            SESSION, "note", {"text": NUMBER, "more": [{"deep": NUMBER}], "count": 3}
        )
        assert await b.journalled() == ["I am at [NUMBER].", "It is [NUMBER]."]
        assert NUMBER not in b.fakes.dump()
        b.fakes.archive_faults.error = None
        assert await b.archived() == ["I am at [NUMBER].", "It is [NUMBER]."]
        assert NUMBER not in b.fakes.dump()
        assert all(one.phi_detected for one in await b.memory.get_history(SESSION))
        (event,) = await b.memory.get_events(SESSION)
        assert event["text"] == "[NUMBER]"
        assert event["more"] == [{"deep": "[NUMBER]"}]
        assert event["count"] == 3


async def test_without_anonymisation_words_stay_and_what_was_found_is_noted() -> None:
    async with bench() as b:
        await choose(b, anonymize_phi=False)
        await b.memory.add_entry(SESSION, said(f"I am at {NUMBER}."), USER)
        await b.memory.add_entry(SESSION, said("Nothing here."), USER)
        await b.memory.add_event(SESSION, "note", {"text": NUMBER})
        assert await b.archived() == [f"I am at {NUMBER}.", "Nothing here."]
        assert [one.phi_detected for one in await b.memory.get_history(SESSION)] == [True, False]
        assert (await b.memory.get_events(SESSION))[0]["text"] == NUMBER


@pytest.mark.parametrize("error", [ValueError("no model"), None])
async def test_words_that_cannot_be_masked_are_withheld(error: Exception | None) -> None:
    async with bench() as b:
        b.redactor.error = error
        if error is None:
            b.memory._live._masking._limit_s = 0.01
            b.redactor.free.clear()
        await b.memory.add_entry(SESSION, said(f"I am at {NUMBER}."), USER)
        (entry,) = await b.memory.get_history(SESSION)
        assert entry.content == "[WITHHELD]"
        assert entry.phi_detected
        assert "redaction_failed" in entry.degradations
        assert NUMBER not in b.fakes.dump()


async def test_a_text_that_was_prepared_is_masked_once() -> None:
    async with bench() as b:
        await b.say("hello")
        b.memory.prepare(SESSION, "call 555 0123")
        await until(lambda: len(b.redactor.asked) == 2)
        await b.memory.add_entry(SESSION, said("call 555 0123"), USER)
        assert [text for text, _ in b.redactor.asked] == ["hello", "call 555 0123"]
        assert await b.live() == ["hello", "call [NUMBER]"]


async def test_the_redactor_knows_the_speakers_last_turns() -> None:
    async with bench() as b:
        for text in ("one", "two", "three", "four", "five"):
            await b.memory.add_entry(SESSION, said(text), USER)
            await b.memory.add_entry(SESSION, said("okay", role="assistant"), USER)
        assert ("five", ("two", "three", "four")) in b.redactor.asked


async def test_a_masking_that_is_late_is_noted_on_the_entry() -> None:
    async with bench() as b:
        clock, masked = b.clock, b.redactor.redact

        class Slow(type(b.redactor)):  # type: ignore[misc]  # of whatever redactor the bench has
            def redact(self, text: str, **named: Any) -> Any:
                clock.advance(1)
                return masked(text, **named)

        b.memory._live._masking._redactor = Slow()
        await b.memory.add_entry(SESSION, said("hello"), USER)
        (entry,) = await b.memory.get_history(SESSION)
        assert entry.degradations == ("redaction_late",)


async def test_unknown_settings_mask_and_are_asked_for_again_before_anything_is_archived() -> None:
    async with bench() as b:
        await choose(b, save_voice_transcripts=False, anonymize_phi=False)
        b.fakes.archive_faults.error = AWAY
        await b.memory.add_entry(SESSION, said(f"spoken {NUMBER}"), USER)
        await b.memory.add_entry(SESSION, said("typed", mode="text"), USER)
        assert NUMBER not in b.fakes.dump()
        b.fakes.archive_faults.error = None
        assert await b.archived() == ["typed"]
        assert "spoken" not in b.fakes.dump()
        assert await b.history() == ["typed"]


async def test_settings_that_become_known_after_an_outage_undo_what_they_forbid() -> None:
    async with bench() as b:
        await choose(b, enabled=False)
        b.fakes.archive_faults.error = b.fakes.session_faults.error = AWAY
        await b.memory.add_entry(SESSION, said("a"), USER)
        await b.memory.add_event(SESSION, "mode_switch", {"to_mode": "text"})
        b.fakes.archive_faults.error = b.fakes.session_faults.error = None
        assert await b.archived() == []
        await until(lambda: not _behind(b))
        assert await b.live() == []
        assert await b.fakes.raw.sessions.metadata(SESSION) == {}
        assert await b.journalled() == []


def _behind(b: Bench) -> bool:
    return any(writer.copy.behind for writer in b.memory._live.of(USER))


async def test_a_replay_keeps_to_the_settings_of_its_time() -> None:
    async with bench() as b:
        b.fakes.archive_faults.error = AWAY
        await b.say("a")
        await b.restart()
        b.fakes.archive_faults.error = None
        await choose(b, enabled=False)
        await b.memory.replay()
        assert await b.fakes.raw.archive.load_conversation(SESSION) == []
        assert await b.journalled() == []


async def test_a_change_of_settings_holds_at_once_for_sessions_of_this_process() -> None:
    async with bench() as b:
        await b.say("a")
        await b.memory.put_settings(USER, MemorySettings(enabled=False))
        assert await b.memory.settings_of(USER) == MemorySettings(enabled=False)
        await b.say("b")
        assert await b.archived() == ["a"]


async def test_a_language_is_remembered_for_the_person() -> None:
    async with bench() as b:
        await b.memory.begin_session(SESSION, user_id=USER)
        await b.memory.track_language_switch(SESSION, "en", "hi", "user_request")
        await b.memory.flush(SESSION)
        await until(lambda: b.fakes.raw.archive._preferences)  # type: ignore[attr-defined]  # the in-memory one
        await b.restart()
        context = await b.memory.begin_session("s2", user_id=USER)
        assert context.preferences == {"language": "hi"}


async def test_mode_and_language_switches_are_events_and_the_sessions_state() -> None:
    async with bench() as b:
        await b.say("a")
        await b.memory.track_language_switch(SESSION, "en", "ar", "auto_detected")
        context = await b.memory.handle_mode_switch(SESSION, "voice", "text")
        assert [one.content for one in context.messages] == ["a"]
        assert (context.mode, context.language) == ("text", "ar")
        assert context.metadata["mode"] == "text"
        assert [switch["to_language"] for switch in context.language_switches] == ["ar"]
        events = await b.memory.get_events(SESSION)
        assert [event["event_type"] for event in events] == ["language_switch", "mode_switch"]
        assert events[0]["timestamp"] == b.clock.now().isoformat()
        assert len(await b.memory.get_events(SESSION, "mode_switch", limit=5)) == 1
        assert len(await b.memory.get_events(SESSION, limit=1)) == 1


async def test_codes_of_switches_are_not_taken_for_words() -> None:
    async with bench() as b:
        await b.memory.add_event(SESSION, "language_switch", {"from_language": NUMBER})
        assert (await b.memory.get_events(SESSION))[0]["from_language"] == "[NUMBER]"


async def test_huge_contents_are_cut() -> None:
    async with bench() as b:
        await b.memory.add_entry(SESSION, replace(said("x"), content="y" * 10_000_000), USER)
        (entry,) = await b.memory.get_history(SESSION)
        assert isinstance(entry, MemoryEntry)
        assert len(entry.content) < 20_000
