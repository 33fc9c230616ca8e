"""Prompts as tests and properties need them."""

from hypothesis import strategies as st

from src.services.prompt_messages import MESSAGE_TOKENS, PromptMessage, PromptRole

SYSTEM = PromptMessage("system", "You are the desk.", id="sys")


def words(text: str) -> int:
    """A token counter whose counts a reader can check."""
    return len(text.split())


def said(number: int, role: PromptRole = "user", *, length: int = 10) -> PromptMessage:
    """A message of `length` words; its own word tells it from others."""
    content = " ".join([f"word{number}", *["x"] * (length - 1)])
    return PromptMessage(role, content, id=f"m{number}")


def talk(count: int, *, length: int = 10) -> list[PromptMessage]:
    """A system prompt and a conversation; without the prompt each message costs `length` + 4."""
    turns = [said(n, "assistant" if n % 2 else "user", length=length) for n in range(1, count + 1)]
    return [SYSTEM, *turns]


def cost(messages: list[PromptMessage] | tuple[PromptMessage, ...]) -> int:
    """Tokens of messages whose words are no longer than a word."""
    return sum(words(message.content) + MESSAGE_TOKENS for message in messages)


@st.composite
def conversations(draw: st.DrawFn) -> list[PromptMessage]:
    """Up to twenty steps: what somebody says, or tool calls with results that may come later."""
    messages = [
        PromptMessage("system", "s " * draw(st.integers(1, 30)), id=f"s{n}")
        for n in range(draw(st.integers(0, 1)))
    ]
    waiting: list[str] = []
    for step in range(draw(st.integers(0, 20))):
        kind = draw(st.sampled_from(("user", "assistant", "call", "result")))
        content = f"w{step} " + "x " * draw(st.integers(0, 300))
        if kind == "call":
            group = f"g{step}"
            for part in range(draw(st.integers(1, 2))):
                messages.append(
                    PromptMessage("tool_call", f"f{part}", id=f"c{step}.{part}", group=group)
                )
                waiting.append(group)
        elif kind == "result" and waiting:
            group = waiting.pop(draw(st.integers(0, len(waiting) - 1)))
            messages.append(PromptMessage("tool_result", content, id=f"r{step}", group=group))
        else:
            role: PromptRole = "assistant" if kind == "assistant" else "user"
            messages.append(PromptMessage(role, content, id=f"m{step}"))
    return messages
