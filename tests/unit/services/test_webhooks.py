"""Owners keep webhooks; nobody sees another's, and no secret twice."""

from datetime import timedelta
from typing import Any

import pytest
from typing_extensions import override

from src.schemas.errors import ConflictError, InvalidInputError, NotFoundError
from src.schemas.events import Event, EventType
from src.schemas.webhooks import DeliveryError, DeliveryStatus, NewWebhook, SendResult
from src.services.owned import Position, Resource
from src.services.webhook_delivery import DeliveryPolicy, WebhookDispatcher
from src.services.webhooks import MAX_WEBHOOKS, ROTATION, Webhooks
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Faults
from tests.fakes.owned import InMemoryOwnedStore
from tests.fakes.webhooks import FakeWebhookSender, InMemoryDeliveries

OWNER = "acme"
FAILED = SendResult(status=500, error=DeliveryError.STATUS)


class World:
    """Webhooks of owners and what sends to them; every failure is final."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = InMemoryOwnedStore()
        self.log = InMemoryDeliveries()
        self.sender = FakeWebhookSender()
        shared: dict[str, Any] = {
            "store": self.store,
            "sender": self.sender,
            "clock": self.clock,
        }
        self.webhooks = Webhooks(log=self.log, **shared)
        policy = DeliveryPolicy(retries_s=())
        self.dispatcher = WebhookDispatcher(deliveries=self.log, policy=policy, **shared)

    async def tell(self, event_id: str) -> None:
        """Let an event happen and be sent."""
        event = Event(id=event_id, type=EventType.CALL_ENDED, owner_id=OWNER, at=self.clock.now())
        seen = len(self.log.jobs)
        await self.dispatcher.publish(event)
        await self.run(seen)

    async def run(self, since: int) -> None:
        """Do the jobs enqueued from the given one on."""
        for delivery_id, _ in self.log.jobs[since:]:
            await self.dispatcher.deliver(delivery_id)


@pytest.fixture
def world() -> World:
    return World()


def new(url: str = "https://example.com/hook", **fields: Any) -> NewWebhook:
    return NewWebhook.model_validate({"url": url, "events": ["call.ended"], **fields})


async def test_a_secret_is_shown_once(world: World) -> None:
    created = await world.webhooks.create(OWNER, new(description="CRM"))
    assert created.secret.startswith("whsec_")
    found = await world.webhooks.get(OWNER, created.webhook_id)
    assert found.model_dump() == created.model_dump(exclude={"secret"})
    assert (found.url, found.description) == ("https://example.com/hook", "CRM")
    listed = await world.webhooks.page(OWNER)
    assert listed == [found]
    assert "secret" not in found.model_dump_json()


async def test_every_webhook_has_a_secret_of_its_own(world: World) -> None:
    first = await world.webhooks.create(OWNER, new())
    second = await world.webhooks.create(OWNER, new())
    assert first.secret != second.secret
    assert first.webhook_id != second.webhook_id


def test_event_types_are_folded() -> None:
    assert new(events=["call.ended", "call.started", "call.ended"]).events == (
        EventType.CALL_ENDED,
        EventType.CALL_STARTED,
    )


async def test_a_private_target_is_refused(world: World) -> None:
    with pytest.raises(InvalidInputError) as refused:
        await world.webhooks.create(OWNER, new("https://10.0.0.1/"))
    assert [one.field for one in refused.value.problems] == ["url"]
    assert await world.webhooks.page(OWNER) == []


async def test_there_is_a_limit_per_owner(world: World) -> None:
    for _ in range(MAX_WEBHOOKS):
        await world.webhooks.create(OWNER, new())
    with pytest.raises(ConflictError):
        await world.webhooks.create(OWNER, new())
    await world.webhooks.create("other", new())


async def test_lists_go_on_where_they_ended(world: World) -> None:
    made = []
    for _ in range(3):
        made.append(await world.webhooks.create(OWNER, new()))
        world.clock.advance(1)
    first = await world.webhooks.page(OWNER, limit=2)
    last = Position(first[-1].created_at, first[-1].webhook_id)
    rest = await world.webhooks.page(OWNER, after=last, limit=2)
    assert [one.webhook_id for one in (*first, *rest)] == [one.webhook_id for one in made[::-1]]


async def test_another_owners_webhook_is_not_there(world: World) -> None:
    webhook_id = (await world.webhooks.create("other", new())).webhook_id
    for ask in (
        world.webhooks.get,
        world.webhooks.delete,
        world.webhooks.rotate_secret,
        world.webhooks.enable,
        world.webhooks.deliveries,
        world.webhooks.replay,
    ):
        with pytest.raises(NotFoundError):
            await ask(OWNER, webhook_id)
    assert (await world.webhooks.get("other", webhook_id)).webhook_id == webhook_id


async def test_what_was_to_be_sent_goes_with_the_webhook(world: World) -> None:
    webhook_id = (await world.webhooks.create(OWNER, new())).webhook_id
    await world.tell("e1")
    await world.webhooks.delete(OWNER, webhook_id)
    assert world.log.rows == {}
    with pytest.raises(NotFoundError):
        await world.webhooks.get(OWNER, webhook_id)


async def test_the_former_secret_signs_for_a_day(world: World) -> None:
    first = await world.webhooks.create(OWNER, new())
    second = await world.webhooks.rotate_secret(OWNER, first.webhook_id)
    assert second.secret != first.secret
    await world.tell("e1")
    world.clock.advance(ROTATION.total_seconds())
    await world.tell("e2")
    assert [one.secrets for one in world.sender.sent] == [
        (second.secret, first.secret),
        (second.secret,),
    ]


async def test_of_two_rotations_at_once_one_wins(world: World) -> None:
    created = await world.webhooks.create(OWNER, new())
    (document,) = world.store.documents[Resource.WEBHOOKS]

    class Meanwhile(Faults):
        """Before each operation another rotation is done."""

        @override
        async def check(self) -> None:
            document["secret"] += "0"

    world.store.faults = Meanwhile()
    with pytest.raises(ConflictError):
        await world.webhooks.rotate_secret(OWNER, created.webhook_id)
    assert document["previousSecret"] is None


async def test_deliveries_are_listed_without_their_bodies(world: World) -> None:
    webhook_id = (await world.webhooks.create(OWNER, new())).webhook_id
    world.sender.results = [FAILED]
    await world.tell("e1")
    world.clock.advance(1)
    await world.tell("e2")
    newest, oldest = await world.webhooks.deliveries(OWNER, webhook_id)
    assert (newest.event_id, newest.status) == ("e2", DeliveryStatus.DELIVERED)
    assert (oldest.event_id, oldest.status, oldest.last_status) == ("e1", DeliveryStatus.DEAD, 500)
    assert "body" not in oldest.model_dump()
    dead = await world.webhooks.deliveries(OWNER, webhook_id, status=DeliveryStatus.DEAD)
    assert dead == [oldest]
    after = Position(newest.created_at, newest.delivery_id)
    assert await world.webhooks.deliveries(OWNER, webhook_id, after=after, limit=1) == [oldest]


async def test_dead_letters_are_sent_again(world: World) -> None:
    webhook_id = (await world.webhooks.create(OWNER, new())).webhook_id
    world.sender.results = [FAILED, FAILED]
    await world.tell("e1")
    world.clock.advance(1)
    await world.tell("e2")
    seen = len(world.log.jobs)
    assert await world.webhooks.replay(OWNER, webhook_id) == 2
    await world.run(seen)
    assert {one.status for one in world.log.rows.values()} == {DeliveryStatus.DELIVERED}
    assert [one.message_id for one in world.sender.sent] == ["e1", "e2", "e1", "e2"]
    assert await world.webhooks.replay(OWNER, webhook_id) == 0


async def test_one_dead_letter_is_sent_again(world: World) -> None:
    webhook_id = (await world.webhooks.create(OWNER, new())).webhook_id
    world.sender.results = [FAILED, FAILED]
    await world.tell("e1")
    await world.tell("e2")
    letter = next(one for one in world.log.rows.values() if one.event_id == "e1").delivery_id
    assert await world.webhooks.replay(OWNER, webhook_id, delivery_id=letter) == 1
    with pytest.raises(NotFoundError):  # it is on its way
        await world.webhooks.replay(OWNER, webhook_id, delivery_id=letter)


async def test_a_disabled_webhook_is_enabled_before_a_replay(world: World) -> None:
    webhook_id = (await world.webhooks.create(OWNER, new())).webhook_id
    world.sender.results = [SendResult(status=410, error=DeliveryError.STATUS)]
    await world.tell("e1")
    assert (await world.webhooks.get(OWNER, webhook_id)).disabled_at == world.clock.now()
    with pytest.raises(ConflictError):
        await world.webhooks.replay(OWNER, webhook_id)
    world.clock.advance(timedelta(hours=1).total_seconds())
    assert (await world.webhooks.enable(OWNER, webhook_id)).disabled_at is None
    assert await world.webhooks.replay(OWNER, webhook_id) == 1
