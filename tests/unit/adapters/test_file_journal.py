"""Finished calls on disk, until the store has them."""

from pathlib import Path

from src.adapters.file_journal import FileJournal
from tests.unit.services.test_call_closing import END, contact


async def test_calls_come_back_oldest_first_and_go_when_removed(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path / "calls")
    assert await journal.pending() == []
    await journal.write(contact("b"), END)
    await journal.write(contact("a"), END)
    assert await journal.pending() == [(contact("b"), END), (contact("a"), END)]
    await journal.remove("b")
    await journal.remove("b")
    assert await journal.pending() == [(contact("a"), END)]


async def test_a_call_is_kept_once_and_for_its_owner_only(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path)
    await journal.write(contact("../../etc/passwd"), END)
    await journal.write(contact("../../etc/passwd"), END)
    (kept,) = tmp_path.iterdir()
    assert kept.stat().st_mode & 0o077 == 0
    assert len(await journal.pending()) == 1


async def test_what_cannot_be_read_is_set_aside(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path)
    await journal.write(contact("a"), END)
    (tmp_path / "broken.json").write_text('{"contact": ')
    assert await journal.pending() == [(contact("a"), END)]
    assert (tmp_path / "broken.unreadable").exists()
