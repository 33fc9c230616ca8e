"""How long turns take and what they do without, as Prometheus metrics of the job processes.

The worker's `/metrics` collects them from all of its job processes (FAMILIAR_METRICS_PORT).
"""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import Counter, Histogram

_STAGE_SECONDS = Histogram(
    "familiar_turn_stage_seconds",
    "Duration of one stage of a turn; `reply` is from the end of the question to the first sound.",
    ["stage", "mode"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0),
)
_DEGRADATIONS = Counter(
    "familiar_degradations_total", "What calls had to do without, by name.", ["name"]
)


class PrometheusTurnMetrics:
    """Counts in this process; multiprocess mode adds the processes up."""

    def turn(self, stages_ms: Mapping[str, float], mode: str) -> None:
        """Note the stages of one turn, in milliseconds."""
        for stage, took in stages_ms.items():
            _STAGE_SECONDS.labels(stage=stage, mode=mode).observe(took / 1000)

    def degraded(self, name: str) -> None:
        """Note one degradation of a call."""
        _DEGRADATIONS.labels(name=name).inc()
