"""What became of calls, by their records, the model's log and the webhooks."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from bench._report import Report, p50, percentile
from local.kit import CallKit, Document
from src.schemas.contact import Turn
from src.services.transcript_text import is_conversation
from tests.e2e.api import WebhookReceiver

WATCH_EVERY_S = 10.0


@dataclass
class Watch:
    """What model and webhook are asked and told while the calls go on."""

    analyses: set[float] = field(default_factory=set)
    """When each analysis was asked for."""
    told: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Messages by contactUID and type, each message counted once."""
    messages: set[str] = field(default_factory=set)
    repeated: int = 0
    """Messages that came more than once."""

    async def model(self, kit: CallKit) -> None:
        """Read the providers' log, which is short, again and again."""
        while True:
            with suppress(aiohttp.ClientError, TimeoutError):
                for entry in await kit.providers.log("chat"):
                    wanted = (entry.get("response_format") or {}).get("json_schema") or {}
                    if wanted.get("name") == "analysis":
                        self.analyses.add(entry["at"])
            await asyncio.sleep(WATCH_EVERY_S)

    async def webhook(self, receiver: WebhookReceiver) -> None:
        """Take every message."""
        while True:
            headers, body = await receiver.received.get()
            message = {name.lower(): value for name, value in headers.items()}["webhook-id"]
            if message in self.messages:
                self.repeated += 1
                continue
            self.messages.add(message)
            event = json.loads(body)
            self.told[event["data"]["contactUID"], event["type"]] += 1


@dataclass(frozen=True)
class Ended:
    """A call that was held, and how it was ended."""

    how: str
    query: Document


@dataclass(frozen=True)
class Account:
    """What became of one call."""

    how: str
    document: Document | None
    analysed: int
    """Messages that told of an analysis."""
    ended: int

    @property
    def status(self) -> str:
        """`analysisStatus`, or that there is none."""
        return str((self.document or {}).get("analysisStatus", "none"))

    @property
    def talked(self) -> bool:
        """Whether both sides said something, by the transcript."""
        stored = (self.document or {}).get("transcript") or []
        return is_conversation([Turn.model_validate(one) for one in stored])

    @property
    def right(self) -> bool:
        """Analysed once, or honestly not at all, and told of."""
        analysed = (self.status, self.talked, self.analysed) == ("done", True, 1)
        silent = (self.status, self.talked, self.analysed) == ("no_conversation", False, 0)
        return (analysed or silent) and self.ended == 1

    @property
    def lost(self) -> bool:
        """It has no end, or none of its analysis, or nobody was told."""
        untold = self.ended < 1 or (self.status == "done" and self.analysed < 1)
        return self.status not in ("done", "no_conversation") or untold


def account(ended: Ended, document: Document | None, watch: Watch) -> Account:
    """What became of one call."""
    uid = "" if document is None else str(document["contactUID"])
    return Account(
        how=ended.how,
        document=document,
        analysed=watch.told[uid, "call.analyzed"],
        ended=watch.told[uid, "call.ended"],
    )


def tell(
    report: Report, accounts: Sequence[Account], watch: Watch, *, ways: Iterable[str], calls: int
) -> None:
    """The table: each way, and the goals for so many calls."""
    for how in ways:
        ours = [one for one in accounts if one.how == how]
        right = Counter(one.status for one in ours if one.right)
        report.row(f"{how}: calls", len(ours), "calls")
        report.row(f"{how}: analysed exactly once", right["done"], "calls")
        report.row(f"{how}: rightly no conversation", right["no_conversation"], "calls")
        report.row(f"{how}: lost", sum(one.lost for one in ours), "calls")
    _tell_more(report, accounts, watch)
    report.at_least("calls ended", len(accounts), calls)
    report.at_least("calls accounted for exactly once", sum(one.right for one in accounts), calls)
    report.at_most("calls lost", sum(one.lost for one in accounts), 0)
    twice = sum(one.analysed > 1 or one.ended > 1 for one in accounts)
    report.at_most("calls analysed or told of twice", twice, 0)
    for one in accounts:
        if not one.right:
            uid = (one.document or {}).get("contactUID")
            report.notes.append(f"{uid} ({one.how}): {one.status}, told {one.ended}/{one.analysed}")


def _tell_more(report: Report, accounts: Sequence[Account], watch: Watch) -> None:
    analysed = [one.document for one in accounts if one.document and one.status == "done"]
    lost_workers = sum("worker_lost" in (one.get("degradations") or []) for one in analysed)
    report.row("analysed calls whose worker was lost", lost_workers, "calls")
    report.row(
        "analyses asked of the model, failed ones included",
        len(watch.analyses),
        "",
        baseline=max(1, len(analysed)),
        baseline_what="analysed calls",
    )
    report.row("webhook messages that came again", watch.repeated, "")
    waits = [_seconds_to_analysis(one) for one in analysed] or [0.0]
    report.row("end of call to its analysis p50", p50(waits), "s")
    report.row("end of call to its analysis p95", percentile(waits, 0.95), "s")


def _seconds_to_analysis(document: dict[str, Any]) -> float:
    took = document["analysis"]["analysedAt"] - document["callEndedAt"]
    return float(took.total_seconds())
