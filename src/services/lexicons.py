"""Words of the field an agent works in: expected by the recogniser, never taken for a name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from src.logs import get_logger

logger = get_logger(__name__)

_MAX_TERM_CHARS = 100
_MAX_TERMS = 20_000


@dataclass(frozen=True)
class Lexicon:
    """Terms from the files of a data directory."""

    terms: tuple[str, ...] = ()
    """As they are spelled, each once, in the order of the files."""


def load_lexicons(data_dir: Path) -> Lexicon:
    """Read `lexicons/*.txt` below a directory, one term a line; `#` begins a comment.

    A missing directory is an empty lexicon. A file that cannot be read is left out and logged.
    """
    terms: dict[str, None] = {}
    for path in sorted((data_dir / "lexicons").glob("*.txt")):
        for term in _terms(path):
            if len(terms) < _MAX_TERMS:
                terms.setdefault(term)
    return Lexicon(terms=tuple(terms))


def _terms(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        logger.warning("lexicon left out", extra={"file": path.name, "error": type(error).__name__})
        return []
    stripped = (line.partition("#")[0].strip() for line in lines)
    return [term for term in stripped if 0 < len(term) <= _MAX_TERM_CHARS]
