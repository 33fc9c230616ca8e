"""The tool by which the model changes the language when the caller asks for it in its own way."""

from __future__ import annotations

from livekit.agents import function_tool, llm

from src.handlers.call import Call
from src.schemas.agent_meta_schema import AgentMeta


def language_tool(call: Call, meta: AgentMeta) -> list[llm.Tool]:
    """One tool for an agent of several languages; none for the others."""
    if len(meta.all_languages) == 1:
        return []

    async def set_language(language: str) -> str:
        changed = call.conversation is not None and await call.conversation.ask_language(language)
        if not changed:
            raise llm.ToolError(f"Only these can be spoken: {', '.join(meta.all_languages)}.")
        return f"Go on in {language}."

    return [
        function_tool(
            set_language,
            name="set_language",
            description="Go on in another language when the caller asks for it. "
            f"language is one of {', '.join(meta.all_languages)}.",
        )
    ]
