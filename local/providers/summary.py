"""An extractive summary of a call: what the caller raised and what the agent answered, quoted."""

from __future__ import annotations

from collections.abc import Sequence

from local.providers.conversation import Utterance
from local.providers.intents import courtesy
from local.providers.statements import sentences, terms

_LONGEST_QUOTE = 30  # words
_QUOTES = 3


def summarise(lines: Sequence[Utterance]) -> str:
    """Three to four sentences in the third person, each from the lines and nothing else."""
    exchanges = _exchanges(lines)
    if not exchanges:
        return _one_sided(lines)
    (first, answer), *others = exchanges
    said = [_reported(first), _answered(answer, "The agent answered:")]
    if not others:
        return " ".join([*said, "Nothing else was discussed."])
    quotes = "; ".join(_quote(raised).rstrip(".;") for raised, _ in others[:_QUOTES])
    said.append(_ended(f"The caller also raised: {quotes}"))
    answers = [_quote(given).rstrip(".;") for _, given in others[:_QUOTES] if given]
    said.append(_answered("; ".join(answers), "To that the agent answered:"))
    return " ".join(said)


def shortened(text: str, most: int = 4) -> str:
    """The first sentences of a text that is a summary already."""
    return " ".join(sentences(text)[:most])


def _exchanges(lines: Sequence[Utterance]) -> list[tuple[str, str]]:
    """What the caller raised, each with the agent's answer; courtesies are left out."""
    exchanges: list[tuple[str, str]] = []
    for line in lines:
        if line.by_caller and not courtesy(line.text):
            exchanges.append((line.text, ""))
        elif not line.by_caller and exchanges and not exchanges[-1][1]:
            exchanges[-1] = (exchanges[-1][0], line.text)
    return exchanges


def _one_sided(lines: Sequence[Utterance]) -> str:
    spoken = [line.text for line in lines if not line.by_caller]
    courtesy = any(line.by_caller for line in lines)
    caller = "The caller exchanged courtesies only." if courtesy else "The caller said nothing."
    agent = _ended(f"The agent said: {_quote(spoken[0])}") if spoken else "The agent said nothing."
    return f"{caller} {agent} No question was raised."


def _reported(raised: str) -> str:
    quote = _quote(raised)
    return _ended(f"The caller {'asked' if quote.endswith('?') else 'said'}: {quote}")


def _answered(answer: str, lead: str) -> str:
    return _ended(f"{lead} {_quote(answer)}") if answer else "The agent gave no answer to that."


def _quote(text: str) -> str:
    """The most telling sentence of a turn, cut if it is very long."""
    best = max(sentences(text), key=lambda sentence: len(terms(sentence)), default=text)
    words = best.split()
    return best if len(words) <= _LONGEST_QUOTE else f"{' '.join(words[:_LONGEST_QUOTE])} …"


def _ended(sentence: str) -> str:
    return sentence if sentence[-1] in ".!?…" else f"{sentence}."
