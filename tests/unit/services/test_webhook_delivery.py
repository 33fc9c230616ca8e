"""Events reach webhooks: once if all goes well, for a day and a half if it does not."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from src.schemas.errors import ContactStoreError, MemoryStoreError
from src.schemas.events import Event, EventType
from src.schemas.webhooks import Delivery, DeliveryError, DeliveryStatus, SendResult
from src.services.owned import Resource
from src.services.webhook_delivery import DeliveryPolicy, WebhookDispatcher
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.owned import InMemoryOwnedStore
from tests.fakes.webhooks import FakeWebhookSender, InMemoryDeliveries

OWNER = "acme"
TIMEOUT = SendResult(error=DeliveryError.TIMEOUT)
GONE = SendResult(status=410, error=DeliveryError.STATUS)


class World:
    """A dispatcher over fakes, and a queue that is worked off as time passes."""

    def __init__(self, *results: SendResult) -> None:
        self.clock = FakeClock()
        self.store = InMemoryOwnedStore()
        self.deliveries = InMemoryDeliveries()
        self.sender = FakeWebhookSender(*results)
        self.dispatcher = WebhookDispatcher(
            store=self.store,
            deliveries=self.deliveries,
            sender=self.sender,
            clock=self.clock,
            chance=lambda: 0.5,
        )

    async def add(self, name: str = "wh", **fields: Any) -> None:
        """Store a webhook for ends of calls."""
        await self.store.of(fields.pop("owner", OWNER), Resource.WEBHOOKS).insert(
            {
                "webhookId": name,
                "url": f"https://example.com/{name}",
                "events": ["call.ended"],
                "secret": "whsec_c2VjcmV0",
                "createdAt": NOON,
                **fields,
            }
        )

    async def publish(self, event_id: str = "e1", **fields: Any) -> None:
        await self.dispatcher.publish(event(event_id, **fields))

    async def work(self) -> None:
        """Do the jobs as they become due, until there are none."""
        done = 0
        while done < len(self.deliveries.jobs):
            delivery_id, at = self.deliveries.jobs[done]
            if at is not None:
                self.clock.advance((at - self.clock.now()).total_seconds())
            await self.dispatcher.deliver(delivery_id)
            done += 1

    def only(self) -> Delivery:
        """The one delivery there is."""
        (found,) = self.deliveries.rows.values()
        return found


def event(event_id: str = "e1", **fields: Any) -> Event:
    return Event.model_validate(
        {
            "id": event_id,
            "type": EventType.CALL_ENDED,
            "owner_id": OWNER,
            "at": NOON,
            "data": {"contactUID": "c1", "status": "completed"},
            **fields,
        }
    )


async def test_a_message_says_what_happened() -> None:
    world = World()
    await world.add()
    await world.publish(at=NOON + timedelta(milliseconds=250))
    await world.work()
    (message,) = world.sender.sent
    assert message.url == "https://example.com/wh"
    assert message.message_id == "e1"
    assert message.secrets == ("whsec_c2VjcmV0",)
    assert message.at == world.clock.now()
    assert json.loads(message.body) == {
        "id": "e1",
        "type": "call.ended",
        "timestamp": "2026-12-01T12:00:00.250Z",
        "data": {"contactUID": "c1", "status": "completed"},
    }
    assert world.only().status is DeliveryStatus.DELIVERED
    assert (world.only().attempts, world.only().last_status) == (1, 204)


async def test_an_event_goes_to_the_webhooks_of_its_owner_that_want_it() -> None:
    world = World()
    await world.add("ends")
    await world.add("all", events=["call.started", "call.ended"])
    await world.add("starts", events=["call.started"])
    await world.add("disabled", disabledAt=NOON)
    await world.add("foreign", owner="other")
    await world.publish()
    await world.work()
    assert {one.url.rpartition("/")[2] for one in world.sender.sent} == {"ends", "all"}


async def test_nothing_is_kept_of_an_event_nobody_wants() -> None:
    world = World()
    await world.publish()
    assert world.deliveries.rows == {}


async def test_an_event_that_is_published_twice_is_sent_once() -> None:
    world = World()
    await world.add()
    await world.publish()
    await world.publish()
    await world.work()
    await world.publish()
    await world.work()
    assert len(world.sender.sent) == 1


async def test_a_job_that_is_done_twice_sends_once() -> None:
    world = World(TIMEOUT)
    await world.add()
    await world.publish()
    delivery_id = world.only().delivery_id
    await world.dispatcher.deliver(delivery_id)
    await world.dispatcher.deliver(delivery_id)  # the next attempt is not due
    assert len(world.sender.sent) == 1
    await world.dispatcher.deliver("nobody")
    assert len(world.sender.sent) == 1


async def test_failed_attempts_are_repeated_with_growing_pauses() -> None:
    world = World(TIMEOUT, SendResult(status=503, error=DeliveryError.STATUS), TIMEOUT)
    await world.add()
    await world.publish()
    await world.work()
    moments = [(one.at - NOON).total_seconds() for one in world.sender.sent]
    assert moments == [0, 5.5, 5.5 + 66, 5.5 + 66 + 330]
    assert world.only().status is DeliveryStatus.DELIVERED
    assert (world.only().attempts, world.only().last_error) == (4, None)
    assert len({one.body for one in world.sender.sent}) == 1
    assert len({one.message_id for one in world.sender.sent}) == 1


async def test_between_attempts_the_last_failure_is_known() -> None:
    world = World(SendResult(status=302, error=DeliveryError.STATUS))
    await world.add()
    await world.publish()
    await world.dispatcher.deliver(world.only().delivery_id)
    waiting = world.only()
    assert (waiting.status, waiting.attempts) == (DeliveryStatus.PENDING, 1)
    assert (waiting.last_status, waiting.last_error) == (302, DeliveryError.STATUS)
    assert waiting.next_attempt_at == NOON + timedelta(seconds=5.5)
    assert waiting.finished_at is None


async def test_what_never_arrives_becomes_a_dead_letter(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World(*[TIMEOUT] * 20)
    await world.add()
    await world.publish()
    await world.work()
    assert world.only().status is DeliveryStatus.DEAD
    assert world.only().next_attempt_at is None
    assert world.only().finished_at == world.clock.now()
    assert len(world.sender.sent) == world.only().attempts == 10
    assert timedelta(hours=36) < world.clock.now() - NOON < timedelta(hours=48)
    assert "given up" in caplog.text
    assert "example.com" not in caplog.text


async def test_a_receiver_that_is_gone_is_not_asked_again() -> None:
    world = World(GONE)
    await world.add()
    await world.publish("e1")
    await world.publish("e2")
    await world.work()
    await world.publish("e3")
    await world.work()
    assert len(world.sender.sent) == 1
    first, second = world.deliveries.rows.values()
    assert (first.status, first.last_error) == (DeliveryStatus.DEAD, DeliveryError.GONE)
    assert first.last_status == 410
    assert (second.status, second.last_error) == (DeliveryStatus.DEAD, DeliveryError.DISABLED)


async def test_a_removed_webhook_gets_nothing_more() -> None:
    world = World()
    await world.add()
    await world.publish()
    await world.store.of(OWNER, Resource.WEBHOOKS).delete("wh")
    await world.work()
    assert world.sender.sent == []
    assert world.only().status is DeliveryStatus.DEAD


async def test_a_store_that_is_away_leaves_the_job_to_the_queue() -> None:
    world = World()
    await world.add()
    world.store.faults.error = ContactStoreError("away")
    with pytest.raises(ContactStoreError):
        await world.publish()
    world.store.faults.error = None
    await world.publish()
    world.deliveries.faults.error = MemoryStoreError("away")
    with pytest.raises(MemoryStoreError):
        await world.dispatcher.deliver(world.only().delivery_id)
    world.deliveries.faults.error = None
    await world.work()
    assert len(world.sender.sent) == 1


async def test_a_delivery_the_queue_gave_up_is_enqueued_again() -> None:
    world = World()
    await world.add()
    await world.publish()
    await world.dispatcher.give_up(world.only().delivery_id)
    world.deliveries.jobs.clear()
    assert await world.dispatcher.requeue_overdue() == 0
    world.clock.advance(timedelta(minutes=16).total_seconds())
    assert await world.dispatcher.requeue_overdue() == 1
    await world.work()
    assert len(world.sender.sent) == 1


async def test_old_deliveries_are_removed() -> None:
    world = World()
    await world.add()
    await world.publish()
    await world.work()
    world.clock.advance(timedelta(days=30).total_seconds())
    assert await world.dispatcher.purge() == 0
    world.clock.advance(1)
    assert await world.dispatcher.purge() == 1


@given(st.integers(1, 9), st.floats(0, 1), st.floats(0, 1))
def test_pauses_grow_and_stay_within_their_jitter(attempts: int, one: float, other: float) -> None:
    policy = DeliveryPolicy()
    pause, following = policy.pause(attempts, one), policy.pause(attempts + 1, other)
    assert pause is not None
    low = timedelta(seconds=policy.retries_s[attempts - 1])
    assert low <= pause <= low * 1.2 + timedelta(microseconds=1)
    assert (following is None) == (attempts == 9)
    assert following is None or following > pause
