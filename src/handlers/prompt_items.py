"""LiveKit's chat context as prompt messages, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from livekit.agents import llm

from src.services.prompt_messages import PromptMessage
from src.services.truncation import Truncation


def prompt_of(context: llm.ChatContext) -> list[PromptMessage]:
    """What the model reads of a context, with the ids of its items; handoffs are none of it."""
    found = (_message(item) for item in context.items)
    return [message for message in found if message is not None]


def _message(item: llm.ChatItem) -> PromptMessage | None:
    match item:
        case llm.ChatMessage(role="assistant" | "user" as role):
            return PromptMessage(role, item.text_content or "", id=item.id)
        case llm.ChatMessage():
            return PromptMessage("system", item.text_content or "", id=item.id)
        case llm.FunctionCall():
            text = f"{item.name} {item.arguments}"
            return PromptMessage("tool_call", text, id=item.id, group=item.call_id)
        case llm.FunctionCallOutput():
            return PromptMessage("tool_result", item.output, id=item.id, group=item.call_id)
        case _:
            return None


def applied(
    context: llm.ChatContext, truncation: Truncation, notes: Sequence[str]
) -> llm.ChatContext:
    """The context as the model gets it: truncated, with `notes` right before the last user message.

    A copy: nothing of it reaches the agent's own history.
    """
    kept = {message.id: message for message in truncation.kept}
    items = [
        _cut(item, kept[item.id]) if item.id in truncation.cut else item
        for item in context.items
        if item.id in kept
    ]
    if truncation.note:
        items.insert(truncation.note_at, _system(truncation.note))
    users = [at for at, item in enumerate(items) if _is_user(item)]
    at = users[-1] if users else len(items)
    items[at:at] = [_system(note) for note in notes if note]
    return llm.ChatContext(items)


def _cut(item: llm.ChatItem, message: PromptMessage) -> llm.ChatItem:
    if isinstance(item, llm.ChatMessage):
        return item.model_copy(update={"content": [message.content]})
    return item.model_copy(update={"output": message.content})


def _system(text: str) -> llm.ChatMessage:
    return llm.ChatMessage(role="system", content=[text])


def last_user_message(context: llm.ChatContext) -> llm.ChatMessage | None:
    """The question that a reply answers."""
    return next((item for item in reversed(context.items) if _is_user(item)), None)


def _is_user(item: llm.ChatItem) -> TypeGuard[llm.ChatMessage]:
    return isinstance(item, llm.ChatMessage) and item.role == "user"
