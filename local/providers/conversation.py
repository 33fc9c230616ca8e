"""The body of a chat request, and what an answer needs to see of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

_UTTERANCE = re.compile(r"^(caller|agent|user|assistant|customer)\s*:\s*(\S.*)$", re.IGNORECASE)
_CALLERS = ("caller", "user", "customer")


class Message(BaseModel):
    """One message; fields that no answer depends on are passed over."""

    model_config = ConfigDict(frozen=True)

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[dict[str, Any]] | None = None

    @property
    def text(self) -> str:
        """Its text, whatever shape it came in."""
        if isinstance(self.content, str):
            return self.content
        return " ".join(str(part.get("text", "")) for part in self.content or ())


class Function(BaseModel):
    """What a tool says of itself."""

    model_config = ConfigDict(frozen=True)

    name: str
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)


class Tool(BaseModel):
    """One tool."""

    model_config = ConfigDict(frozen=True)

    type: Literal["function"]
    function: Function


class NamedFunction(BaseModel):
    """A function by its name."""

    name: str


class NamedTool(BaseModel):
    """A choice of one tool."""

    type: Literal["function"]
    function: NamedFunction


class JsonSchema(BaseModel):
    """The shape an answer must have."""

    shape: dict[str, Any] = Field(alias="schema", default_factory=dict)


class ResponseFormat(BaseModel):
    """Text, any JSON object, or one of a given shape."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema = Field(default_factory=JsonSchema)


class StreamOptions(BaseModel):
    """What a stream carries besides the answer."""

    include_usage: bool = False


class ChatRequest(BaseModel):
    """Body of `/v1/chat/completions`."""

    messages: list[Message] = Field(min_length=1)
    tools: list[Tool] = Field(default_factory=list)
    tool_choice: Literal["none", "auto", "required"] | NamedTool = "auto"
    response_format: ResponseFormat = ResponseFormat(type="text")
    stream: bool = False
    stream_options: StreamOptions | None = None

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, body: Any) -> Any:
        if not isinstance(body, dict):
            return body
        return {key: value for key, value in body.items() if value is not None}

    @cached_property
    def instructions(self) -> str:
        """All that the system and the developer say."""
        texts = (m.text for m in self.messages if m.role in ("system", "developer"))
        return "\n\n".join(texts)

    @cached_property
    def turns(self) -> list[Message]:
        """What caller and agent said, and what tools returned."""
        return [m for m in self.messages if m.role not in ("system", "developer")]

    @property
    def last_said(self) -> list[str]:
        """The caller's messages since the agent last spoke, oldest first."""
        said: list[str] = []
        for turn in reversed(self.turns):
            if turn.role != "user":
                break
            said.insert(0, turn.text)
        return said

    @property
    def tool_outputs(self) -> list[str]:
        """What tools returned since anybody last spoke."""
        outputs: list[str] = []
        for turn in reversed(self.turns):
            if turn.role not in ("tool", "function"):
                break
            outputs.insert(0, turn.text)
        return outputs


class Utterance(BaseModel):
    """One line of a transcript."""

    model_config = ConfigDict(frozen=True)

    by_caller: bool
    text: str


def transcript(texts: Sequence[str]) -> list[Utterance]:
    """The `Caller:` and `Agent:` lines in some texts."""
    lines = (_UTTERANCE.match(line.strip()) for text in texts for line in text.splitlines())
    return [Utterance(by_caller=m[1].lower() in _CALLERS, text=m[2].strip()) for m in lines if m]
