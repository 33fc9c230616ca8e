"""Text to sound, sentence by sentence."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from hibari import Hibari

from local.providers.audio import Pcm
from local.providers.control import Control, Endpoint
from local.providers.engines import Engines

_LONG_SENTENCE = 70  # letters; the first clause of a longer one is spoken while the rest is made
_SHORT_CLAUSE = 20


def sentences(text: str) -> list[str]:
    """The sentences of a text; titles and initials do not end one."""
    return list(Hibari.split_sentences(text))


def whole_sentences(text: str) -> tuple[list[str], str]:
    """The sentences that are certainly complete, and the rest, to which more may be added."""
    found = sentences(text)
    if not found:
        return [], text
    return found[:-1], text[text.rindex(found[-1]) :]


def clauses(sentence: str) -> Iterator[str]:
    """A sentence in the pieces in which it is made."""
    if len(sentence) > _LONG_SENTENCE:
        cuts = [sentence.find(mark, _SHORT_CLAUSE, _LONG_SENTENCE) for mark in (", ", "; ", ": ")]
        if cut := min((cut for cut in cuts if cut > 0), default=0):
            yield sentence[: cut + 1]
            sentence = sentence[cut + 2 :]
    yield sentence


@dataclass
class Voice:
    """Speaks as the script says, or else what it is told; writes down both."""

    engines: Engines
    control: Control

    async def say(
        self, sentence: str, rate: int, speed: float = 1.0, endpoint: Endpoint = Endpoint.SPEAK
    ) -> AsyncIterator[Pcm]:
        """Sound of one sentence, in one or two pieces."""
        entry = self.control.note(endpoint, text=sentence)
        step = await self.control.play(endpoint, sentence)
        began = time.perf_counter()
        for clause in clauses(sentence if step.reply is None else step.reply):
            pcm = await self.engines.synthesise(clause, rate, speed)
            entry.setdefault("took_s", round(time.perf_counter() - began, 3))
            yield pcm
