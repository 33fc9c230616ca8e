"""What is counted of requests, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """The metrics of one application."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        labels = ["method", "route", "status"]
        self._requests = Counter(
            "familiar_api_requests_total", "Requests", labels, registry=self._registry
        )
        self._seconds = Histogram(
            "familiar_api_request_seconds",
            "Time to an answer",
            ["method", "route"],
            buckets=_BUCKETS,
            registry=self._registry,
        )

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Note a request; `route` is the template of its path."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def text(self) -> bytes:
        """Everything, in Prometheus' own format."""
        return generate_latest(self._registry)
