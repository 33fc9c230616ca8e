"""What kind of thing a caller says, told by its words."""

from __future__ import annotations

import re

from local.providers.statements import terms

OFFER = "Hello, how can I help you?"

_SUMMARY = re.compile(r"\bsummar(?:y|ies|ise|ize|ising|izing)\b", re.IGNORECASE)
_OWN_NAME = re.compile(
    r"\b(?:what(?:'s| is| was)|do you know|tell me|remember|say) my name\b|\bwho am i\W*$",
    re.IGNORECASE,
)
_AGENT = re.compile(
    r"\bwho are you\b|\bwhat(?:'s| is) your name\b|\bwho am i (?:speaking|talking) (?:to|with)\b",
    re.IGNORECASE,
)
_AGAIN = re.compile(
    r"\b(?:repeat|say) (?:that|it)\b|\bwhat did you (?:just )?say\b|^\W*pardon\b", re.IGNORECASE
)
_QUESTION = re.compile(
    r"\?\s*$|^\W*(?:what|when|where|which|who|why|how|is|are|can|could|do|does|did|will|would|may|"
    r"tell|i (?:want|need|would like|'d like) to know)\b",
    re.IGNORECASE,
)
_COURTESIES = (
    (re.compile(r"\bbye\b|\bgoodbye\b", re.IGNORECASE), "Goodbye."),
    (re.compile(r"\bthank", re.IGNORECASE), "You are welcome."),
    (re.compile(r"\bhow are you\b", re.IGNORECASE), "I am well, thank you. How can I help you?"),
    (re.compile(r"\b(?:hello|hi|hey|good (?:morning|afternoon|evening))\b", re.IGNORECASE), OFFER),
)
_COURTEOUS = terms(
    "goodbye bye thanks very lot good morning afternoon evening great perfect fine nice day wonderful alright"
)


def wants_summary(instruction: str) -> bool:
    """Whether an instruction is about summarising."""
    return bool(_SUMMARY.search(instruction))


def asks_own_name(said: str) -> bool:
    """Whether a caller asks what they are called."""
    return bool(_OWN_NAME.search(said))


def asks_who_speaks(said: str) -> bool:
    """Whether a caller asks who the agent is."""
    return bool(_AGENT.search(said))


def asks_again(said: str) -> bool:
    """Whether a caller wants the last answer once more."""
    return bool(_AGAIN.search(said))


def is_question(said: str) -> bool:
    """Whether an answer is due rather than an acknowledgement."""
    return bool(_QUESTION.search(said))


def courtesy(said: str) -> str:
    """The reply to words that carry neither question nor news; empty if these carry one."""
    if terms(said) - _COURTEOUS:
        return ""
    for pattern, reply in _COURTESIES:
        if pattern.search(said):
            return reply
    return "" if is_question(said) else "Alright. How else can I help you?"
