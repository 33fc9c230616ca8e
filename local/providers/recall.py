"""What a prompt holds of earlier calls, of the caller's name, and of who the agent is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from local.providers.statements import STOP_WORDS, best_likeness, sentences, terms

_HEADING = re.compile(
    r"^#{1,6}[ \t]*Previous Conversation History with This Contact[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_NEXT_HEADING = re.compile(r"^#{1,6}[ \t]", re.MULTILINE)
_ENTRY = re.compile(
    r"^[-*]\s+(?:(?P<when>\d{4}-\d{2}-\d{2}(?: \d{2}:\d{2})?)\s*)?(?:\((?P<note>[^)]*)\)\s*)?:?\s*"
    r"(?P<summary>\S.*)$"
)
_EARLIER = (
    r"(?:last (?:time|call|conversation|talk|chat|week|month)|previous(?:ly)?|earlier|before|"
    r"past (?:calls?|conversations?))"
)
_ABOUT_EARLIER = re.compile(
    rf"\b(?:what|which|when|remember|recall|remind|have we|did we|did i)\b.*\b{_EARLIER}\b"
    rf"|\b{_EARLIER}\b.*\b(?:what|which|remember|recall|remind)\b"
    r"|\bremember (?:me|our|what)\b|\bknow about me\b",
    re.IGNORECASE,
)
_META = terms(
    "talk talked speak spoke spoken discuss discussed conversation call called time last previous "
    "previously earlier before past week month remember recall remind know mention anything"
)
_NAME_FIELD = re.compile(
    r"^[-*\s]*(?:(?:the )?(?:caller|customer|contact|patient|client|user|member)(?:'s)?[ _-]*)?"
    r"(?:first|full)?[ _-]*name\s*(?:is|:|=)\s*",
    re.IGNORECASE | re.MULTILINE,
)
_NAME_INSIDE = re.compile(
    r"\b(?:caller|customer|contact|patient|client|user|member)(?:'s)? (?:first |full )?name(?: is|:)\s+"
    r"|\b(?:speaking|talking) (?:to|with) (?!the |a )",
    re.IGNORECASE,
)
_NAME_TOLD = re.compile(r"\b(?:my name is|my name's|i am|i'm|call me)\s+", re.IGNORECASE)
_GREETED = re.compile(
    r"^(?:hello|hi|hey|good (?:morning|afternoon|evening)|welcome back)[ ,]+", re.IGNORECASE
)
_INTRODUCED = re.compile(r"(?:This is|My name is|I am) [A-Z]")
_YOU_ARE = re.compile(r"^you are\s+(?!speaking|talking)", re.IGNORECASE)

_TOLD = 3  # sentences: more is too long to listen to


@dataclass(frozen=True)
class Entry:
    """One line of the history block."""

    when: str
    ago: str
    summary: str


def is_about_earlier_calls(question: str) -> bool:
    """Whether somebody asks what was said in an earlier call."""
    return bool(_ABOUT_EARLIER.search(question))


def history(instructions: str) -> list[Entry]:
    """The entries of the history block, oldest first; none when there is no block."""
    found = _HEADING.search(instructions)
    if not found:
        return []
    block = instructions[found.end() :]
    if end := _NEXT_HEADING.search(block):
        block = block[: end.start()]
    entries: list[Entry] = []
    inside = False
    for line in block.splitlines():
        if match := _ENTRY.match(line):
            inside = True
            entries.append(
                Entry(match["when"] or "", _ago(match["note"]), match["summary"].strip())
            )
        elif inside and line.strip():
            last = entries.pop()
            entries.append(Entry(last.when, last.ago, f"{last.summary} {line.strip()}"))
        else:
            inside = False
    if all(entry.when for entry in entries):
        entries.sort(key=lambda entry: entry.when)
    return entries


def _ago(note: str | None) -> str:
    part = (note or "").rpartition(",")[2].strip()
    return part if re.search(r"\bago\b|\btoday\b|\byesterday\b", part) else ""


def from_history(question: str, entries: list[Entry]) -> str:
    """The entry asked for: the newest, unless the question names a topic of another."""
    topic = terms(question) - _META
    chosen = entries[-1]
    for entry in entries:
        own = terms(entry.summary)
        if topic and all(best_likeness(term, own) > 0 for term in topic):
            chosen = entry
    told = " ".join(sentences(chosen.summary)[:_TOLD])
    return f"Last time{f', {chosen.ago}' if chosen.ago else ''}: {told}"


def caller_name(known: str, by_caller: Sequence[str], by_agent: Sequence[str] = ()) -> str:
    """The caller's name, if it is shown: their own word first, then what is known, then a greeting."""
    for said in reversed(by_caller):
        if name := _after(_NAME_TOLD, said):
            return name
    for pattern in (_NAME_FIELD, _NAME_INSIDE):
        if name := _after(pattern, known):
            return name
    return next((name for said in by_agent if (name := _after(_GREETED, said))), "")


def _after(pattern: re.Pattern[str], text: str) -> str:
    return next((name for m in pattern.finditer(text) if (name := _name_at(text[m.end() :]))), "")


def _name_at(text: str) -> str:
    """The capitalised words a text begins with; scripts without capitals count."""
    words = []
    for word in re.split(r"[ \t]", text.split("\n", 1)[0])[:4]:
        bare = word.strip(",.;:!?\"'()")
        if not bare or not bare[0].isalpha() or bare[0].islower() or bare.lower() in STOP_WORDS:
            break
        words.append(bare)
        if word[-1] in ",.;:!?)":
            break
    return " ".join(words)


def agent_identity(instructions: str, by_agent: Sequence[str]) -> str:
    """A sentence that says who the agent is; empty if nothing in the prompt does."""
    for sentence in sentences(instructions):
        if match := _YOU_ARE.match(sentence):
            return f"I am {sentence[match.end() :]}"
    said = (sentence for text in by_agent for sentence in sentences(text))
    return next((sentence for sentence in said if _INTRODUCED.match(sentence)), "")
