"""What memory costs at the start of a call, how soon the agent speaks, and how many calls fit."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import numpy as np

from bench._bare_worker import AGENT_NAME as BARE
from bench._lookups import lookups
from bench._report import Report, p50, percentile
from local.kit import CallKit, LogTail, past_call
from local.phone.call import Call
from local.phone.rtp import RATE_HZ
from local.ports import ROOT, Stack
from local.stack import ensure_up
from local.tear_down import tear_down

RECEPTION, PLAIN = "+15105550100", "+15105550101"
START_CALLS = 15
QUESTIONS = (
    ("What are your opening hours?", "nine"),
    ("How long do refunds take?", "five"),
    ("What does a replacement card cost?", "twelve"),
    ("Is the delivery of prescriptions free?", "thirty"),
)
PAUSED = (
    (("I wanted to ask you", "how long refunds take."), "five"),
    (("Could you please tell me", "what a replacement card costs?"), "twelve"),
    (("Can you tell me something about", "your opening hours?"), "nine"),
)
PAUSE_S = 0.5
AT_ONCE = (1, 2, 4, 6)


async def start_of_calls(report: Report, kit: CallKit) -> None:
    """Answer to first greeting sample, memory on and off in turn, callers with a history."""
    gaps: dict[str, list[float]] = {RECEPTION: [], PLAIN: []}
    for index in range(START_CALLS):
        for number in (RECEPTION, PLAIN) if index % 2 else (PLAIN, RECEPTION):
            phone = _someone()
            await kit.contacts.insert_one(past_call(phone))
            call = await kit.phone.dial(number, caller=phone)
            gaps[number].append(await call.hear(call.answered_at) - call.answered_at)
            await call.hang_up()
            await asyncio.sleep(1.5)  # a warm process takes the next call
    on, off = gaps[RECEPTION], gaps[PLAIN]
    report.row("answer to greeting p50, memory off", p50(off) * 1000, "ms")
    report.row(
        "answer to greeting p50, memory on",
        p50(on) * 1000,
        "ms",
        baseline=p50(off) * 1000,
        baseline_what="memory off",
    )
    report.row("answer to greeting p95, memory on", percentile(on, 0.95) * 1000, "ms")
    report.at_most("greeting with memory over without, p50", p50(on) / p50(off), 1.05)
    report.at_most("answer to greeting p50 (ms)", p50(on) * 1000, 150)
    report.at_most("answer to greeting p95 (ms)", percentile(on, 0.95) * 1000, 250)


async def replies(report: Report, kit: CallKit) -> None:
    """End of the caller's speech to the agent's first sound, ours and a bare session's in turn."""
    ours: list[float] = []
    bare: list[float] = []
    async with _bare_worker(kit.stack):
        for _ in range(2):
            call = await kit.phone.dial(RECEPTION, caller=_someone())
            ours += await _gaps(kit, call)
            bare += await _gaps(kit, await _bare_call(kit))
    report.row("end of speech to reply p50, bare AgentSession", p50(bare), "s")
    report.row(
        "end of speech to reply p50", p50(ours), "s", baseline=p50(bare), baseline_what="bare"
    )
    report.row("end of speech to reply p95", percentile(ours, 0.95), "s")
    report.at_most("end of speech to reply p50 (s)", p50(ours), 0.75)
    report.at_most("reply over bare AgentSession, p50", p50(ours) / p50(bare), 1.02)


async def pauses(report: Report, kit: CallKit) -> None:
    """Callers who pause within a sentence are let finish."""
    cut = 0
    silence = np.zeros(round(PAUSE_S * RATE_HZ), np.int16)
    call = await kit.phone.dial(RECEPTION, caller=_someone())
    await call.listen(call.answered_at, kit.hear)
    for (first, second), _ in PAUSED * 2:
        head, tail = _tight(await kit.speech(first)), _tight(await kit.speech(second))
        began = time.time()
        _, last = await call.say(np.concatenate([head, silence, tail]))
        spoke_early = [s for s in call.sounds(began) if s.started_at < last]
        cut += bool(spoke_early)
        await call.listen(last, kit.hear)
    await call.hang_up()
    report.row(f"cut-ins on a pause of {PAUSE_S} s within a sentence", cut, f"of {2 * len(PAUSED)}")
    report.at_most("callers cut off in a pause", cut, 0)


async def at_once(report: Report, kit: CallKit) -> None:
    """Calls at the same time, two questions each: right answers and how long they took."""
    alone = 0.0
    most_right = 0
    for count in AT_ONCE:
        results = await asyncio.gather(
            *(_one_of_many(kit, 1.7 * i) for i in range(count)), return_exceptions=True
        )
        done = [r for r in results if not isinstance(r, BaseException)]
        right = sum(r[0] for r in done)
        gaps = [gap for r in done for gap in r[1]] or [float("nan")]
        alone = alone or p50(gaps)
        report.row(
            f"reply p50 with {count} call(s) at once, {right}/{2 * count} answers right",
            p50(gaps),
            "s",
            baseline=alone,
            baseline_what="one call",
        )
        if right == 2 * count:
            most_right = max(most_right, count)
        await asyncio.sleep(3)
    report.row("most calls at once with every answer right", most_right, "calls")
    report.at_least("calls at once with every answer right", most_right, 4)


async def _one_of_many(kit: CallKit, wait_s: float) -> tuple[int, list[float]]:
    await asyncio.sleep(wait_s)
    call = await kit.phone.dial(RECEPTION, caller=_someone())
    await call.listen(call.answered_at, kit.hear)
    right, gaps = 0, []
    for question, word in QUESTIONS[1:3]:
        answer = await call.ask(await kit.speech(question), kit.hear)
        right += word in answer.text.lower()
        gaps.append(answer.gap_s)
    await call.hang_up()
    return right, gaps


async def _gaps(kit: CallKit, call: Call) -> list[float]:
    await call.listen(call.answered_at, kit.hear)
    gaps = [(await call.ask(await kit.speech(text), kit.hear)).gap_s for text, _ in QUESTIONS]
    await call.hang_up()
    await asyncio.sleep(1.5)
    return gaps


async def _bare_call(kit: CallKit) -> Call:
    phone = _someone()
    agent = await kit.database["Agent"].find_one({"agentId": "reception"}) or {}
    metadata: dict[str, Any] = {
        "phone": phone,
        "trunk": kit.stack.trunks["phone"],
        "instructions": f"{agent['prompt']}\n\n{agent['Context']}",
        "greeting": "Hello, this is Clara of Acme Health. How can I help you?",
    }
    ringing = asyncio.ensure_future(kit.phone.accept(number=phone, ring_s=0.3))
    await kit.dispatch(metadata, agent_name=BARE)
    return await ringing


@asynccontextmanager
async def _bare_worker(stack: Stack) -> AsyncIterator[None]:
    log = LogTail(stack.log_dir / "bare.log")
    with log.path.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bench._bare_worker", "start"),
            cwd=ROOT,
            env={**os.environ, **stack.read_env()},
            stdout=out,
            stderr=out,
        )
    try:
        for _ in range(300):
            if "registered worker" in log.text() and "process initialized" in log.text():
                break
            await asyncio.sleep(0.2)
        yield
    finally:
        process.terminate()
        await process.wait()


def _tight(pcm: np.ndarray) -> np.ndarray:
    loud = np.flatnonzero(np.abs(pcm) > 300)
    return pcm[loud[0] : loud[-1]]


def _someone() -> str:
    return f"+1628{uuid4().int % 10**7:07d}"


async def _calls(report: Report, stack: Stack) -> None:
    async with CallKit.open(stack) as kit:
        await start_of_calls(report, kit)
        await replies(report, kit)
        await pauses(report, kit)
        await at_once(report, kit)


def main() -> int:
    """Everything, on a stack of its own."""
    stack, report = Stack.named("test"), Report("call_start")
    ensure_up(stack)
    try:
        asyncio.run(_calls(report, stack))
        asyncio.run(lookups(report, stack))
    finally:
        tear_down(stack)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
