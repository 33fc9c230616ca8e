"""Summaries of calls and calls of tools, from the request and from nothing else."""

import json
from typing import Any

import pytest

from tests.unit.local.chat_messages import PROMPT, ask, said, system, user

SUMMARISE = system("You summarise phone calls. Answer with three to four sentences.")


def test_a_call_is_summarised_from_its_lines() -> None:
    summary = said(
        SUMMARISE,
        user(
            "Agent: Hello Ann, how can I help you?\n"
            "Caller: Hello. My thermostat in the nursery is broken.\n"
            "Agent: You can reset it with the power button.\n"
            "Caller: How long does a refund take?\n"
            "Agent: Refunds take three days.\n"
            "Caller: Thank you, goodbye.\n"
            "Agent: Goodbye."
        ),
    )
    assert summary == (
        "The caller said: My thermostat in the nursery is broken. "
        "The agent answered: You can reset it with the power button. "
        "The caller also raised: How long does a refund take? "
        "To that the agent answered: Refunds take three days."
    )


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            "Caller: Is it open?",
            "The caller asked: Is it open? The agent gave no answer to that. "
            "Nothing else was discussed.",
        ),
        (
            "Agent: Hello, how can I help you?",
            "The caller said nothing. The agent said: Hello, how can I help you? "
            "No question was raised.",
        ),
        (
            "Caller: Hello.\nAgent: Hi.",
            "The caller exchanged courtesies only. The agent said: Hi. No question was raised.",
        ),
    ],
)
def test_a_thin_call_still_gets_three_true_sentences(lines: str, expected: str) -> None:
    assert said(SUMMARISE, user(lines)) == expected


def test_summaries_of_parts_are_shortened() -> None:
    parts = "One happened. Two happened. Three happened.\nFour happened. Five happened."
    assert (
        said(SUMMARISE, user(parts)) == "One happened. Two happened. Three happened. Four happened."
    )


def test_a_call_about_summaries_is_not_summarised() -> None:
    prompt = f"{PROMPT}A yearly summary is sent in January."
    assert said(system(prompt), user("When is the summary sent?")) == (
        "A yearly summary is sent in January."
    )


def tool(name: str, description: str = "", **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


TOOLS = [
    tool("transfer_to_acme_billing", "Hand the caller over to acme billing, when they ask for it."),
    tool("transfer_to_acme_repairs", "Hand the caller over to acme repairs, when they ask for it."),
    tool("lookup_order", "Look up the status of an order.", order_number={"type": "integer"}),
]


@pytest.mark.parametrize(
    ("words", "called"),
    [
        ("Please transfer me to billing.", "transfer_to_acme_billing"),
        ("Can I talk to somebody in repairs?", "transfer_to_acme_repairs"),
        ("What is the status of my order 4512?", "lookup_order"),
        ("Do not transfer me to billing.", None),
        ("What is your billing address?", None),
        ("How long does a refund take?", None),
    ],
)
def test_a_tool_is_called_when_the_caller_asks_for_it(words: str, called: str | None) -> None:
    reply = ask(system(PROMPT), user(words), tools=TOOLS)
    assert (reply.tool.name if reply.tool else None) == called


def test_arguments_are_taken_from_the_callers_words() -> None:
    reply = ask(user("Look up order 4512 please."), tools=TOOLS)
    assert json.loads(reply.arguments) == {"order_number": 4512}


def test_no_tool_is_called_when_none_is_allowed() -> None:
    reply = ask(user("Please transfer me to billing."), tools=TOOLS, tool_choice="none")
    assert reply.tool is None


def test_a_field_that_is_null_is_absent() -> None:
    empty = dict.fromkeys(("tools", "tool_choice", "response_format", "stream"))
    assert said(user("Thank you."), **empty) == "You are welcome."


def test_a_required_tool_is_called_without_being_asked_for() -> None:
    reply = ask(user("My parcel is late."), tools=TOOLS, tool_choice="required")
    assert reply.tool is not None


def test_a_named_tool_is_called() -> None:
    choice = {"type": "function", "function": {"name": "lookup_order"}}
    reply = ask(user("Hello."), tools=TOOLS, tool_choice=choice)
    assert reply.tool is not None
    assert (reply.tool.name, json.loads(reply.arguments)) == ("lookup_order", {"order_number": 0})


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        ("Your order leaves tomorrow.", "Your order leaves tomorrow."),
        ('{"status": "sent", "days_left": 2}', "Status is sent. Days left is 2."),
        ('["red", "blue"]', "red, blue."),
        ("", "That is done."),
        ("null", "That is done."),
        (
            "We have 3 shops. One is in Rome. The status of the order is open. It rains.",
            "The status of the order is open.",
        ),
    ],
)
def test_after_a_tool_its_output_is_told(output: str, answer: str) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "lookup_order", "arguments": "{}"}}
    answered = said(
        system(PROMPT),
        user("What is the status of my order?"),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": output},
        tools=TOOLS,
    )
    assert answered == answer
