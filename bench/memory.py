"""What memory costs a turn and an append, and what kills and a hanging Redis leave of it."""

from __future__ import annotations

import asyncio
import sys

from bench._memory_appends import appends
from bench._memory_kills import kills
from bench._memory_outage import outage
from bench._memory_servers import servers
from bench._memory_turns import turns
from bench._report import Report
from local.ports import Stack
from local.stack import ensure_up
from local.tear_down import tear_down


def main() -> int:
    """Turns on a stack of its own, then the stores on servers of their own."""
    stack, report = Stack.named("test"), Report("memory")
    ensure_up(stack)
    try:
        asyncio.run(turns(report, stack))
    finally:
        tear_down(stack)
    with servers() as where:
        asyncio.run(appends(report, where))
        asyncio.run(outage(report, where))
        asyncio.run(kills(report, where))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
