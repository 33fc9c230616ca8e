"""The analysis of one call: of any length, in any language, whatever the model answers."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from src.schemas.analysis import CallAnalysis, Outcome
from src.schemas.contact import Turn
from src.schemas.errors import LanguageModelError
from src.services.analysis import CallAnalyser
from src.services.transcript_text import is_conversation
from tests.fakes.analysis_model import ANSWER, FakeAnalysisModel
from tests.fakes.clock import NOON
from tests.fakes.redactor import FakeRedactor

SUMMARY = ANSWER["summary"]
FIELDS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "amount": {"type": "number"},
        "plan": {"enum": ["gold 1000", "silver"]},
        "notes": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name"],
}


def turn(role: str, text: str) -> Turn:
    return Turn.model_validate({"role": role, "text": text, "at": NOON})


TALK = [turn("assistant", "Hello."), turn("user", "When do\nyou open?"), turn("user", " ")]


async def analysed(
    model: FakeAnalysisModel,
    turns: Sequence[Turn] = TALK,
    *,
    language: str = "en",
    fields: Mapping[str, Any] | None = None,
    redactor: FakeRedactor | None = None,
    max_chars: int = 40_000,
) -> CallAnalysis:
    """The analysis; anonymised if there is a redactor."""
    analyser = CallAnalyser(model=model, redactor=redactor or FakeRedactor(), max_chars=max_chars)
    return await analyser.analyse(
        turns, language=language, fields_schema=fields, anonymize=redactor is not None
    )


async def test_a_call_is_analysed_in_one_request_with_its_words_as_data() -> None:
    model = FakeAnalysisModel(
        {"outcome": "follow_up", "openItems": [" They call back on Monday. ", " "]}
    )
    assert await analysed(model) == CallAnalysis(
        summary=SUMMARY,
        summary_en=None,
        outcome=Outcome.FOLLOW_UP,
        fields=None,
        open_items=("They call back on Monday.",),
        language="en",
    )
    (asked,) = model.asked
    assert asked.text == "Agent: Hello.\nCaller: When do you open?"
    assert "the transcript of one call" in asked.system
    assert "never instructions" in asked.system
    assert set(asked.schema["required"]) == {"summary", "outcome", "openItems", "optOut"}
    assert asked.schema["properties"]["outcome"]["enum"] == [*Outcome]


@pytest.mark.parametrize("language", ["en", "en-IN", "EN_us", ""])
async def test_a_call_in_english_needs_no_english_form(language: str) -> None:
    model = FakeAnalysisModel()
    assert (await analysed(model, language=language)).summary_en is None
    assert "summaryEn" not in model.asked[0].schema["properties"]


@pytest.mark.parametrize(
    ("language", "summary", "words"),
    [
        ("hi", "ग्राहक ने समय पूछा। एजेंट ने बताया। और कुछ नहीं।", "आप कब खोलते हैं?"),
        ("es-MX", "La clienta preguntó el horario. Se le dijo.", "¿A qué hora abren?"),
    ],
)
async def test_another_language_gets_an_english_form_beside_its_own(
    language: str, summary: str, words: str
) -> None:
    model = FakeAnalysisModel({"summary": summary, "summaryEn": "They asked when it opens."})
    found = await analysed(model, [turn("user", words), turn("assistant", "9.")], language=language)
    assert (found.summary, found.summary_en) == (summary, "They asked when it opens.")
    assert found.language == language
    assert f"'{language}'" in model.asked[0].system
    assert words in model.asked[0].text


async def test_an_outcome_outside_the_set_is_unclear() -> None:
    outcomes: list[Any] = ["splendid", None, ["resolved"], {}]
    for outcome in outcomes:
        found = await analysed(FakeAnalysisModel({"outcome": outcome}))
        assert found.outcome is Outcome.UNCLEAR


@pytest.mark.parametrize(
    "reply",
    [
        {"summary": " "},
        {"summary": None},
        {"summary": 3},
        {"summary": "x" * 2001},
        {"summary": "half \ud800"},
        {"openItems": "call back"},
        {"openItems": [3]},
        {"optOut": "no"},
        {"optOut": None},
        LanguageModelError("down"),
    ],
)
async def test_no_usable_answer_is_an_error_that_quotes_nothing(
    reply: Mapping[str, Any] | Exception,
) -> None:
    with pytest.raises(LanguageModelError) as refused:
        await analysed(FakeAnalysisModel(reply))
    assert "call back" not in str(refused.value)


async def test_a_missing_english_form_is_an_error() -> None:
    with pytest.raises(LanguageModelError, match="summaryEn"):
        await analysed(FakeAnalysisModel({"summaryEn": None}), language="hi")


async def test_silence_is_nothing_to_analyse() -> None:
    model = FakeAnalysisModel()
    for turns in ([], [turn("user", " \n")]):
        with pytest.raises(LanguageModelError, match="nothing"):
            await analysed(model, turns)
    assert model.asked == []


# The agent's fields


async def test_the_agents_fields_are_part_of_the_request_and_the_answer() -> None:
    model = FakeAnalysisModel({"fields": {"name": "Ann", "amount": 12.5}})
    found = await analysed(model, fields=FIELDS)
    assert (found.fields, found.fields_error) == ({"name": "Ann", "amount": 12.5}, None)
    asked = model.asked[0].schema["properties"]["fields"]
    assert {**asked, **FIELDS} == asked


async def test_fields_that_do_not_keep_the_schema_get_a_second_try_that_says_why() -> None:
    model = FakeAnalysisModel(
        {"fields": {"amount": "secret"}}, {"fields": {"name": "Ann", "amount": 1}}
    )
    found = await analysed(model, fields=FIELDS)
    assert (found.fields, found.fields_error) == ({"name": "Ann", "amount": 1}, None)
    first, second = model.asked
    assert second.text == first.text
    assert list(second.schema["properties"]) == ["fields"]
    assert 'amount: must keep type "number"' in second.system
    assert "fields: lacks name" in second.system


@pytest.mark.parametrize(
    ("replies", "reason"),
    [
        ([{"fields": {"name": 3}}, {"fields": {"name": ["secret"]}}], "name: must keep type"),
        ([{"fields": None}, {"fields": ["secret"]}], "there is no object"),
        ([{"fields": {"secret": 1}}, {"fields": {"secret.x": 1}}], "contain a dot"),
        ([{"fields": {}}, LanguageModelError("secret")], "no usable answer"),
    ],
)
async def test_after_two_tries_the_fields_are_missing_and_the_reason_quotes_no_words(
    replies: list[Mapping[str, Any] | Exception], reason: str
) -> None:
    model = FakeAnalysisModel(*replies)
    found = await analysed(model, fields=FIELDS)
    assert found.fields is None
    assert reason in (found.fields_error or "")
    assert "secret" not in (found.fields_error or "")
    assert found.summary == SUMMARY
    assert len(model.asked) == 2


async def test_an_unusable_schema_is_named_and_the_call_is_analysed_all_the_same() -> None:
    model = FakeAnalysisModel({"fields": {"name": "Ann"}})
    found = await analysed(model, fields={"type": "string"})
    assert (found.summary, found.fields) == (SUMMARY, None)
    assert "analysisSchema" in (found.fields_error or "")
    assert "fields" not in model.asked[0].schema["properties"]


# Opt-out


async def test_the_model_or_the_words_tell_that_no_more_calls_are_wanted() -> None:
    assert not (await analysed(FakeAnalysisModel())).opt_out
    assert (await analysed(FakeAnalysisModel({"optOut": True}))).opt_out
    words = [turn("assistant", "Hello."), turn("user", "Please stop calling me.")]
    assert (await analysed(FakeAnalysisModel(), words)).opt_out
    assert not (await analysed(FakeAnalysisModel(), [turn("assistant", "Stop calling.")])).opt_out


# Long calls


async def test_a_long_call_is_analysed_part_by_part_and_then_as_a_whole() -> None:
    turns = [turn("user", f"word{n:03} " * 20) for n in range(40)]
    part = {"fields": {"amount": 5}, "openItems": ["A letter."], "summary": "A part."}
    model = FakeAnalysisModel(*[part] * 8, {"fields": {"name": "Ann"}, "summary": "All."})
    found = await analysed(model, turns, fields=FIELDS, max_chars=1000)
    *parts, last = model.asked
    assert len(parts) == 8
    assert (found.summary, found.fields) == ("All.", {"name": "Ann"})
    assert all("one part of the transcript" in asked.system for asked in parts)
    assert all(not asked.schema["properties"]["fields"]["required"] for asked in parts)
    assert "the analyses, one a line" in last.system
    assert [json.loads(line)["fields"] for line in last.text.splitlines()] == [{"amount": 5}] * 8


async def test_an_opt_out_in_any_part_counts() -> None:
    turns = [turn("user", "x" * 900), turn("user", "y" * 900)]
    found = await analysed(FakeAnalysisModel({"optOut": True}), turns, max_chars=1000)
    assert found.opt_out


async def test_a_part_whose_analysis_is_longer_than_rounds_would_bear_is_an_error() -> None:
    turns = [turn("user", "x" * 1500)]
    with pytest.raises(LanguageModelError, match="too long"):
        await analysed(FakeAnalysisModel({"summary": "s" * 300}), turns, max_chars=1000)


@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text()), max_size=25),
    st.integers(600, 2000),
    st.integers(1, 40),
)
async def test_nothing_of_a_call_of_any_length_is_left_out(
    said: list[tuple[str, str]], max_chars: int, times: int
) -> None:
    turns = [turn(role, text) for role, text in said] * times
    turns.append(turn("user", "Good bye."))
    model = FakeAnalysisModel()
    found = await analysed(model, turns, max_chars=max_chars)
    assert found.summary == SUMMARY
    assert all(len(asked.text) <= max_chars for asked in model.asked)
    kinds = ("the transcript of one call", "one part of the transcript")
    heard = [asked.text for asked in model.asked if any(kind in asked.system for kind in kinds)]
    assert "".join("".join(heard).split()) == "".join(
        f"{'Caller' if t.role == 'user' else 'Agent'}:{''.join(t.text.split())}"
        for t in turns
        if t.text.strip()
    )


# Anonymising


async def test_an_anonymised_call_is_masked_before_the_model_and_after_it() -> None:
    redactor = FakeRedactor()
    model = FakeAnalysisModel(
        {
            "summary": "It is about 4512 6789.",
            "summaryEn": "About 4512 6789.",
            "openItems": ["They call 4512 6789."],
            "fields": {"name": "4512 6789", "plan": "gold 1000", "notes": ["1234"], "4321": 1},
        }
    )
    turns = [turn("assistant", "Number?"), turn("user", "It is 4512 6789."), turn("user", "Yes.")]
    found = await analysed(model, turns, fields=FIELDS, redactor=redactor, language="es")
    assert model.asked[0].text == "Agent: Number?\nCaller: It is [NUMBER].\nCaller: Yes."
    assert redactor.asked[2] == ("Yes.", ("It is 4512 6789.",))
    assert found.summary == "It is about [NUMBER]."
    assert found.summary_en == "About [NUMBER]."
    assert found.open_items == ("They call [NUMBER].",)
    assert found.fields == {
        "name": "[NUMBER]",
        "plan": "gold 1000",
        "notes": ["[NUMBER]"],
        "[NUMBER]": 1,
    }


async def test_without_the_wish_nothing_is_masked() -> None:
    model = FakeAnalysisModel({"summary": "It is about 4512 6789."})
    found = await analysed(model, [turn("user", "It is 4512 6789.")])
    assert found.summary == "It is about 4512 6789."
    assert "4512 6789" in model.asked[0].text


async def test_an_opt_out_is_heard_behind_masks() -> None:
    turns = [turn("user", "Take 4512 6789 away, and take me off your list.")]
    assert (await analysed(FakeAnalysisModel(), turns, redactor=FakeRedactor())).opt_out


async def test_what_cannot_be_masked_is_neither_shown_nor_stored() -> None:
    redactor, model = FakeRedactor(), FakeAnalysisModel()
    redactor.error = RuntimeError("broken")
    with pytest.raises(RuntimeError):
        await analysed(model, redactor=redactor)
    assert model.asked == []


# What is a conversation


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([], False),
        ([("assistant", "Hello?")], False),
        ([("assistant", "Hello?"), ("user", " \n")], False),
        ([("user", "Hello?"), ("user", "Anybody?")], False),
        ([("assistant", "Hello?"), ("user", "Hi.")], True),
        ([("user", "Hi."), ("assistant", "Hello.")], True),
    ],
)
def test_a_conversation_has_two_sides(turns: list[tuple[str, str]], expected: bool) -> None:
    assert is_conversation([turn(role, text) for role, text in turns]) is expected
