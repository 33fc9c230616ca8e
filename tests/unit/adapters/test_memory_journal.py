"""What memory keeps on disk while its stores are away."""

import asyncio
import contextlib
import fcntl
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from src.adapters.memory_journal import FileMemoryJournal
from src.adapters.memory_journal_files import file_name
from src.schemas.errors import MemoryStoreError
from src.schemas.memory import CUT_MARKER, MAX_CONTENT_CHARS
from tests.contract.memory_stores import said, switch

ROOT = Path(__file__).parents[3]
WRITER = """
import asyncio, sys
from pathlib import Path
from src.adapters.memory_journal import FileMemoryJournal
from tests.contract.memory_stores import said

async def main(folder, name, count):
    journal = FileMemoryJournal(Path(folder), lock_wait_s=30)
    for number in range(int(count)):
        await journal.write(said(f"{name}-{number}", session=f"s{number % 3}"))
        print(f"{name}-{number}", flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture
def journal(tmp_path: Path) -> FileMemoryJournal:
    return FileMemoryJournal(tmp_path / "memory")


async def start_writer(folder: Path, name: str, count: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", WRITER, str(folder), name, str(count), cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip


async def ids(journal: FileMemoryJournal) -> list[str]:
    return [item.id for item in await journal.pending()]


async def test_items_come_back_as_they_were_in_the_order_of_writing(
    journal: FileMemoryJournal,
) -> None:
    assert await journal.pending() == ()
    items = (
        said("b\n\u2028 नमस्ते \x00", session="s2", sources=({"page": None},), sequence=3),
        said("a", session="s1"),
        switch("a", session="s1", data={"nested": {"list": [1]}}),
        said("c", session="s2", interrupted=True),
    )
    for item in items:
        await journal.write(item)
    assert await journal.pending() == items


async def test_the_same_id_is_kept_once(journal: FileMemoryJournal, tmp_path: Path) -> None:
    other = FileMemoryJournal(tmp_path / "memory")
    for _ in range(2):
        await journal.write(said("a"))
        await other.write(said("a"))
    await other.write(said("b"))
    await journal.write(said("b"))
    await journal.write(said("a", session="s2"))
    await journal.write(switch("a"))
    assert await ids(journal) == ["a", "b", "a", "a"]


async def test_items_without_an_id_are_told_apart_by_their_words(
    journal: FileMemoryJournal,
) -> None:
    for text in ("one", "two", "two"):
        await journal.write(said(text, id=""))
    assert len(await journal.pending()) == 2
    await journal.remove([said("one", id="")])
    assert await journal.pending() == (said("two", id=""),)


async def test_what_is_removed_is_gone_and_the_rest_stays(
    journal: FileMemoryJournal, tmp_path: Path
) -> None:
    for item in (said("a"), said("b"), switch("a"), said("c", session="s2")):
        await journal.write(item)
    await journal.remove([said("a"), said("c", session="s2"), said("never there", session="s3")])
    assert await journal.pending() == (said("b"), switch("a"))
    await journal.remove([said("b"), switch("a")])
    await journal.remove([said("b")])
    assert await journal.pending() == ()
    assert not list((tmp_path / "memory").glob("*.jsonl"))
    await journal.write(said("a"))
    assert await ids(journal) == ["a"]


async def test_deleted_sessions_are_gone_with_what_could_not_be_read(
    journal: FileMemoryJournal, tmp_path: Path
) -> None:
    await journal.write(said("canary"))
    await journal.write(switch("canary"))
    await journal.write(said("other", session="s2"))
    with (tmp_path / "memory" / file_name("s1")).open("a") as file:
        file.write('{"canary')
    await journal.pending()
    assert await journal.delete_sessions(["s1", "never seen"]) == 2
    assert await ids(journal) == ["other"]
    left = [path.read_text() for path in (tmp_path / "memory").iterdir()]
    assert "canary" not in "".join(left)


async def test_a_long_content_is_cut(journal: FileMemoryJournal) -> None:
    await journal.write(said("x" * 10_000_000, id="long"))
    (item,) = await journal.pending()
    assert item == said("x" * MAX_CONTENT_CHARS + CUT_MARKER, id="long")


async def test_files_are_for_their_owner_only(journal: FileMemoryJournal, tmp_path: Path) -> None:
    await journal.write(said("a", session="../../etc/passwd"))
    await journal.write(said("b", session="../../etc/passwd"))
    await journal.remove([said("a", session="../../etc/passwd")])
    with (tmp_path / "memory" / file_name("../../etc/passwd")).open("a") as file:
        file.write("{")
    await journal.pending()
    assert (tmp_path / "memory").stat().st_mode & 0o777 == 0o700
    names = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "memory").iterdir()}
    assert set(names.values()) == {0o600}
    assert len(names) == 3


@pytest.mark.parametrize(
    "tail",
    [b'{"at":1,"kind":"entry","item":{"role', b"\x00" * 100, b"[" * 100_000, b"null\n", b"\xff\n"],
    ids=repr,
)
async def test_what_cannot_be_read_is_set_aside_and_counted(
    tail: bytes, journal: FileMemoryJournal, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await journal.write(said("a"))
    path = tmp_path / "memory" / file_name("s1")
    path.write_bytes(path.read_bytes() + tail)
    await journal.write(said("b"))
    assert await ids(journal) == ["a", "b"]
    assert journal.unreadable == 1
    assert caplog.messages == ["unreadable memory set aside"]
    assert path.with_suffix(".unreadable").read_bytes().strip(b"\n") == tail.strip(b"\n")
    assert await ids(FileMemoryJournal(tmp_path / "memory")) == ["a", "b"]


async def test_what_a_dying_process_left_of_a_rewrite_is_dropped(
    journal: FileMemoryJournal, tmp_path: Path
) -> None:
    await journal.write(said("a"))
    part = (tmp_path / "memory" / file_name("s1")).with_suffix(".part")
    part.write_text("half of it")
    assert await ids(journal) == ["a"]
    assert not part.exists()


async def test_a_full_journal_refuses(tmp_path: Path) -> None:
    by_number = FileMemoryJournal(tmp_path / "number", max_items=3)
    for name in "abc":
        await by_number.write(said(name, session=name))
    other = FileMemoryJournal(tmp_path / "number", max_items=3)
    for full in (by_number, other):
        with pytest.raises(MemoryStoreError, match="full"):
            await full.write(said("d"))
        await full.write(said("a", session="a"))  # it is there
    await by_number.remove([said("b", session="b")])
    await other.write(said("d"))
    by_size = FileMemoryJournal(tmp_path / "size", max_bytes=1_500)
    await by_size.write(said("a"))
    with pytest.raises(MemoryStoreError, match="full"):
        await by_size.write(said("b" * 1_500))
    assert await ids(by_size) == ["a"]


async def test_a_disk_that_refuses_is_a_memory_store_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    journal = FileMemoryJournal(tmp_path / "file")
    with pytest.raises(MemoryStoreError):
        await journal.write(said("canary"))
    with pytest.raises(MemoryStoreError):
        await journal.remove([said("canary")])
    with pytest.raises(MemoryStoreError):
        await journal.delete_sessions(["s1"])
    assert await journal.pending() == ()
    assert caplog.messages == ["memory journal cannot be read"]
    with pytest.raises(MemoryStoreError, match="TypeError"):
        await FileMemoryJournal(tmp_path).write(switch("a", data={"what": object()}))


@contextlib.contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Let writes beyond `size` fail, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    former = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, former)


async def test_a_write_that_the_disk_took_in_part_leaves_nothing(
    journal: FileMemoryJournal, tmp_path: Path
) -> None:
    await journal.write(said("a"))
    path = tmp_path / "memory" / file_name("s1")
    size = path.stat().st_size
    with file_size_limit(size + 100), pytest.raises(MemoryStoreError):
        await journal.write(said("b"))
    assert path.stat().st_size == size
    await journal.write(said("b"))
    assert await ids(journal) == ["a", "b"]
    assert journal.unreadable == 0


async def test_a_lock_that_is_never_given_back_is_waited_for_no_longer_than_said(
    tmp_path: Path,
) -> None:
    journal = FileMemoryJournal(tmp_path, lock_wait_s=0.05)
    await journal.write(said("a"))
    with (tmp_path / ".lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(MemoryStoreError, match="Timeout"):
            await journal.write(said("b"))
    await journal.write(said("b"))
    assert await ids(journal) == ["a", "b"]


async def test_of_many_writes_at_once_none_is_lost(
    journal: FileMemoryJournal, tmp_path: Path
) -> None:
    journals = [journal, FileMemoryJournal(tmp_path / "memory", lock_wait_s=30)]
    async with asyncio.TaskGroup() as group:
        for number in range(40):
            group.create_task(journals[number % 2].write(said(str(number), session="s1")))
    assert sorted(await ids(journal), key=int) == [str(number) for number in range(40)]


@pytest.mark.integration
async def test_what_a_killed_process_acknowledged_is_there(tmp_path: Path) -> None:
    for life in range(3):
        writer = await start_writer(tmp_path, f"life{life}", 100_000)
        assert writer.stdout
        acknowledged = [(await writer.stdout.readline()).decode().strip() for _ in range(20)]
        writer.kill()
        acknowledged += (await writer.stdout.read()).decode().split()
        await writer.wait()
        journal = FileMemoryJournal(tmp_path)
        found = await journal.pending()
        assert set(acknowledged) <= {item.id for item in found}
        assert len(found) <= len(acknowledged) + 1  # written, but killed before it said so
        assert len(acknowledged) >= 20
        await journal.remove(found)
        assert await journal.pending() == ()


@pytest.mark.integration
async def test_a_replay_while_others_write_finds_everything_once(tmp_path: Path) -> None:
    count = 60
    writers = [await start_writer(tmp_path, name, count) for name in ("voice", "text")]
    journal = FileMemoryJournal(tmp_path, lock_wait_s=30)
    replayed: list[str] = []
    outputs = asyncio.gather(*(writer.communicate() for writer in writers))
    while not outputs.done() or await journal.pending():
        found = await journal.pending()
        replayed += [item.id for item in found]
        await journal.remove(found)
        await asyncio.sleep(0)
    await outputs
    assert sorted(replayed) == sorted(
        f"{name}-{n}" for name in ("voice", "text") for n in range(count)
    )
