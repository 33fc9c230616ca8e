"""The application on fakes, and a client with a key to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI

from src.api.app import create_app
from src.api.services import ApiServices
from src.schemas.api_keys import KeyKind
from src.services.api_keys import ApiKeys, NewKey
from src.services.owned import Resource
from src.services.webhooks import Webhooks
from tests.fakes.api import CountingLimiter, InMemoryAnswers, InMemoryKeyLookup
from tests.fakes.clock import FakeClock
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
def world() -> ApiWorld:
    clock, owned = FakeClock(), InMemoryOwnedStore()
    limiter, answers = CountingLimiter(), InMemoryAnswers()
    deliveries = InMemoryDeliveries()
    services = ApiServices(
        keys=ApiKeys(store=owned, lookup=InMemoryKeyLookup(owned), clock=clock),
        owned=owned,
        clock=clock,
        limiter=limiter,
        answers=answers,
        webhooks=Webhooks(store=owned, log=deliveries, sender=FakeWebhookSender(), clock=clock),
    )
    return ApiWorld(clock, owned, limiter, answers, services, deliveries)
