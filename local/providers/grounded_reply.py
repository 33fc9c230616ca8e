"""An answer without a model: quoted from the request, so that what is said depends on what it held.

Nothing else is ever said but courtesies and the admission not to know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from local.providers import intents
from local.providers.call_analysis import analysis, is_wanted
from local.providers.conversation import ChatRequest, Function, NamedTool, transcript
from local.providers.matching import Matcher
from local.providers.recall import (
    agent_identity,
    caller_name,
    from_history,
    history,
    is_about_earlier_calls,
)
from local.providers.schema_filling import SchemaFiller
from local.providers.statements import Statement, sentences, statements
from local.providers.summary import shortened, summarise
from local.providers.tools import asked_for, closest

UNKNOWN = "I am sorry, I do not have that information."
NO_RECORD = "I have no record of an earlier conversation with you."
NO_NAME = "I am sorry, I do not know your name."
_ADMISSIONS = (UNKNOWN, NO_RECORD, NO_NAME)

_WORDS_TO_SAY = re.compile(r"\bsay\w*[^\"“]{0,30}[\"“]([^\"”]+)[\"”]", re.IGNORECASE)
_FIELD = re.compile(r"^([A-Za-z][\w' -]{1,30}?)\s*[:=]\s*(\S.*)$")
_LONG_OUTPUT = 3  # sentences


@dataclass(frozen=True)
class Reply:
    """What the assistant says, or the tool it calls instead."""

    text: str = ""
    tool: Function | None = None
    arguments: str = "{}"


def reply_to(request: ChatRequest, matcher: Matcher) -> Reply:
    """The answer to a request."""
    said = " ".join(request.last_said)
    if tool := _tool(request, said):
        filler = SchemaFiller(tool.parameters, said, as_spoken=True)
        return Reply(tool=tool, arguments=json.dumps(filler.fill() if tool.parameters else {}))
    if request.response_format.type != "text":
        return Reply(json.dumps(_structured(request), ensure_ascii=False))
    return Reply(_summary(request) or _spoken(request, matcher))


def _structured(request: ChatRequest) -> Any:
    text = "\n".join(_by(request, "user"))
    schema = request.response_format.json_schema.shape or {"type": "object"}
    if is_wanted(schema):
        return analysis(request.instructions, text, schema)
    return SchemaFiller(schema, text or request.instructions).fill()


def _tool(request: ChatRequest, said: str) -> Function | None:
    tools = [tool.function for tool in request.tools]
    if not tools or request.tool_choice == "none":
        return None
    if isinstance(request.tool_choice, NamedTool):
        wanted = request.tool_choice.function.name
        return next(tool for tool in tools if tool.name == wanted)
    asked = asked_for(tools, said) if said else None
    return asked or (closest(tools, said) if request.tool_choice == "required" else None)


def _summary(request: ChatRequest) -> str:
    """A summary if one is asked for, else nothing."""
    if not intents.wants_summary(request.instructions):
        return ""
    texts = _by(request, "user")
    if lines := transcript(texts):
        return summarise(lines)
    asked = intents.wants_summary(sentences(request.instructions)[0])
    return shortened("\n".join(texts)) if asked and len(request.turns) == 1 else ""


def _spoken(request: ChatRequest, matcher: Matcher) -> str:
    if request.tool_outputs:
        return _from_outputs(request, matcher)
    said = request.last_said
    if not said:
        return _unasked(request)
    # A caller who pauses arrives in pieces: the last may be a question, or only the end of one.
    for question in dict.fromkeys((said[-1], " ".join(said))):
        if answer := _answer(question, request, matcher):
            return answer
    last = said[-1].strip()
    return UNKNOWN if intents.is_question(last) else f'I understand. You said: "{last}"'


def _unasked(request: ChatRequest) -> str:
    """Words for a turn that nobody asked for, such as a greeting."""
    if ordered := _WORDS_TO_SAY.findall(request.instructions):
        return str(ordered[-1])
    return "Is there anything else I can help you with?" if request.turns else intents.OFFER


def _answer(question: str, request: ChatRequest, matcher: Matcher) -> str:
    """The answer to a question; empty if the request holds none."""
    by_agent = _by(request, "assistant")
    if intents.asks_again(question):
        return next(reversed(by_agent), "")
    if is_about_earlier_calls(question):
        entries = history(request.instructions)
        return from_history(question, entries) if entries else NO_RECORD
    if intents.asks_own_name(question):
        name = caller_name(request.instructions, _by(request, "user"), by_agent)
        return f"Your name is {name}." if name else NO_NAME
    if intents.asks_who_speaks(question):
        return agent_identity(request.instructions, by_agent)
    return intents.courtesy(question) or _quoted(question, request, matcher)


def _quoted(question: str, request: ChatRequest, matcher: Matcher) -> str:
    """The best statement of the request; empty if none fits."""
    best = matcher.best(question, list(_known(request)))
    if best is None:
        return ""
    if best.said_by == "user":
        return f'You said: "{best.text}"'
    if field := _FIELD.match(best.text):
        owner = "Your" if re.search(r"\b(?:my|i|me)\b", question, re.IGNORECASE) else "The"
        name = field[1].replace("_", " ").lower()
        return _ended(f"{owner} {name} {'are' if name.endswith('s') else 'is'} {field[2]}")
    return _ended(best.text)


def _known(request: ChatRequest) -> Iterator[Statement]:
    """What may be quoted: the system's knowledge first, then what was said before the question."""
    for statement in statements(request.instructions):
        if not statement.is_instruction:
            yield statement
    before = request.turns[: len(request.turns) - len(request.last_said)]
    for turn in before:
        for statement in statements(turn.text, said_by=turn.role):
            if statement.text not in _ADMISSIONS:
                yield statement


def _from_outputs(request: ChatRequest, matcher: Matcher) -> str:
    """What the tools returned; of a long text the sentence that answers best."""
    said = " ".join(_by(request, "user")[-1:])
    answers = []
    for output in request.tool_outputs:
        text = _as_text(output)
        if len(sentences(text)) > _LONG_OUTPUT:
            best = matcher.best(said, statements(text, said_by="tool"))
            text = best.text if best else shortened(text, _LONG_OUTPUT)
        answers.append(_ended(text) if text else "")
    return " ".join(filter(None, answers)) or "That is done."


def _as_text(output: str) -> str:
    """A tool's output in words: a JSON value is read out."""
    try:
        value = json.loads(output)
    except ValueError:
        value = output
    return "" if value in (None, "", "None") else _read_out(value)


def _read_out(value: Any) -> str:
    if isinstance(value, dict):
        return ". ".join(f"{_label(key)} is {_read_out(part)}" for key, part in value.items())
    if isinstance(value, list):
        return ", ".join(_read_out(part) for part in value)
    return str(value)


def _label(key: str) -> str:
    return str(key).replace("_", " ").capitalize()


def _by(request: ChatRequest, role: str) -> list[str]:
    return [turn.text for turn in request.turns if turn.role == role and turn.text.strip()]


def _ended(sentence: str) -> str:
    return sentence if sentence[-1] in ".!?…" else f"{sentence}."
