"""The seed command and the jobs process on a real store."""

import asyncio
import json
import os
import signal
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from pymongo import MongoClient

import seed
from jobs import run
from src.bootstrap_follow_up import build_records
from src.bootstrap_jobs import Jobs, build_jobs
from src.settings import Settings
from tests.contract.documents import call_end, new_contact
from tests.fakes.analysis_model import ANSWER

pytestmark = pytest.mark.integration

EXAMPLE = Path(__file__).parents[2] / "examples" / "clinic.json"


def run_seed(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("sys.argv", ["seed.py", *arguments])
    return seed.main()


@pytest.fixture
def database(mongodb_uri: str, empty_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"test-{uuid.uuid4().hex}"
    monkeypatch.setenv("MONGODB_URI", mongodb_uri)
    monkeypatch.setenv("MONGODB_DATABASE", name)
    monkeypatch.setenv("DATABASE_URL", empty_url)
    return name


def counts(uri: str, database: str) -> dict[str, int]:
    with MongoClient[dict[str, Any]](uri) as client:
        found = client[database]
        names = found.list_collection_names()
        return {name: n for name in names if (n := found[name].count_documents({}))}


def test_seeding_twice_stores_everything_once(
    mongodb_uri: str,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for _ in range(2):
        assert run_seed(str(EXAMPLE), monkeypatch=monkeypatch) == 0
        assert counts(mongodb_uri, database) == {"Agent": 7, "PhoneNumber": 4, "Contact": 5}
    assert run_seed("--migrate", monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out.startswith("agents: 7, phone numbers: 4, contacts: 5")


def test_a_bad_file_is_refused_before_anything_is_stored(
    mongodb_uri: str,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    content = json.loads(EXAMPLE.read_text())
    content["agents"][-1]["historyContext"] = {"maxConversations": 11}
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(content))
    assert run_seed(str(bad), monkeypatch=monkeypatch) == 1
    assert "history_context_max" in capsys.readouterr().err
    assert counts(mongodb_uri, database) == {}
    assert run_seed(str(tmp_path / "missing.json"), monkeypatch=monkeypatch) == 1


@pytest.fixture
def jobs(mongodb_uri: str, database: str, empty_url: str, tmp_path: Path) -> Jobs:
    return build_jobs(
        Settings(
            mongodb_uri=mongodb_uri,
            mongodb_database=database,
            openai_api_key=SecretStr("key"),
            openai_base_url="http://127.0.0.1:9/v1",
            data_dir=tmp_path,
            database_url=empty_url,
        )
    )


@asynccontextmanager
async def language_model() -> AsyncIterator[str]:
    """Answers every chat request with an analysis; its base URL."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        size = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(size)
        message = {"role": "assistant", "content": json.dumps(dict(ANSWER))}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        body = json.dumps({"id": "1", "created": 0, "model": "m", "choices": [choice]}).encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n"
            b"content-length: %d\r\n\r\n%s" % (len(body), body)
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


async def test_the_jobs_process_analyses_and_ends_when_told(jobs: Jobs) -> None:
    now = datetime.now(UTC)
    records = build_records(jobs.base)
    await records.close(new_contact("a"), call_end(ended_at=now))
    async with language_model() as url, asyncio.timeout(30):
        jobs.base.openai.base_url = url
        async with asyncio.TaskGroup() as group:
            process = group.create_task(run(jobs))
            while not await jobs.base.mongo.contacts.find_one({"analysisStatus": "done"}):
                assert not process.done()
                await asyncio.sleep(0.05)
            document = await jobs.base.mongo.contacts.find_one({"contactUID": "a"})
            os.kill(os.getpid(), signal.SIGTERM)
    assert document is not None
    assert document["conversation_summary"] == ANSWER["summary"]
