"""Chat through livekit's OpenAI plugin and OpenAI's own client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import openai
import pytest
from livekit.agents import APIStatusError, llm
from livekit.plugins import openai as openai_plugin

from local.providers.client import ProvidersClient, Step
from local.providers.grounded_reply import NO_RECORD, UNKNOWN
from tests.integration.providers.speech import ONCE, TWICE

pytestmark = pytest.mark.integration

PROMPT = """You are Clara of Acme Health. Answer briefly.
We are open from nine to five on weekdays.
Refunds are paid three to five business days after approval.
Cards can be blocked at any time of the day.
"""
HISTORY = """
## Previous Conversation History with This Contact
- 2026-11-02 14:05 (inbound, 3 weeks ago): The caller reported a broken thermostat.
"""


@pytest.fixture
async def model(url: str) -> AsyncIterator[openai_plugin.LLM]:
    model = openai_plugin.LLM(model="gpt-4.1", base_url=f"{url}/v1", api_key="local")
    yield model
    await model.aclose()


@pytest.fixture
async def client(url: str) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="local", max_retries=0) as client:
        yield client


def conversation(prompt: str, *said: str) -> llm.ChatContext:
    context = llm.ChatContext.empty()
    context.add_message(role="system", content=prompt)
    for text in said:
        context.add_message(role="user", content=text)
    return context


async def answer(model: llm.LLM, prompt: str, question: str) -> str:
    context = conversation(prompt, question)
    return (await model.chat(chat_ctx=context, conn_options=ONCE).collect()).text


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When are you open?", "We are open from nine to five on weekdays."),
        # No word in common: the meaning decides.
        ("How long until I get my money back?", "Refunds are paid three to five business days"),
        ("Who won the world cup?", UNKNOWN),
    ],
)
async def test_the_prompt_answers(model: openai_plugin.LLM, question: str, expected: str) -> None:
    assert (await answer(model, PROMPT, question)).startswith(expected)


async def test_earlier_calls_are_known_only_from_the_prompt(model: openai_plugin.LLM) -> None:
    question = "What did we talk about last time?"
    assert await answer(model, PROMPT, question) == NO_RECORD
    assert await answer(model, PROMPT + HISTORY, question) == (
        "Last time, 3 weeks ago: The caller reported a broken thermostat."
    )


async def test_a_stream_ends_with_its_usage(model: openai_plugin.LLM) -> None:
    context = conversation(PROMPT, "When are you open?")
    chunks = [chunk async for chunk in model.chat(chat_ctx=context)]
    assert sum(chunk.delta is not None for chunk in chunks) > 5
    [usage] = [chunk.usage for chunk in chunks if chunk.usage]
    assert usage.prompt_tokens > 30
    assert usage.completion_tokens == 10


@llm.function_tool
async def find_order(order_number: int) -> str:
    """Find the status of an order."""
    return f"Order {order_number} leaves tomorrow."


async def test_a_tool_is_called_and_its_output_is_told(
    model: openai_plugin.LLM, providers: ProvidersClient
) -> None:
    context = conversation(PROMPT, "What is the status of my order 4512?")
    called = await model.chat(chat_ctx=context, tools=[find_order]).collect()
    [call] = called.tool_calls
    assert (call.name, json.loads(call.arguments)) == ("find_order", {"order_number": 4512})
    output = await find_order(**json.loads(call.arguments))
    context.items.append(
        llm.FunctionCall(call_id=call.call_id, name=call.name, arguments=call.arguments)
    )
    context.items.append(
        llm.FunctionCallOutput(call_id=call.call_id, name=call.name, output=output, is_error=False)
    )
    told = await model.chat(chat_ctx=context, tools=[find_order]).collect()
    assert told.text == "Order 4512 leaves tomorrow."
    assert told.tool_calls == []
    assert [entry["called"] for entry in await providers.log("chat")] == ["find_order", None]


async def test_a_choice_of_tool_is_followed(client: openai.AsyncOpenAI) -> None:
    done = await client.chat.completions.create(
        model="gpt-4.1",
        messages=[{"role": "user", "content": "Hello."}],
        tools=[{"type": "function", "function": {"name": "find_order"}}],
        tool_choice="required",
    )
    [choice] = done.choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content is None
    assert choice.message.tool_calls
    assert choice.message.tool_calls[0].type == "function"


async def test_a_call_is_summarised(client: openai.AsyncOpenAI) -> None:
    done = await client.chat.completions.create(
        model="gpt-4.1",
        messages=[
            {"role": "system", "content": "Summarise the call in three to four sentences."},
            {
                "role": "user",
                "content": "Caller: My thermostat is broken.\nAgent: A technician comes on Friday.",
            },
        ],
    )
    assert done.choices[0].message.content == (
        "The caller said: My thermostat is broken. The agent answered: A technician comes on "
        "Friday. Nothing else was discussed."
    )
    assert done.choices[0].finish_reason == "stop"
    assert done.usage
    assert done.usage.total_tokens == done.usage.prompt_tokens + done.usage.completion_tokens


async def test_an_answer_has_the_shape_that_is_asked_for(client: openai.AsyncOpenAI) -> None:
    schema = {
        "type": "object",
        "properties": {
            "mood": {"type": "string", "enum": ["calm", "angry", "unknown"]},
            "orders": {"type": ["integer", "null"]},
        },
        "required": ["mood", "orders"],
        "additionalProperties": False,
    }
    done = await client.chat.completions.create(
        model="gpt-4.1",
        messages=[{"role": "user", "content": "Caller: I am angry about everything."}],
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "call", "schema": schema, "strict": True},
        },
    )
    assert json.loads(done.choices[0].message.content or "") == {"mood": "angry", "orders": None}


async def test_replies_and_failures_are_scripted(
    model: openai_plugin.LLM, providers: ProvidersClient
) -> None:
    await providers.script("chat", Step(status=500), Step(reply="Scripted."), Step(status=429))
    context = conversation(PROMPT, "When are you open?")
    first = await model.chat(chat_ctx=context, conn_options=TWICE).collect()
    assert first.text == "Scripted."
    with pytest.raises(APIStatusError) as raised:
        await answer(model, PROMPT, "When are you open?")
    assert raised.value.status_code == 429
    assert (await answer(model, PROMPT, "When are you open?")).startswith("We are open")


async def test_a_tool_call_is_scripted(
    model: openai_plugin.LLM, providers: ProvidersClient
) -> None:
    step = Step.model_validate({"tool": {"name": "find_order", "arguments": {"order_number": 7}}})
    await providers.script("chat", step)
    called = await model.chat(chat_ctx=conversation("", "Hello."), tools=[find_order]).collect()
    assert json.loads(called.tool_calls[0].arguments) == {"order_number": 7}


async def test_two_calls_are_scripted_apart(
    model: openai_plugin.LLM, providers: ProvidersClient
) -> None:
    await providers.script(
        "chat", Step(reply="For Ann.", match="name: Ann"), Step(reply="For Bob.", match="name: Bob")
    )
    assert await answer(model, "name: Bob", "Hello.") == "For Bob."
    assert await answer(model, "name: Ann", "Hello.") == "For Ann."


async def test_the_log_shows_what_was_asked_and_answered(
    model: openai_plugin.LLM, providers: ProvidersClient
) -> None:
    await answer(model, "You are Clara.", "Hello.")
    [entry] = await providers.log("chat")
    assert entry["messages"] == [
        {"role": "system", "content": "You are Clara."},
        {"role": "user", "content": "Hello."},
    ]
    assert entry["reply"] == "Hello, how can I help you?"
    await providers.reset()
    assert await providers.log() == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "poet", "content": "x"}]}, "role"),
        ({"messages": [{"role": "user", "content": "x"}], "tool_choice": "required"}, "tools"),
        (
            {
                "messages": [{"role": "user", "content": "x"}],
                "tool_choice": {"type": "function", "function": {"name": "absent"}},
            },
            "absent",
        ),
    ],
)
async def test_a_request_that_makes_no_sense_is_refused(
    client: openai.AsyncOpenAI, body: dict[str, object], message: str
) -> None:
    with pytest.raises(openai.BadRequestError, match=message) as raised:
        await client.post("/chat/completions", body=body, cast_to=object)
    assert raised.value.type == "invalid_request_error"
