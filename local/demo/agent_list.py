"""The agents a visitor of the page may choose from: those of the seed file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

WEB_AGENT_ID = "web-guide"
"""The agent the page offers first."""


@dataclass(frozen=True, slots=True)
class ListedAgent:
    """An agent as the page names it."""

    agent_id: str
    name: str


def read_agents(seed_file: Path) -> tuple[ListedAgent, ...]:
    """The agents of `seed_file`, the web agent first, the others in the order of the file.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no seed file.
    """
    try:
        seeds = json.loads(seed_file.read_text(encoding="utf-8"))["agents"]
        agents = [ListedAgent(str(seed["agentId"]), str(seed["name"])) for seed in seeds]
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{seed_file} has no list of agents with agentId and name") from error
    return tuple(sorted(agents, key=lambda agent: agent.agent_id != WEB_AGENT_ID))
