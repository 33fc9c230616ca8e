"""Decides by the words of a request whether it asks for a tool."""

from __future__ import annotations

import re
from collections.abc import Sequence

from local.providers.conversation import Function
from local.providers.statements import best_likeness, sentences, terms

_NEGATED = re.compile(r"\b(?:don't|do not|no need|not want|never|without)\b", re.IGNORECASE)
_SAME = (
    (
        re.compile(
            r"\b(?:connect|forward|put me through|hand (?:me )?(?:over|off)|switch|route)\b",
            re.IGNORECASE,
        ),
        "transfer",
    ),
    (re.compile(r"\b(?:speak|talk) (?:to|with)\b", re.IGNORECASE), "transfer"),
    (re.compile(r"\b(?:hang up|good ?bye|bye)\b", re.IGNORECASE), "end call"),
)
_ENOUGH_OF_NAME = 0.6
_ENOUGH_OF_REQUEST = 0.6


def asked_for(tools: Sequence[Function], said: str) -> Function | None:
    """The tool that the request asks for by what its name or description says; None for no tool."""
    if _NEGATED.search(said):
        return None
    ranked = sorted(tools, key=lambda tool: _fit(tool, tools, said), reverse=True)
    return ranked[0] if ranked and _fit(ranked[0], tools, said) > 0 else None


def closest(tools: Sequence[Function], said: str) -> Function:
    """The tool to call when one must be called."""
    words = _words(said)
    return max(tools, key=lambda tool: _matched(words, _name(tool) | _purpose(tool)))


def _fit(tool: Function, tools: Sequence[Function], said: str) -> float:
    """How well a request fits a tool; 0 when it does not."""
    words, name = _words(said), _name(tool)
    if "transfer" in name:
        return _transfer_fit(tool, tools, words)
    of_name = _matched(name, words) / max(1, len(name))
    if of_name >= _ENOUGH_OF_NAME:
        return 1 + of_name
    hits = _matched(words, _purpose(tool) | name)
    of_request = hits / max(1, len(words))
    return of_request if hits >= 2 and of_request >= _ENOUGH_OF_REQUEST else 0.0


def _transfer_fit(tool: Function, tools: Sequence[Function], words: frozenset[str]) -> float:
    """A transfer needs the wish and the goal: what sets this tool apart from the other transfers."""
    if "transfer" not in words:
        return 0.0
    others = [_name(other) for other in tools if other is not tool and "transfer" in _name(other)]
    goal = {term for term in _name(tool) if all(term not in other for other in others)}
    goal -= {"transfer"}
    if hits := _matched(
        goal | (_purpose(tool) if not others else frozenset()), words - {"transfer"}
    ):
        return 1 + hits
    # "Transfer me, please": with one way to go there is nothing to choose.
    return 0.5 if not others and words == {"transfer"} else 0.0


def _words(said: str) -> frozenset[str]:
    for pattern, same in _SAME:
        said = pattern.sub(same, said)
    return terms(said)


def _name(tool: Function) -> frozenset[str]:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]", " ", tool.name)
    return _words(spaced)


def _purpose(tool: Function) -> frozenset[str]:
    return _words(" ".join(sentences(tool.description)[:1]))


def _matched(wanted: frozenset[str] | set[str], given: frozenset[str]) -> float:
    return sum(best_likeness(term, given) for term in wanted)
