"""The words of an agent for one call: its greeting, and what it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from src.schemas.agent_meta_schema import AgentMeta
from src.schemas.contact import CallDirection
from src.services.phone_numbers import CallerNumber
from src.services.rendering import render, system_values
from src.services.speech_gate import gate


@dataclass(frozen=True)
class Script:
    """What an agent says and knows, with every variable filled in."""

    instructions: str
    greeting: str
    missing: tuple[str, ...] = ()
    """Variables of the greeting that had neither value nor default, as it writes them."""
    removed: int = 0
    """What else in braces the greeting had, and lost: nothing with braces is ever spoken."""


@dataclass(frozen=True)
class Scene:
    """What is known of a call besides the agent and the values."""

    now: datetime
    direction: CallDirection
    person: CallerNumber | None = None
    """The number of the other side."""
    dialled: str | None = None
    """E.164; ours if they call, theirs if we do."""
    language: str = "en"
    opening_note: str = ""
    """What earlier sessions leave to the agent."""


def write_script(meta: AgentMeta, values: Mapping[str, str], scene: Scene) -> Script:
    """The agent's words for this call; the knowledge base goes in as it stands."""
    number = scene.person.e164 if scene.person else None
    outbound = scene.direction is CallDirection.OUTBOUND
    system = system_values(
        now=scene.now,
        zone=meta.zone,
        caller_number=(scene.dialled if outbound else number) or "",
        called_number=(number if outbound else scene.dialled) or "",
        call_direction=scene.direction.value,
        agent_name=meta.name,
    )
    defaults = meta.variable_defaults
    prompt = render(meta.prompt, values, defaults=defaults, system=system, keep_foreign=True)
    greeting = meta.greeting_for(scene.language)
    spoken = render(greeting, values, defaults=defaults, system=system, keep_foreign=False)
    text, removed = gate(spoken.text)
    parts = [part for part in (prompt.text, meta.Context, scene.opening_note) if part]
    return Script(
        instructions="\n\n".join(parts),
        greeting=text.strip(),
        missing=spoken.missing,
        removed=removed,
    )
