"""A call without a room: what conversation and thinker use of one."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

from src.handlers.call import Call
from src.schemas.calls import CallPolicy
from src.schemas.contact import CallDirection
from src.schemas.knowledge import Retrieved
from src.schemas.memory import Passage
from src.services.background import Background
from src.services.unified_memory import UnifiedMemoryService
from tests.fakes.clock import FakeClock
from tests.fakes.message_summariser import HeldSummariser


class FakeIdentifier:
    """Knows Spanish by its question mark."""

    def identify(self, text: str, languages: Sequence[str]) -> tuple[str, float] | None:
        return ("es" if "¿" in text and "es" in languages else languages[0], 0.9)


class FakeRetrieval:
    """Answers every question with a passage that quotes it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.error: Exception | None = None

    async def retrieve_passages(self, query: str, **_: Any) -> Retrieved:
        self.asked.append(query)
        if self.error is not None:
            raise self.error
        passage = Passage(text=f"About {query}", document="faq.md", page=None, score=1.0)
        return Retrieved(passages=(passage,), took_ms=1.0)


def fake_call(memory: UnifiedMemoryService, *, retrieval: FakeRetrieval | None = None) -> Call:
    """A web call with these services; voices that are chosen gather in `services.speech.voices`."""
    voices: list[str | None] = []
    call = SimpleNamespace(
        background=Background(),
        direction=CallDirection.WEB,
        language="en",
        session=None,
        identity=None,
        conversation=None,
        degradations=[],
        services=SimpleNamespace(
            policy=CallPolicy(),
            sources=SimpleNamespace(clock=FakeClock()),
            speech=SimpleNamespace(change_voice=voices.append, voices=voices),
            thinking=SimpleNamespace(
                memory=memory,
                identifier=FakeIdentifier(),
                retrieval=retrieval or FakeRetrieval(),
                summariser=HeldSummariser(),
                count_tokens=lambda text: len(text.split()),
            ),
        ),
    )
    call.degrade = lambda *names: call.degradations.extend(names)
    return cast(Call, call)
