"""Terms of the field an agent works in."""

import logging
from pathlib import Path

import pytest

from src.services.lexicons import load_lexicons

ROOT = Path(__file__).parents[3]


def write(directory: Path, name: str, content: bytes) -> None:
    path = directory / "lexicons" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)


def test_reads_one_term_a_line_without_comments(tmp_path: Path) -> None:
    write(
        tmp_path,
        "a.txt",
        b"\xef\xbb\xbf# drugs\nmetformin\n\n  Crohn's disease  # a person's name\n",
    )
    write(tmp_path, "b.txt", b"metformin\r\ninsulin\r\n")
    write(tmp_path, "c.md", b"not this\n")

    assert load_lexicons(tmp_path).terms == ("metformin", "Crohn's disease", "insulin")


def test_a_missing_directory_is_an_empty_lexicon(tmp_path: Path) -> None:
    assert load_lexicons(tmp_path / "nowhere").terms == ()


def test_an_unreadable_file_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, "a.txt", b"\xff\xfe\x00broken")
    write(tmp_path, "b.txt", b"insulin\n")

    with caplog.at_level(logging.WARNING):
        assert load_lexicons(tmp_path).terms == ("insulin",)
    assert "lexicon left out" in caplog.text


def test_the_shipped_lexicon_is_there() -> None:
    terms = load_lexicons(ROOT / "data").terms

    assert len(terms) >= 150
    assert {"metformin", "Parkinson's"} <= set(terms)
