"""Fills the stores: `python seed.py FILE`, or `python seed.py --migrate` for older records alone."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from src.adapters.clock import SystemClock
from src.bootstrap_jobs import build_catalogue
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
        f" contacts: {counts.contacts}, older records brought up to date: {counts.backfilled}\n"
    )
    for problem in counts.problems:
        sys.stderr.write(f"{problem}\n")
    return 0


def _store(seed: Seed | None) -> SeedCounts:
    catalogue, mongo = build_catalogue(Settings())
    try:
        return asyncio.run(migrate(catalogue) if seed is None else load_seed(seed, catalogue))
    finally:
        mongo.close()


if __name__ == "__main__":
    sys.exit(main())
