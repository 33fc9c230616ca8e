"""What every benchmark ends with: a table, a file, and how many of its goals were met."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Row:
    """One figure beside what it is compared with in the same run."""

    what: str
    value: float
    unit: str
    baseline: float | None = None
    baseline_what: str = ""

    @property
    def ratio(self) -> float | None:
        """Figure over baseline."""
        return self.value / self.baseline if self.baseline else None


@dataclass(frozen=True)
class Goal:
    """A figure and its limit, or a condition."""

    what: str
    value: float
    limit: str
    met: bool


@dataclass
class Report:
    """The rows and goals of one benchmark."""

    name: str
    rows: list[Row] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def row(
        self,
        what: str,
        value: float,
        unit: str,
        *,
        baseline: float | None = None,
        baseline_what: str = "",
    ) -> None:
        """Add a figure."""
        self.rows.append(Row(what, value, unit, baseline, baseline_what))

    def at_most(self, what: str, value: float, limit: float) -> None:
        """A goal that a figure stays below."""
        self.goals.append(Goal(what, value, f"<= {limit:g}", value <= limit))

    def at_least(self, what: str, value: float, limit: float) -> None:
        """A goal that a figure reaches."""
        self.goals.append(Goal(what, value, f">= {limit:g}", value >= limit))

    def finish(self) -> int:
        """Print and write everything; the exit code."""
        for row in self.rows:
            ratio = f"{row.ratio:10.3g} x {row.baseline_what}" if row.ratio is not None else ""
            print(f"{row.what:<58} {row.value:>10.4g} {row.unit:<6} {ratio}")
        print()
        for goal in self.goals:
            print(
                f"{'met   ' if goal.met else 'MISSED'} {goal.what}: {goal.value:.4g} ({goal.limit})"
            )
        for note in self.notes:
            print(f"note: {note}")
        self._write()
        met = sum(goal.met for goal in self.goals)
        print(f"bench {self.name}: {met} of {len(self.goals)} goals met")
        return 0 if met == len(self.goals) else 1

    def _write(self) -> None:
        RESULTS.mkdir(exist_ok=True)
        machine = {
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "system": platform.system(),
        }
        document = {
            "name": self.name,
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": machine,
            "rows": [asdict(row) | {"ratio": row.ratio} for row in self.rows],
            "goals": [asdict(goal) for goal in self.goals],
            "notes": self.notes,
        }
        (RESULTS / f"{self.name}.json").write_text(json.dumps(document, indent=2) + "\n")


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered)) - 1))]


def p50(values: Sequence[float]) -> float:
    """The median."""
    return statistics.median(values)
