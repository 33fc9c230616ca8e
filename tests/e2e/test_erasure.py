"""What a deleted person said is nowhere any more."""

import asyncio
import json
import re
import secrets
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from bson import json_util

from local.kit import CallKit
from local.postgres import find_tool
from local.providers.control import Step
from src.bootstrap_memory import Foundation, build_memory, build_stores
from src.schemas.contact import CallDirection
from src.schemas.job_metadata import JobMetadata
from src.services.identity import memory_user_id
from src.services.memory_privacy import NoRedactor
from src.services.unified_memory import UnifiedMemoryService
from tests.e2e.test_phone_calls import RECEPTION, ask, greeting_of
from tests.e2e.web_client import WebClient

pytestmark = pytest.mark.stack

OWNER = "acme"
TELEPHONE_LOGS = ("livekit.log", "bridge.log")


@pytest.fixture
async def memory(base: Foundation) -> AsyncIterator[UnifiedMemoryService]:
    service = build_memory(base, build_stores(base), NoRedactor())
    yield service
    await service.aclose()


async def test_a_deletion_leaves_none_of_a_persons_words_anywhere(
    kit: CallKit, base: Foundation, memory: UnifiedMemoryService, caller: str
) -> None:
    words = [unheard_of() for _ in range(4)]
    typed, answered, spoken, summarised = words
    person = uuid4().hex
    await type_to_the_agent(kit, person, typed, answered)
    await call_the_agent(kit, caller, spoken, summarised)
    planted = await everything(kit, base, memory, person, caller)
    assert [word for word in words if word in planted] == words

    web = memory_user_id(OWNER, user=person)
    phone = memory_user_id(OWNER, e164=caller)
    receipts = [
        await memory.delete_user_memory(web, "all"),
        await memory.delete_user_memory(phone, "all", caller=(OWNER, caller)),
    ]

    left = await everything(kit, base, memory, person, caller)
    assert [word for word in words if word in left] == []
    assert caller[1:] not in left
    for receipt in receipts:
        assert receipt.complete
        assert sum(receipt.surfaces.values()) > 0
        assert not any(secret in str(receipt) for secret in (*words, caller, person, web, phone))


def unheard_of() -> str:
    """A word that is nowhere else, and no name, number or code that would be masked."""
    return "".join(secrets.choice("bdfglmnprstvz") + secrets.choice("aeiou") for _ in range(6))


async def type_to_the_agent(kit: CallKit, person: str, typed: str, answered: str) -> None:
    uid = f"web-{uuid4().hex[:12]}"
    metadata = JobMetadata(
        call_type=CallDirection.WEB,
        agent_id="web-guide",
        contact_uid=uid,
        session_id=uuid4().hex,
        user_id=person,
        mode="text",
    )
    async with WebClient.join(kit, await kit.dispatch(metadata), voice=False) as visitor:
        await visitor.line("hello")
        await kit.providers.script("chat", Step(match=typed, reply=f"You said {answered}."))
        await visitor.type(f"Please note {typed} for me.")
        await visitor.line(answered)
    await kit.contact(
        {"contactUID": uid}, until=lambda record: record.get("analysisStatus") == "done"
    )


async def call_the_agent(kit: CallKit, caller: str, spoken: str, summarised: str) -> None:
    call = await kit.phone.dial(RECEPTION, caller=caller)
    await greeting_of(kit, call)
    await kit.providers.script("listen", Step(reply=f"Please write down {spoken} for me."))
    await ask(kit, call, "This is what the telephone hears.")
    analysis = {
        "summary": f"They said {summarised}.",
        "outcome": "follow_up",
        "openItems": [f"Write down {summarised}."],
        "optOut": False,
    }
    wanted = Step(match="You analyse a phone call", reply=json.dumps(analysis))
    await kit.providers.script("chat", wanted)
    await call.hang_up()
    await kit.contact(
        {"phone": caller}, until=lambda record: summarised in str(record), timeout_s=30
    )


async def everything(
    kit: CallKit, base: Foundation, memory: UnifiedMemoryService, person: str, caller: str
) -> str:
    """All that the product's stores, files and logs hold, and what it hands out, as one text."""
    ids = (memory_user_id(OWNER, user=person), memory_user_id(OWNER, e164=caller))
    exports = [json.dumps(await memory.export(user_id), default=str) for user_id in ids]
    stores = [
        *[line async for line in mongo_dump(kit)],
        *[line async for line in redis_dump(base)],
        await asyncio.to_thread(postgres_dump, kit.stack.read_env()["DATABASE_URL"]),
    ]
    files = await asyncio.to_thread(lambda: list(texts(kit.stack.log_dir, kit.stack.data_dir)))
    # The telephone servers' own logs name who called whom, as those of any exchange do.
    theirs = await asyncio.to_thread(lambda: "".join(telephone_logs(kit.stack.log_dir)))
    number = re.compile(re.escape(caller[1:]))
    return "\n".join([*exports, *stores, *files, number.sub("", theirs)])


async def mongo_dump(kit: CallKit) -> AsyncIterator[str]:
    for name in await kit.database.list_collection_names():
        async for document in kit.database[name].find():
            yield json_util.dumps(document, ensure_ascii=False)


async def redis_dump(base: Foundation) -> AsyncIterator[str]:
    redis = base.redis
    async for key in redis.scan_iter(count=1000):
        yield str(key)
        match await redis.type(key):
            case b"string":
                yield str(await redis.get(key))
            case b"list":
                yield str(await redis.lrange(key, 0, -1))
            case b"hash":
                yield str(await redis.hgetall(key))
            case b"set":
                yield str(await redis.smembers(key))
            case b"zset":
                yield str(await redis.zrange(key, 0, -1))
            case other:
                raise ValueError(f"nobody looks into a {other!r}")


def postgres_dump(url: str) -> str:
    command = [find_tool("pg_dump"), "--data-only", url]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd="/").stdout


def texts(*folders: Path) -> Iterator[str]:
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and path.name not in TELEPHONE_LOGS:
                yield path.read_text(errors="replace")


def telephone_logs(folder: Path) -> Iterator[str]:
    for name in TELEPHONE_LOGS:
        yield (folder / name).read_text(errors="replace")
