"""An extractive summary of a call: what the caller raised and what the agent answered, quoted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from local.providers.conversation import Utterance
from local.providers.intents import courtesy
from local.providers.statements import sentences, terms

_LONGEST_QUOTE = 30  # words
_QUOTES = 3


@dataclass(frozen=True)
class _Frame:
    """The words around the quotes, in one language."""

    asked: str = "The caller asked:"
    said: str = "The caller said:"
    answered: str = "The agent answered:"
    unanswered: str = "The agent gave no answer to that."
    also: str = "The caller also raised:"
    answered_also: str = "To that the agent answered:"
    nothing_else: str = "Nothing else was discussed."
    silent_caller: str = "The caller said nothing."
    courteous: str = "The caller exchanged courtesies only."
    agent_said: str = "The agent said:"
    silent_agent: str = "The agent said nothing."
    no_question: str = "No question was raised."


_ENGLISH = _Frame()
_FRAMES = {
    "es": _Frame(
        asked="La persona preguntó:",
        said="La persona dijo:",
        answered="El agente respondió:",
        unanswered="El agente no respondió a eso.",
        also="La persona también mencionó:",
        answered_also="A eso el agente respondió:",
        nothing_else="No se habló de nada más.",
        silent_caller="La persona no dijo nada.",
        courteous="La persona solo intercambió saludos.",
        agent_said="El agente dijo:",
        silent_agent="El agente no dijo nada.",
        no_question="No hubo ninguna pregunta.",
    ),
    "hi": _Frame(
        asked="कॉलर ने पूछा:",
        said="कॉलर ने कहा:",
        answered="एजेंट ने जवाब दिया:",
        unanswered="एजेंट ने इसका जवाब नहीं दिया।",
        also="कॉलर ने यह भी कहा:",
        answered_also="इस पर एजेंट ने जवाब दिया:",
        nothing_else="और किसी बात पर चर्चा नहीं हुई।",
        silent_caller="कॉलर ने कुछ नहीं कहा।",
        courteous="कॉलर ने केवल अभिवादन किया।",
        agent_said="एजेंट ने कहा:",
        silent_agent="एजेंट ने कुछ नहीं कहा।",
        no_question="कोई प्रश्न नहीं पूछा गया।",
    ),
}


def summarise(lines: Sequence[Utterance], language: str = "en") -> str:
    """Three to four sentences in the third person, each from the lines and nothing else."""
    frame = _FRAMES.get(language.split("-")[0], _ENGLISH)
    raised = exchanges(lines)
    if not raised:
        return _one_sided(lines, frame)
    (first, answer), *others = raised
    said = [_reported(first, frame), _answered(answer, frame.answered, frame)]
    if not others:
        return " ".join([*said, frame.nothing_else])
    quotes = "; ".join(_quote(raised).rstrip(".;") for raised, _ in others[:_QUOTES])
    said.append(_ended(f"{frame.also} {quotes}"))
    answers = [_quote(given).rstrip(".;") for _, given in others[:_QUOTES] if given]
    said.append(_answered("; ".join(answers), frame.answered_also, frame))
    return " ".join(said)


def shortened(text: str, most: int = 4) -> str:
    """The first sentences of a text that is a summary already."""
    return " ".join(sentences(text)[:most])


def exchanges(lines: Sequence[Utterance]) -> list[tuple[str, str]]:
    """What the caller raised, each with the agent's answer; courtesies are left out."""
    exchanges: list[tuple[str, str]] = []
    for line in lines:
        if line.by_caller and not courtesy(line.text):
            exchanges.append((line.text, ""))
        elif not line.by_caller and exchanges and not exchanges[-1][1]:
            exchanges[-1] = (exchanges[-1][0], line.text)
    return exchanges


def _one_sided(lines: Sequence[Utterance], frame: _Frame) -> str:
    spoken = [line.text for line in lines if not line.by_caller]
    courtesy = any(line.by_caller for line in lines)
    caller = frame.courteous if courtesy else frame.silent_caller
    agent = _ended(f"{frame.agent_said} {_quote(spoken[0])}") if spoken else frame.silent_agent
    return f"{caller} {agent} {frame.no_question}"


def _reported(raised: str, frame: _Frame) -> str:
    quote = _quote(raised)
    return _ended(f"{frame.asked if quote.endswith('?') else frame.said} {quote}")


def _answered(answer: str, lead: str, frame: _Frame) -> str:
    return _ended(f"{lead} {_quote(answer)}") if answer else frame.unanswered


def _quote(text: str) -> str:
    """The most telling sentence of a turn, cut if it is very long."""
    best = max(sentences(text), key=lambda sentence: len(terms(sentence)), default=text)
    words = best.split()
    return best if len(words) <= _LONGEST_QUOTE else f"{' '.join(words[:_LONGEST_QUOTE])} …"


def _ended(sentence: str) -> str:
    return sentence if sentence[-1] in ".!?…।" else f"{sentence}."
