"""`python3 -m local.setup [--for-tests]`: makes the checkout ready; quick when it is."""

from __future__ import annotations

import argparse
import fcntl
import sys
import time

from local.setup import go
from local.setup.paths import LOCAL
from local.setup.python import PYTHON_STEP, UV_STEP
from local.setup.step import SetupError
from local.setup.system import install_missing, needed
from local.setup.web import WEB_STEP


def _set_up(*, for_tests: bool) -> None:
    began = time.monotonic()
    install_missing(needed(for_tests=for_tests))
    steps = [UV_STEP, PYTHON_STEP, *go.steps(), WEB_STEP]
    taken = [step.take() for step in steps]
    if any(taken):
        print(f"setup: ready after {time.monotonic() - began:.0f} s", flush=True)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--for-tests", action="store_true", help="and what only the tests need")
    arguments = parser.parse_args()
    LOCAL.mkdir(exist_ok=True)
    with (LOCAL / "setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two at once would disturb each other
        try:
            _set_up(for_tests=arguments.for_tests)
        except SetupError as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
