"""First uses that cost tens to hundreds of milliseconds, done before a call has to wait for them."""

from __future__ import annotations

import asyncio

# Imported by their libraries at first use only.
import openai.resources.chat.completions.completions
import openai.resources.models  # noqa: F401
from livekit.agents.tokenize.basic import hyphenate_word
from livekit.agents.utils import http_context

from src.adapters.tokens import O200kTokenCounter
from src.services.phone_numbers import load_numbering_plans


def warm_up() -> None:
    """Fill the caches of this process; processes forked from it share them.

    Leaves neither thread, socket nor event loop behind, so that forking stays safe.
    """
    O200kTokenCounter().load()
    hyphenate_word("hello")  # compiles the patterns that pace the transcript
    load_numbering_plans()
    asyncio.run(_parse_certificates())


async def _parse_certificates() -> None:
    async with http_context.open():
        pass
