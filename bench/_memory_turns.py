"""What memory and the knowledge base add to a turn of a call, beside a bare AgentSession."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

from bench._report import Report, p50, percentile
from bench.call_start import QUESTIONS, _bare_call, _bare_worker, _someone
from local.kit import CallKit, LogTail, past_call
from local.phone.call import Call
from local.ports import Stack
from src.schemas.contact import CallDirection
from src.schemas.job_metadata import JobMetadata
from src.services.agent_config import build_agent_config

CALLS = 12
"""Of each kind, with a turn per question."""


@dataclass(frozen=True)
class Turn:
    """What a turn cost in our worker, by its log; milliseconds."""

    hook_ms: float
    """Writing the turn, before which nothing is said: LiveKit's `on_user_turn_completed_delay`."""
    prepare_ms: float
    """Preparing the prompt, which usually begins before the turn is over."""
    ready_ms: float
    """From the end of the turn until the reply's first sound is made; negative if that was before."""
    passages: int

    @property
    def added_ms(self) -> float:
        """How much earlier the reply could have begun without both.

        It begins once the turn is over and written, and its first sound is made; without memory and
        knowledge, once the turn is over, and its sound is made as much earlier as preparing took.
        """
        begins = max(self.hook_ms, self.ready_ms)
        return begins - max(0.0, self.ready_ms - self.prepare_ms)


async def turns(report: Report, stack: Stack) -> None:
    """The same questions to the same agent, with everything and without anything, in turn."""
    ours: list[float] = []
    bare: list[float] = []
    right = {"ours": 0, "bare": 0}
    async with CallKit.open(stack) as kit, _bare_worker(stack):
        log = LogTail.of(stack, "worker")
        for _ in range(CALLS):
            for name, gaps in (("ours", ours), ("bare", bare)):
                call = await (_our_call(kit) if name == "ours" else _bare_call(kit))
                found = await _answers(kit, call)
                gaps += [gap for gap, _ in found]
                right[name] += sum(is_right for _, is_right in found)
        measured = turns_of(log.records())
    _report_replies(report, ours, bare)
    _report_added(report, measured)
    wrong = 2 * len(ours) - sum(right.values())
    report.at_most("questions that were not answered right", wrong, 0)
    report.at_least("turns whose added delay was measured", len(measured), len(ours))


def _report_replies(report: Report, ours: Sequence[float], bare: Sequence[float]) -> None:
    for name, share in (("p50", 0.5), ("p95", 0.95)):
        report.row(
            f"end of speech to reply {name}, {len(ours)} turns with memory and knowledge",
            percentile(ours, share),
            "s",
            baseline=percentile(bare, share),
            baseline_what="bare AgentSession",
        )
    report.at_most("reply over bare AgentSession, p50", p50(ours) / p50(bare), 1.02)


def _report_added(report: Report, measured: Sequence[Turn]) -> None:
    added = [turn.added_ms for turn in measured] or [float("nan")]
    for what, values in (
        ("turn written before its reply", [turn.hook_ms for turn in measured]),
        ("prompt prepared, passages looked up", [turn.prepare_ms for turn in measured]),
        ("added to a turn in all", added),
    ):
        for name, share in (("p50", 0.5), ("p95", 0.95)):
            report.row(f"{what}, {name}", percentile(values or [float("nan")], share), "ms")
    with_passages = sum(turn.passages > 0 for turn in measured)
    report.row("turns answered with passages of the handbook", with_passages, "turns")
    report.at_most("delay added to a turn, p50 (ms)", percentile(added, 0.5), 10)
    report.at_most("delay added to a turn, p95 (ms)", percentile(added, 0.95), 25)
    report.notes.append(
        "added to a turn: by the worker's log, how much earlier the reply could have begun if neither "
        "the turn had been written (LiveKit's on_user_turn_completed_delay) nor the prompt prepared; "
        "what passes while the turn goes on anyway is not counted, as both the reply's text and sound "
        "are made ahead; the replies themselves are timed at the caller's ear"
    )


def turns_of(records: Sequence[dict[str, Any]]) -> list[Turn]:
    """The spoken turns in a worker's log."""
    rooms: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        if "room" in record and "timestamp" in record:
            rooms.setdefault(record["room"], []).append(record)
    return [turn for found in rooms.values() for turn in _turns_of_call(found)]


def _turns_of_call(records: Sequence[dict[str, Any]]) -> list[Turn]:
    turns, seen = [], dict[str, dict[str, Any]]()
    for record in records:
        message = record.get("message", "")
        if message != "turn latency":
            seen[message] = record
        elif record["role"] == "user":
            seen["user"] = record
        else:
            turns += _turn(seen, record["latency_ms"])
            seen.clear()
    return turns


def _turn(seen: Mapping[str, dict[str, Any]], reply: Mapping[str, float]) -> list[Turn]:
    """The turn that ended with an answer; none for the greeting."""
    user, written, prepared = (
        seen.get(name) for name in ("user", "turn written", "prompt prepared")
    )
    if user is None or written is None or prepared is None:
        return []
    hook_ms, prepare_ms = user["latency_ms"]["hook"], prepared["took_ms"]
    over_at = _at(written) * 1000 - hook_ms
    # LiveKit counts the preparation as part of the model's time to its first word.
    words_at = _at(prepared) * 1000 + max(0.0, reply.get("llm", 0.0) - prepare_ms)
    return [
        Turn(
            hook_ms=hook_ms,
            prepare_ms=prepare_ms,
            ready_ms=words_at + reply.get("tts", 0.0) - over_at,
            passages=seen.get("passages looked up", {}).get("count", 0),
        )
    ]


def _at(record: dict[str, Any]) -> float:
    return datetime.fromisoformat(record["timestamp"]).timestamp()


async def _our_call(kit: CallKit) -> Call:
    """The receptionist, with history, remembered variables, memory and the handbook."""
    phone = _someone()
    await kit.contacts.insert_one(past_call(phone))
    agent = await kit.database["Agent"].find_one({"agentId": "reception"}) or {}
    metadata = JobMetadata(
        call_type=CallDirection.OUTBOUND,
        agent_id="reception",
        contact_uid=f"out-{uuid4().hex[:12]}",
        phone=phone,
        agent_config={**build_agent_config(agent), "knowledge_base_ids": ["handbook"]},
    )
    ringing = asyncio.ensure_future(kit.phone.accept(number=phone, ring_s=0.3))
    await kit.dispatch(metadata)
    return await ringing


async def _answers(kit: CallKit, call: Call) -> list[tuple[float, bool]]:
    """Seconds from the end of each question to its answer, and whether that was right."""
    await call.listen(call.answered_at, kit.hear)
    found = []
    for question, word in QUESTIONS:
        answer = await call.ask(await kit.speech(question), kit.hear)
        found.append((answer.gap_s, word in answer.text.lower()))
    await call.hang_up()
    await asyncio.sleep(1.5)  # a warm process takes the next call
    return found
