"""Fills the stores: `python seed.py FILE`, or `python seed.py --migrate` for older records alone."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from src.adapters.clock import SystemClock
from src.adapters.migrate import migrate as migrate_database
from src.bootstrap_jobs import build_catalogue, build_ingestion
from src.bootstrap_memory import Foundation, build_foundation
from src.schemas.errors import FamiliarError
from src.schemas.seed import SeedCounts
from src.services.phone_numbers import load_numbering_plans
from src.services.seeding import Seed, load_seed, migrate, read_seed
from src.settings import Settings


def main() -> int:
    """Exit status: 0 when all is stored, 1 when the file or the store did not allow it."""
    parser = argparse.ArgumentParser(description=__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("file", nargs="?", type=Path, help="agents, phone numbers and contacts")
    source.add_argument("--migrate", action="store_true", help="indexes and older records alone")
    path: Path | None = parser.parse_args().file
    load_numbering_plans()
    try:
        seed = None if path is None else read_seed(path.read_text(), now=SystemClock().now())
        counts = _store(seed)
    except (FamiliarError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(
        f"agents: {counts.agents}, phone numbers: {counts.phone_numbers},"
        f" contacts: {counts.contacts}, documents: {counts.documents}, older records brought up to date: {counts.backfilled}\n"
    )
    for problem in counts.problems:
        sys.stderr.write(f"{problem}\n")
    return 0


def _store(seed: Seed | None) -> SeedCounts:
    settings = Settings()
    migrate_database(settings.database_url)
    return asyncio.run(_fill(seed, build_foundation(settings)))


async def _fill(seed: Seed | None, base: Foundation) -> SeedCounts:
    catalogue = build_catalogue(base)
    try:
        if seed is None:
            return await migrate(catalogue)
        return await load_seed(seed, catalogue, build_ingestion(base).add_document)
    finally:
        await base.aclose()


if __name__ == "__main__":
    sys.exit(main())
