"""The story of a caller who is remembered: `make call`.

We call somebody, talk and hang up; they call back and are known. A real worker, real SIP and real
audio on the local stack; the phone is simulated, and what it heard is recognised from its audio.
"""

from __future__ import annotations

import asyncio
import sys
import time
import wave
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from local.kit import CallKit, Document, LogTail
from local.phone.call import Call
from local.phone.rtp import RATE_HZ
from local.ports import Stack
from local.stack import ensure_up
from local.story_events import OnStoryEvent, Recording, StoryEvent, StoryEventKind, StoryResult
from src.schemas.contact import CallDirection
from src.schemas.job_metadata import JobMetadata

CALLER = "+15551234567"
RECEPTION = "+15105550100"
NAME = "Maria"
HEADING = "## Previous Conversation History with This Contact"
QUESTIONS_OUT = (
    "How long do refunds take?",
    "What does a replacement card cost?",
)
QUESTIONS_IN = ("What did we talk about last time?",)


@dataclass
class Teller:
    """Counts expectations and passes on what happens."""

    on_event: OnStoryEvent
    began: float = field(default_factory=time.time)
    call: int = 1
    held: int = 0
    expected: int = 0
    recordings: list[Recording] = field(default_factory=list)

    def tell(self, kind: StoryEventKind, title: str, detail: str = "") -> None:
        """Something happened."""
        self.on_event(StoryEvent(self._now(), kind, title, detail, call=self.call))

    def check(self, title: str, ok: bool, detail: str = "") -> None:  # noqa: FBT001 - reads as a sentence
        """Something was expected."""
        self.expected += 1
        self.held += ok
        self.on_event(StoryEvent(self._now(), "check", title, detail, ok=ok, call=self.call))

    def record(self, call: Call, title: str, folder: Path) -> None:
        """Keep what the phone heard."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"call-{self.call}-{uuid4().hex[:8]}.wav"
        with wave.open(str(path), "wb") as out:
            out.setparams((1, 2, RATE_HZ, 0, "NONE", "not compressed"))
            out.writeframes(call.heard_pcm().tobytes())
        self.recordings.append(Recording(self.call, title, path))

    def _now(self) -> float:
        return round(time.time() - self.began, 2)


async def tell(stack: Stack, on_event: OnStoryEvent) -> StoryResult:
    """Both calls, from the first ring to the second hang-up."""
    teller = Teller(on_event)
    async with CallKit.open(stack) as kit:
        await kit.contacts.delete_many({"phone": CALLER})  # the story begins with a stranger
        summary = await _we_call(kit, teller)
        teller.call = 2
        await _they_call_back(kit, teller, summary)
    result = StoryResult(teller.held, teller.expected, tuple(teller.recordings))
    teller.tell("end", result.line)
    return result


async def _we_call(kit: CallKit, teller: Teller) -> str:
    uid = f"story-{uuid4().hex[:12]}"
    accepted = asyncio.ensure_future(kit.phone.accept(number=CALLER, ring_s=1.5))
    teller.tell("dial", f"We dial {CALLER}", f'agent "outreach", variables {{name: "{NAME}"}}')
    await kit.dispatch(
        JobMetadata(
            call_type=CallDirection.OUTBOUND,
            agent_id="outreach",
            contact_uid=uid,
            phone=CALLER,
            dynamic_values={"name": NAME},
        )
    )
    call = await accepted
    teller.tell(
        "answer", "They pick up", f"after {call.answered_at - call.ringing_at:.1f} s of ringing"
    )
    greeting = await _greeting(kit, teller, call)
    teller.check("The greeting has the name of the campaign", NAME in greeting, greeting)
    for question, word in zip(QUESTIONS_OUT, ("five", "twelve"), strict=True):
        answer = await _ask(kit, teller, call, question)
        teller.check("The answer comes from the knowledge base", _has(answer, word), answer)
    await call.hang_up()
    teller.record(call, "What the phone heard in the first call", kit.stack.home / "recordings")
    ended = time.time()
    document = await kit.contact({"contactUID": uid}, until=_summarised, timeout_s=30)
    summary = str(document.get("conversation_summary") or "")
    teller.tell("stored", "Transcript and summary are stored", summary)
    teller.check(
        "A summary was written after the call",
        bool(summary),
        f"{time.time() - ended:.1f} s after it",
    )
    return summary


async def _they_call_back(kit: CallKit, teller: Teller, summary: str) -> None:
    log, since = LogTail.of(kit.stack, "worker"), time.time()
    teller.tell("dial", f"{CALLER} calls {RECEPTION}", 'agent "reception", no variables of its own')
    call = await kit.phone.dial(RECEPTION, caller=CALLER)
    teller.tell("answer", "Reception answers", f"{call.answered_at - since:.2f} s after dialling")
    greeting = await _greeting(kit, teller, call)
    teller.check("The greeting has the remembered name", NAME in greeting, greeting)
    for question in QUESTIONS_IN:
        answer = await _ask(kit, teller, call, question)
        teller.check(
            "The answer tells of the first call",
            _has(answer, "refund") or _has(answer, "card"),
            answer,
        )
    await call.hang_up()
    teller.record(call, "What the phone heard in the second call", kit.stack.home / "recordings")
    await _look_behind(kit, teller, log, since, summary)


async def _look_behind(
    kit: CallKit, teller: Teller, log: LogTail, since: float, summary: str
) -> None:
    """The prompt, the log and the receipt of the second call."""
    prompts = await kit.prompts(since)
    prompt = next((str(m[0]["content"]) for m in prompts if HEADING in str(m[0]["content"])), "")
    block = prompt[prompt.find(HEADING) :] if prompt else ""
    teller.tell("memory", "What reached the language model", block)
    teller.check("The history block is in the prompt, once", prompt.count(HEADING) == 1)
    teller.check("It holds the summary of the first call", bool(summary) and summary[:40] in block)
    document = await kit.contact(
        {"phone": CALLER, "callDirection": "inbound"}, until=lambda d: bool(d.get("memoryReceipt"))
    )
    receipt = document["memoryReceipt"]
    teller.tell("stored", "The memory receipt", _receipt_line(receipt))
    teller.check("The receipt names what was used", receipt["history"]["outcome"] == "applied")
    messages = log.messages()
    for line in (
        "Injecting 1 prior conversation summary(ies) into agent Context.",
        "Applied 1 remembered dynamic variable(s) from prior calls.",
    ):
        teller.tell("log", line)
        teller.check("The worker's log says so", line in messages, line)


async def _greeting(kit: CallKit, teller: Teller, call: Call) -> str:
    said = await call.listen(call.answered_at, kit.hear)
    teller.tell("agent_said", said.text, f"{said.gap_s * 1000:.0f} ms after the answer")
    return said.text


async def _ask(kit: CallKit, teller: Teller, call: Call, question: str) -> str:
    pcm = await kit.speech(question)
    teller.tell("caller_said", question)
    answer = await call.ask(pcm, kit.hear)
    teller.tell("agent_said", answer.text, f"{answer.gap_s:.2f} s after the caller's last word")
    return answer.text


def _has(text: str, word: str) -> bool:
    return word in text.lower()


def _summarised(document: Document) -> bool:
    return bool(document.get("conversation_summary"))


def _receipt_line(receipt: Document) -> str:
    history, variables = receipt["history"], receipt["variables"]
    return (
        f"history: {history['outcome']} from {len(history['contact_uids'])} call(s) "
        f"in {history['took_ms']} ms; variables: {', '.join(variables['variables']) or 'none'} "
        f"in {variables['took_ms']} ms; refused: {history['refused'] or 'none'}"
    )


_SIGNS: dict[StoryEventKind, str] = {
    "dial": "☎",
    "ring": "…",
    "answer": "✆",
    "agent_said": "agent ",
    "caller_said": "caller",
    "memory": "memory",
    "stored": "stored",
    "log": "log   ",
    "check": "check ",
    "end": "",
}


def printer(write: Callable[[str], object]) -> OnStoryEvent:
    """Shows the story in a terminal."""
    shown = 0

    def show(event: StoryEvent) -> None:
        nonlocal shown
        if event.call != shown:
            shown = event.call
            write("\n1  We call somebody\n" if shown == 1 else "\n2  They call back\n")
        mark = "" if event.ok is None else ("✓ " if event.ok else "✗ ")
        if event.kind == "end":
            write(f"\n{event.title}\n")
            return
        write(f"{event.at_s:7.2f} s  {_SIGNS[event.kind]}  {mark}{event.title}\n")
        for line in event.detail.splitlines():
            if event.kind != "check" or not event.ok:
                write(f"{'':19}{line}\n")

    return show


def main() -> int:
    """Start the stack if it is down, tell the story, and say by the exit code whether all held."""
    stack = Stack.named("demo")
    ensure_up(stack)

    def write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    result = asyncio.run(tell(stack, printer(write)))
    return 0 if result.held == result.expected else 1


if __name__ == "__main__":
    sys.exit(main())
