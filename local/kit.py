"""Places calls on a running local stack, and looks at what they left: for the story, tests and benchmarks."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from livekit import api
from pymongo import AsyncMongoClient
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.asynchronous.database import AsyncDatabase

from local.phone.phone import Phone
from local.ports import HOST, UDP_RANGE, Stack
from local.providers.client import ProvidersClient
from local.voice import say_pcm
from src.adapters.livekit_server import delete_room, participants
from src.schemas.job_metadata import JobMetadata

AGENT_NAME = "familiar"
Document = dict[str, Any]


@dataclass
class LogTail:
    """The lines a process wrote since a moment."""

    path: Path
    offset: int = 0

    @classmethod
    def of(cls, stack: Stack, part: str) -> LogTail:
        """From now on."""
        path = stack.log_dir / f"{part}.log"
        return cls(path, path.stat().st_size if path.exists() else 0)

    def text(self) -> str:
        """Everything since then."""
        with self.path.open("rb") as source:
            source.seek(self.offset)
            return source.read().decode(errors="replace")

    def messages(self) -> list[str]:
        """The sentence of each record."""
        return [record.get("message", "") for record in self.records()]

    async def wait_for(self, message: str, timeout_s: float = 15.0) -> None:
        """Return once a record says this.

        Raises:
            TimeoutError: none did in time.
        """
        stop_at = time.monotonic() + timeout_s
        while time.monotonic() < stop_at:
            if message in self.messages():
                return
            await asyncio.sleep(0.05)
        raise TimeoutError(f"the log never said: {message}")

    def records(self) -> list[Document]:
        """The JSON records; other lines are passed over."""
        found = []
        for line in self.text().splitlines():
            if line.startswith("{"):
                try:
                    found.append(json.loads(line))
                except json.JSONDecodeError:
                    continue  # the last line may still be being written
        return found


@dataclass
class CallKit:
    """One person's view of the stack: a phone, the providers' log, the call records."""

    stack: Stack
    phone: Phone
    providers: ProvidersClient
    database: AsyncDatabase[Document]
    livekit: api.LiveKitAPI
    _rooms: list[str] = field(default_factory=list)

    @classmethod
    @asynccontextmanager
    async def open(cls, stack: Stack, *, with_phone: bool = True) -> AsyncIterator[CallKit]:
        """Connect to a running stack; leaving hangs up and closes the rooms that were made.

        Without its phone the port that outbound calls go to is free for another one.
        """
        settings = stack.read_env()
        mongo: AsyncMongoClient[Document] = AsyncMongoClient(settings["MONGODB_URI"], tz_aware=True)
        async with (
            mongo,
            ProvidersClient(stack.providers_url) as providers,
            api.LiveKitAPI(
                stack.livekit_url, settings["LIVEKIT_API_KEY"], settings["LIVEKIT_API_SECRET"]
            ) as livekit,
            Phone(
                sip_port=stack.phone_sip if with_phone else 0,
                rtp_ports=range(stack.phone_rtp, stack.phone_rtp + UDP_RANGE),
                server=(HOST, stack.sip),
            ) as phone,
        ):
            kit = cls(stack, phone, providers, mongo[settings["MONGODB_DATABASE"]], livekit)
            try:
                yield kit
            finally:
                await kit.close_rooms()

    @property
    def contacts(self) -> AsyncCollection[Document]:
        """The call records."""
        return self.database["Contact"]

    async def dispatch(
        self,
        metadata: JobMetadata | Document | str,
        *,
        room: str | None = None,
        agent_name: str = AGENT_NAME,
    ) -> str:
        """Send a job to a worker; the name of its room."""
        name = room or f"call-{uuid4().hex[:12]}"
        match metadata:
            case JobMetadata():
                text = metadata.model_dump_json(exclude_none=True)
            case str():
                text = metadata
            case _:
                text = json.dumps(metadata)
        self._rooms.append(name)
        await self.livekit.agent_dispatch.create_dispatch(
            api.CreateAgentDispatchRequest(agent_name=agent_name, room=name, metadata=text)
        )
        return name

    async def open_rooms(self) -> list[str]:
        """Names of the rooms that exist."""
        listed = await self.livekit.room.list_rooms(api.ListRoomsRequest())
        return [room.name for room in listed.rooms]

    async def room_of(self, phone: str) -> str:
        """The room in which this number is calling.

        Raises:
            LookupError: it is in none.
        """
        for name in await self.open_rooms():
            there = await participants(self.livekit, name)
            if any(p.attributes.get("sip.phoneNumber") == phone for p in there):
                return name
        raise LookupError("no room has that caller")

    async def close_rooms(self) -> None:
        """End what `dispatch` began."""
        listed = await self.livekit.room.list_rooms(api.ListRoomsRequest(names=self._rooms))
        for room in listed.rooms if self._rooms else ():
            await delete_room(self.livekit, room.name)
        self._rooms.clear()

    async def contact(
        self,
        query: Document,
        *,
        until: Callable[[Document], bool] = lambda _: True,
        timeout_s: float = 15.0,
    ) -> Document:
        """The newest call record that matches, once `until` holds for it.

        Raises:
            TimeoutError: it did not in time; says what the record looked like.
        """
        stop_at = time.monotonic() + timeout_s
        while True:
            found = await self.contacts.find_one(query, sort=[("createdAt", -1)])
            if found is not None and until(found):
                return found
            if time.monotonic() > stop_at:
                message = f"the call record never got so far: {found}"
                raise TimeoutError(message)
            await asyncio.sleep(0.05)

    async def speech(self, text: str) -> Any:
        """The caller's voice (8 kHz int16)."""
        return await say_pcm(text)

    async def hear(self, pcm: Any, rate_hz: int) -> str:
        """What somebody who listens to `pcm` understands."""
        return await self.providers.transcribe(pcm, rate_hz)

    async def prompts(self, since: float) -> list[Sequence[Document]]:
        """The messages of each request that reached the language model since then."""
        return [
            entry["messages"]
            for entry in await self.providers.log()
            if entry["endpoint"] == "chat" and entry["at"] >= since
        ]

    async def asked(self, question: str, since: float) -> Sequence[Document]:
        """The messages of the one request that was made since then to answer a question.

        Raises:
            ValueError: there was none, or more than one.
        """
        (prompt,) = [one for one in await self.prompts(since) if one[-1]["content"] == question]
        return prompt

    async def spoken(self, since: float) -> list[str]:
        """The texts that reached the voice since then."""
        return [
            entry["text"]
            for entry in await self.providers.log()
            if entry["endpoint"] == "speak" and entry["at"] >= since
        ]


def past_call(phone: str, **fields: Any) -> Document:
    """The record of an earlier call, as the store holds it."""
    ago = fields.pop("ago", timedelta(days=2))
    base = {
        "contactUID": f"past-{uuid4().hex[:12]}",
        "ownerId": "acme",
        "AgentID": "outreach",
        "phone": phone,
        "originalPhone": phone,
        "phoneLast10": phone[-10:],
        "callDirection": "outbound",
        "status": "completed",
        "dynamicVariables": {"name": "Maria"},
        "conversation_summary": "The caller reported a broken thermostat in the nursery.",
        "callStartedAt": datetime.now(UTC) - ago,
        "createdAt": datetime.now(UTC) - ago,
    }
    return base | fields
