"""From an event to its receiver, over the real queue and a real connection."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from standardwebhooks import Webhook

from src.adapters.clock import SystemClock
from src.adapters.postgres import Postgres
from src.adapters.postgres_webhooks import PostgresDeliveries
from src.adapters.task_queue import QueuePolicy, TaskQueue
from src.adapters.webhook_sender import HttpWebhookSender
from src.bootstrap_webhooks import run_webhook_jobs
from src.schemas.events import Event, EventType
from src.schemas.webhooks import DeliveryStatus, NewWebhook
from src.services.webhook_delivery import DeliveryPolicy, WebhookDispatcher
from src.services.webhooks import Webhooks
from tests.fakes.owned import InMemoryOwnedStore

pytestmark = pytest.mark.integration


class Receiver:
    """Answers with the statuses it is given, then with 200; notes what verifies."""

    def __init__(self, *statuses: int) -> None:
        self.secret = ""
        self.verified: list[str] = []
        self._statuses = list(statuses)
        app = web.Application()
        app.router.add_post("/hook", self._take)
        self.server = TestServer(app)

    async def _take(self, request: web.Request) -> web.Response:
        message = Webhook(self.secret).verify(await request.read(), dict(request.headers))
        self.verified.append(message["id"])
        return web.Response(status=self._statuses.pop(0) if self._statuses else 200)


class System:
    """Everything of webhooks, with pauses that a test can wait for."""

    def __init__(self, postgres: Postgres, url: str, *, retries: int) -> None:
        self.log = PostgresDeliveries(postgres)
        self.store = InMemoryOwnedStore()
        self.clock = SystemClock()
        sender = HttpWebhookSender(allow_private=True)
        self.webhooks = Webhooks(store=self.store, log=self.log, sender=sender, clock=self.clock)
        self.dispatcher = WebhookDispatcher(
            store=self.store,
            deliveries=self.log,
            sender=sender,
            clock=self.clock,
            policy=DeliveryPolicy(retries_s=(0.1,) * retries),
        )
        self._queue = TaskQueue(dsn=url, clock=self.clock, policy=QueuePolicy(poll_s=0.1))
        run_webhook_jobs(self._queue, self.dispatcher)

    async def tell(self, event_id: str) -> None:
        event = {"id": event_id, "type": EventType.CALL_ENDED, "owner_id": "acme"}
        await self.dispatcher.publish(Event.model_validate({**event, "at": self.clock.now()}))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._queue.run(stop))
            try:
                yield
            finally:
                stop.set()

    async def until(self, webhook_id: str, *expected: tuple[DeliveryStatus, int]) -> None:
        """Wait until the deliveries, newest first, have these statuses and attempts."""
        async with asyncio.timeout(30):
            while True:
                found = await self.log.page("acme", webhook_id, limit=200)
                if tuple((one.status, one.attempts) for one in found) == expected:
                    return
                await asyncio.sleep(0.05)


async def test_an_event_arrives_after_a_failure_and_a_dead_letter_after_a_replay(
    postgres: Postgres, migrated_url: str
) -> None:
    receiver = Receiver(503, 200, 500, 500)
    system = System(postgres, migrated_url, retries=1)
    async with receiver.server, system.running():
        url = f"http://127.0.0.1:{receiver.server.port}/hook"
        new = NewWebhook(url=url, events=(EventType.CALL_ENDED,))
        webhook = await system.webhooks.create("acme", new)
        receiver.secret = webhook.secret
        await system.tell("e1")
        await system.tell("e1")
        delivered = (DeliveryStatus.DELIVERED, 2)
        await system.until(webhook.webhook_id, delivered)
        await system.tell("e2")
        await system.until(webhook.webhook_id, (DeliveryStatus.DEAD, 2), delivered)
        assert await system.webhooks.replay("acme", webhook.webhook_id) == 1
        await system.until(webhook.webhook_id, (DeliveryStatus.DELIVERED, 1), delivered)
    assert receiver.verified == ["e1", "e1", "e2", "e2", "e2"]


async def test_a_hundred_events_arrive_once_each(postgres: Postgres, migrated_url: str) -> None:
    receiver = Receiver()
    system = System(postgres, migrated_url, retries=0)
    async with receiver.server:
        url = f"http://127.0.0.1:{receiver.server.port}/hook"
        new = NewWebhook(url=url, events=(EventType.CALL_ENDED,))
        webhook = await system.webhooks.create("acme", new)
        receiver.secret = webhook.secret
        names = [f"e{number}" for number in range(100)]
        async with system.running():
            for _ in range(2):
                for name in names:
                    await system.tell(name)
            await system.until(webhook.webhook_id, *[(DeliveryStatus.DELIVERED, 1)] * 100)
    assert sorted(receiver.verified) == sorted(names)
