"""The OpenAPI document against a running API: requests made up from it, answers checked against it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema
from schemathesis.engine.recorder import ScenarioRecorder
from schemathesis.schemas import BaseSchema

from tests.planted_owner import Known, Planted

SEED = 20261201
_KNOWN = 0.8
"""How often a value that leads somewhere is taken."""
PHASES = ("examples", "coverage", "fuzzing")
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
    "negative_data_rejection",
    "unsupported_method",
    "allow_header_conformance",
)


@dataclass(frozen=True)
class Manner:
    """How an API is asked."""

    max_examples: int = 10
    """Made up per operation, besides those that the document gives and those at its limits."""
    left_out: tuple[str, ...] = ()
    """Operation ids."""
    rate_limit: str | None = None
    """As in `10/s`."""


@dataclass
class Outcome:
    """What became of a run."""

    failures: list[str] = field(default_factory=list)
    statuses: dict[str, Counter[int]] = field(default_factory=dict)
    """By operation (`GET /api/v2/contacts`): how often each status was answered."""

    @property
    def requests(self) -> int:
        """How many answers came."""
        return sum(counter.total() for counter in self.statuses.values())

    @property
    def never_succeeded(self) -> list[str]:
        """The operations that no request got a 2xx from."""
        return [
            label
            for label, statuses in sorted(self.statuses.items())
            if not any(200 <= status < 300 for status in statuses)
        ]

    def add(self, recorder: ScenarioRecorder) -> None:
        """Take in the requests of one scenario."""
        for case_id, interaction in recorder.interactions.items():
            if interaction.response is not None:
                case = recorder.cases[case_id].value
                counter = self.statuses.setdefault(case.operation.label, Counter())
                counter[interaction.response.status_code] += 1
        for nodes in recorder.checks.values():
            for node in nodes:
                if node.failure_info is not None:
                    told = node.failure_info
                    self.failures.append(
                        f"{recorder.label}: {told.failure.title}: {told.failure.message}\n"
                        f"{told.code_sample}"
                    )


def run(api_url: str, token: str, planted: Planted, manner: Manner = Manner()) -> Outcome:
    """Ask an API whatever its document allows, and much that it does not.

    Mostly, a parameter has a value that leads to what was planted.
    """
    config = SchemathesisConfig.from_dict(_config(api_url, token, planted, manner))
    schema: BaseSchema = schemathesis.openapi.from_url(f"{api_url}/openapi.json", config=config)
    for operation_id in manner.left_out:
        schema = schema.exclude(operation_id=operation_id)
    outcome = Outcome()
    for event in from_schema(schema).execute():
        if isinstance(event, events.ScenarioFinished):
            outcome.add(event.recorder)
        elif isinstance(event, events.NonFatalError | events.FatalError):
            outcome.failures.append(f"the run itself failed: {event}")
    return outcome


def _config(api_url: str, token: str, planted: Planted, manner: Manner) -> dict[str, Any]:
    limit = {} if manner.rate_limit is None else {"rate-limit": manner.rate_limit}
    lists = {"": planted.known, "replayed-": planted.replayed}
    dictionaries = {
        mark + _name(one): {"values": values}
        for mark in lists
        for one, values in lists[mark].items()
    }
    return limit | {
        "seed": SEED,
        "suppress-health-check": ["all"],
        "cache": {"enabled": False},
        "base-url": api_url,
        "workers": 1,
        "continue-on-failure": True,
        "request-timeout": 20,
        "warnings": False,
        "auth": {"openapi": {"apiKey": {"bearer": token}}},
        "checks": {"enabled": False, **{name: {"enabled": True} for name in CHECKS}},
        "generation": {
            "max-examples": manner.max_examples,
            "deterministic": True,
            "no-shrink": True,
            "database": "none",
        },
        # What answers told is not asked for: else an agent that was made up could be made to call.
        "phases": {
            **{name: {"extra-data-sources": {"responses": False}} for name in PHASES},
            "stateful": {"enabled": False},
        },
        "dictionaries": dictionaries,
        "parameters": _bound("", planted.known),
        "operations": [
            {
                "include-operation-id": "replayWebhookDelivery",
                "parameters": _bound("replayed-", planted.replayed),
            }
        ],
    }


def _bound(mark: str, known: Known) -> dict[str, Any]:
    return {one: {"dictionary": mark + _name(one), "probability": _KNOWN} for one in known}


def _name(parameter: str) -> str:
    return parameter.replace(".", "-")
