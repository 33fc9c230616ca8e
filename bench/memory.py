"""What memory costs a turn and an append, and what kills and a hanging Redis leave of it."""

from __future__ import annotations

import asyncio
import sys

from bench._memory_appends import appends
from bench._memory_kills import kills
from bench._memory_outage import outage
from bench._memory_servers import servers
from bench._report import Report


def main() -> int:
    """Everything; the turns on a stack of its own."""
    report = Report("memory")
    with servers() as where:
        asyncio.run(appends(report, where))
        asyncio.run(outage(report, where))
        asyncio.run(kills(report, where))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
