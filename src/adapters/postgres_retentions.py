"""How long people want to be remembered, read for many at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from typing_extensions import override

from src.adapters.postgres import DEADLINE_S, Postgres
from src.services.archive_rules import storable
from src.services.retention_ports import Retentions

_CHOSEN = "SELECT user_id, retention_days FROM memory_settings WHERE user_id = ANY($1)"


class PostgresRetentions(Retentions):
    """One statement for everybody who is asked about, within `deadline_s` seconds."""

    def __init__(self, postgres: Postgres, *, deadline_s: float = DEADLINE_S) -> None:
        self._postgres = postgres
        self._deadline_s = deadline_s

    @override
    async def retention_of(self, user_ids: Collection[str]) -> Mapping[str, int]:
        stored = {user_id: storable(user_id) for user_id in user_ids}
        async with self._postgres.transaction(deadline_s=self._deadline_s) as connection:
            rows = await connection.fetch(_CHOSEN, list(stored.values()))
        days = {row["user_id"]: row["retention_days"] for row in rows}
        return {user_id: days[name] for user_id, name in stored.items() if name in days}
