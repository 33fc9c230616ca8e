"""The local model's analysis of a call: from the transcript and from nothing else."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from typing_extensions import override

from src.schemas.analysis import CallAnalysis
from src.schemas.contact import Turn
from src.services.analysis import AnalysisModel, CallAnalyser
from tests.fakes.clock import NOON
from tests.fakes.redactor import FakeRedactor
from tests.unit.local.chat_messages import ask, said, system, user

FIELDS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": ["string", "null"]},
        "appointment_date": {"type": ["string", "null"]},
        "appointment_time": {"type": ["string", "null"]},
        "amount": {"type": ["number", "null"]},
        "reason": {"type": ["string", "null"]},
    },
    "required": ["name", "appointment_date", "appointment_time", "amount", "reason"],
}
REFUND = """Agent: Hello, how can I help you?
Caller: My name is Ann Lee. I want a refund of forty dollars on my card.
Agent: I am sorry to hear that. We will send the refund to your card within three days.
Caller: Can a technician come next Tuesday at three o'clock?
Agent: Yes, that works.
Caller: Thank you, goodbye."""


class LocalModel(AnalysisModel):
    """The local model without the wire."""

    def __init__(self) -> None:
        self.asked = 0

    @override
    async def ask(self, *, system: str, text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        self.asked += 1
        shape = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
        reply = ask(
            {"role": "system", "content": system},
            {"role": "user", "content": text},
            response_format=shape,
        )
        return dict(json.loads(reply.text))


async def analysed(
    text: str,
    *,
    language: str = "en",
    fields: dict[str, Any] | None = None,
    max_chars: int = 40_000,
) -> CallAnalysis:
    turns = [
        Turn(role="user" if who == "Caller" else "assistant", text=words, at=NOON)
        for who, words in (line.split(": ", 1) for line in text.splitlines())
    ]
    analyser = CallAnalyser(model=LocalModel(), redactor=FakeRedactor(), max_chars=max_chars)
    return await analyser.analyse(turns, language=language, fields_schema=fields, anonymize=False)


async def test_a_call_about_a_refund() -> None:
    found = await analysed(REFUND, fields=FIELDS)
    asked = system("You summarise phone calls. Answer with three to four sentences.")
    assert found.summary == said(asked, user(REFUND))
    assert "refund" in found.summary
    assert "card" in found.summary
    assert found.summary_en is None
    assert found.outcome == "follow_up"
    assert found.open_items == ("We will send the refund to your card within three days.",)
    assert not found.opt_out
    assert found.fields_error is None
    assert found.fields == {
        "name": "Ann Lee",
        "appointment_date": "next Tuesday",
        "appointment_time": "three o'clock",
        "amount": 40,
        "reason": "My name is Ann Lee. I want a refund of forty dollars on my card.",
    }


async def test_what_was_not_said_is_null() -> None:
    found = await analysed("Agent: Hello.\nCaller: Are you open?\nAgent: Yes.", fields=FIELDS)
    assert found.outcome == "resolved"
    assert found.open_items == ()
    assert found.fields == {**dict.fromkeys(FIELDS["properties"]), "reason": "Are you open?"}


@pytest.mark.parametrize(
    ("lines", "outcome"),
    [
        (
            "Caller: Do you sell hats?\nAgent: I am sorry, I do not have that information.",
            "unresolved",
        ),
        ("Agent: Hello.\nCaller: You have the wrong number.", "wrong_person"),
        ("Agent: Hello.\nCaller: Please leave a message after the tone.", "voicemail"),
        ("Agent: Hello.\nCaller: I am driving, call me back later.", "callback"),
        ("Agent: We have an offer.\nCaller: I am not interested.", "declined"),
        ("Agent: An offer.\nCaller: Take me off your list.\nAgent: Sorry.", "declined"),
        ("Caller: I need a person.\nAgent: I will transfer you now.", "transferred"),
        ("Agent: Hello.\nCaller: Hello.\nAgent: Yes?", "unclear"),
    ],
)
async def test_the_outcome_is_told_by_the_words(lines: str, outcome: str) -> None:
    assert (await analysed(lines)).outcome == outcome


async def test_an_opt_out_is_the_callers_and_not_the_agents() -> None:
    assert (await analysed("Agent: An offer.\nCaller: Don't call me again.")).opt_out
    assert not (await analysed("Caller: Hi, a question.\nAgent: Don't call me again.")).opt_out


@pytest.mark.parametrize(
    ("language", "line", "start"),
    [
        ("es-MX", "Quiero un reembolso en mi tarjeta.", "La persona dijo: Quiero un reembolso"),
        ("hi", "मुझे रिफंड चाहिए।", "कॉलर ने कहा: मुझे रिफंड चाहिए।"),
        ("fr", "Je veux un remboursement.", "The caller said: Je veux"),
    ],
)
async def test_a_call_in_another_language_gets_both_forms(
    language: str, line: str, start: str
) -> None:
    found = await analysed(f"Caller: {line}\nAgent: Sí.", language=language)
    assert found.summary.startswith(start)
    assert (found.summary_en or "").startswith(f"The caller said: {line}")


async def test_a_long_call_is_joined_from_its_parts() -> None:
    filler = "\n".join(f"Caller: Then step {n}?\nAgent: Press the button {n}." for n in range(60))
    text = f"{REFUND}\n{filler}\nCaller: And please take me off your list.\nAgent: Of course."
    found = await analysed(text, fields=FIELDS, max_chars=3000)
    assert "refund" in found.summary
    assert found.opt_out
    assert found.open_items == ("We will send the refund to your card within three days.",)
    assert found.fields is not None
    assert (found.fields["name"], found.fields["amount"]) == ("Ann Lee", 40)


def test_material_that_is_no_transcript_still_gets_an_answer_of_the_shape() -> None:
    properties = {
        "summary": {"type": "string"},
        "outcome": {"enum": ["resolved", "unclear"]},
        "openItems": {"type": "array", "items": {"type": "string"}},
        "optOut": {"type": "boolean"},
    }
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    shape = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    answer = json.loads(said(user("One. Two."), response_format=shape))
    assert answer == {
        "summary": "One. Two.",
        "outcome": "unclear",
        "openItems": [],
        "optOut": False,
    }
