"""What every request that starts an agent is checked for."""

from __future__ import annotations

from collections.abc import Iterable

from src.schemas.errors import FieldProblem
from src.services.owned import OwnedStore, Resource
from src.services.template_names import is_name


def variable_problems(variables: Iterable[str]) -> list[FieldProblem]:
    """Names that no template could use."""
    return [
        FieldProblem(f"dynamicVariables.{name}", "cannot be used as a name in a template")
        for name in variables
        if not is_name(name)
    ]


async def agent_problems(owned: OwnedStore, owner_id: str, agent_id: str) -> list[FieldProblem]:
    """Whether the owner has no such agent.

    Raises:
        ContactStoreError: the store failed.
    """
    if await owned.of(owner_id, Resource.AGENTS).existing([agent_id]):
        return []
    return [FieldProblem("agentId", "no such agent")]
