"""The application on fakes, and a client with a key to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI

from src.api.app import create_app
from src.api.services import ApiServices
from src.schemas.api_keys import KeyKind
from src.schemas.calls import CallPolicy
from src.services.agent_documents import AgentDocuments
from src.services.api_keys import ApiKeys, NewKey
from src.services.call_records_view import CallRecordsView
from src.services.conversation_history import MemorySources
from src.services.in_memory_archive import InMemoryArchive
from src.services.in_memory_journal import InMemoryJournal
from src.services.in_memory_sessions import InMemorySessions
from src.services.memory_access import MemoryAccess
from src.services.memory_stores import MemoryStores
from src.services.outbound_calls import OutboundCalls
from src.services.owned import Resource
from src.services.owner_settings import OwnersSettings
from src.services.phone_number_bindings import PhoneNumberBindings
from src.services.preview import CallPreview
from src.services.unified_memory import UnifiedMemoryService
from src.services.web_sessions import WebSessions
from src.services.webhook_delivery import WebhookDispatcher
from src.services.webhooks import Webhooks
from tests.fakes.api import CountingLimiter, InMemoryAnswers, InMemoryKeyLookup
from tests.fakes.clock import FakeClock
from tests.fakes.contacts import InMemoryContacts
from tests.fakes.media_server import FakeDispatcher, FakeProvisioning, FakeRoomTokens
from tests.fakes.owned import InMemoryOwnedStore
from tests.fakes.webhooks import FakeWebhookSender, InMemoryDeliveries

OWNER = "acme"
ORIGIN = "https://shop.example"


@dataclass
class ApiWorld:
    """The services an application is created with, and who asks."""

    clock: FakeClock
    owned: InMemoryOwnedStore
    limiter: CountingLimiter
    answers: InMemoryAnswers
    services: ApiServices
    deliveries: InMemoryDeliveries
    dispatcher: FakeDispatcher
    tokens: FakeRoomTokens
    provisioning: FakeProvisioning
    memory: UnifiedMemoryService
    stores: MemoryStores

    async def token(self, owner_id: str = OWNER, **wanted: Any) -> str:
        """A new key's token."""
        return (await self.services.keys.create(owner_id, NewKey(**wanted))).token

    async def page_token(self, agent_id: str = "reception", owner_id: str = OWNER) -> str:
        """A new publishable key's token; the agent is there."""
        agents = self.owned.of(owner_id, Resource.AGENTS)
        await agents.insert({"agentId": agent_id, "createdAt": self.clock.now(), "version": 1})
        return await self.token(
            owner_id, kind=KeyKind.PUBLISHABLE, agent_id=agent_id, allowed_origins=(ORIGIN,)
        )

    def app(self, *routers: APIRouter) -> FastAPI:
        """An application with these routers alone."""
        return create_app(self.services, routers=routers)

    async def client(self, *routers: APIRouter, token: str | None = None) -> httpx.AsyncClient:
        """A client of such an application; with a key to everything unless one is given."""
        token = await self.token() if token is None else token
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app(*routers)),
            base_url="http://api.test",
            headers={"Authorization": f"Bearer {token}"} if token else {},
        )


@pytest.fixture
async def world() -> AsyncIterator[ApiWorld]:
    clock, owned = FakeClock(), InMemoryOwnedStore()
    limiter, answers = CountingLimiter(), InMemoryAnswers()
    deliveries, sender = InMemoryDeliveries(), FakeWebhookSender()
    dispatcher, tokens, provisioning = FakeDispatcher(), FakeRoomTokens(), FakeProvisioning()
    archive = InMemoryArchive(clock=clock)
    stores = MemoryStores(InMemorySessions(clock), archive, InMemoryJournal())
    memory = UnifiedMemoryService(stores=stores, clock=clock)
    records = InMemoryContacts(clock)
    records.documents = owned.documents[Resource.CONTACTS]
    services = ApiServices(
        keys=ApiKeys(store=owned, lookup=InMemoryKeyLookup(owned), clock=clock),
        owned=owned,
        clock=clock,
        limiter=limiter,
        answers=answers,
        webhooks=Webhooks(store=owned, log=deliveries, sender=sender, clock=clock),
        agents=AgentDocuments(owned=owned, clock=clock),
        preview=CallPreview(
            owned=owned,
            sources=MemorySources(
                contacts=records,
                clock=clock,
                count_tokens=lambda text: len(text.split()),
                max_block_tokens=400,
            ),
            preferences=archive,
            policy=CallPolicy(),
        ),
        settings=OwnersSettings(owned=owned),
        calls=OutboundCalls(owned=owned, records=records, dispatcher=dispatcher, clock=clock),
        records=CallRecordsView(owned=owned, archive=archive),
        numbers=PhoneNumberBindings(owned=owned, provisioning=provisioning, clock=clock),
        sessions=WebSessions(owned=owned, tokens=tokens, dispatcher=dispatcher, clock=clock),
        memory=MemoryAccess(
            memory=memory,
            store=owned,
            events=WebhookDispatcher(
                store=owned, deliveries=deliveries, sender=sender, clock=clock
            ),
        ),
    )
    yield ApiWorld(
        clock=clock,
        owned=owned,
        limiter=limiter,
        answers=answers,
        services=services,
        deliveries=deliveries,
        dispatcher=dispatcher,
        tokens=tokens,
        provisioning=provisioning,
        memory=memory,
        stores=stores,
    )
    await memory.aclose()
