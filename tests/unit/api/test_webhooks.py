"""Webhooks over HTTP."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from src.api.routes.webhooks import router
from src.schemas.api_keys import Scope
from src.schemas.events import Event, EventType
from src.schemas.webhooks import DeliveryError, SendResult
from src.services.webhook_delivery import DeliveryPolicy, WebhookDispatcher
from tests.fakes.webhooks import FakeWebhookSender
from tests.unit.api.conftest import OWNER, ApiWorld

URL = "https://crm.example.com/hook"
HOOKS = "/api/v2/webhooks"
FAILED = SendResult(status=500, error=DeliveryError.STATUS)
GONE = SendResult(status=410, error=DeliveryError.STATUS)


@pytest.fixture
async def client(world: ApiWorld) -> AsyncIterator[httpx.AsyncClient]:
    async with await world.client(router) as client:
        yield client


async def made(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    """A new webhook."""
    body = {"url": URL, "events": ["call.ended"], **fields}
    response = await client.post(HOOKS, json=body)
    assert response.status_code == 201, response.text
    found: dict[str, Any] = response.json()
    return found


async def happen(world: ApiWorld, *results: SendResult) -> None:
    """Let an event per result happen and be sent; every failure is final."""
    sender = FakeWebhookSender(*results)
    dispatcher = WebhookDispatcher(
        store=world.owned,
        deliveries=world.deliveries,
        sender=sender,
        clock=world.clock,
        policy=DeliveryPolicy(retries_s=()),
    )
    for number in range(len(results)):
        world.clock.advance(1)
        event = {"id": f"e{number}", "type": EventType.CALL_ENDED, "owner_id": OWNER}
        await dispatcher.publish(Event.model_validate({**event, "at": world.clock.now()}))
        await dispatcher.deliver(world.deliveries.jobs[-1][0])


async def test_a_webhook_is_created_and_its_secret_shown_once(client: httpx.AsyncClient) -> None:
    created = await made(client, description="CRM")
    secret = created.pop("secret")
    assert secret.startswith("whsec_")
    assert created == {
        "webhookId": created["webhookId"],
        "url": URL,
        "events": ["call.ended"],
        "description": "CRM",
        "createdAt": "2026-12-01T12:00:00Z",
    }
    one = await client.get(f"{HOOKS}/{created['webhookId']}")
    assert one.json() == created
    assert (await client.get(HOOKS)).json() == {"items": [created]}


async def test_a_request_that_is_repeated_creates_one(client: httpx.AsyncClient) -> None:
    body = {"url": URL, "events": ["call.ended"]}
    key = {"Idempotency-Key": "k1"}
    first = await client.post(HOOKS, json=body, headers=key)
    again = await client.post(HOOKS, json=body, headers=key)
    assert first.json() == again.json()
    assert len((await client.get(HOOKS)).json()["items"]) == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"url": "http://127.0.0.1/", "events": ["call.ended"]}, "url"),
        ({"url": "https://169.254.169.254/", "events": ["call.ended"]}, "url"),
        ({"url": "", "events": ["call.ended"]}, "url"),
        ({"url": URL, "events": []}, "events"),
        ({"url": URL, "events": ["call.exploded"]}, "events.0"),
        ({"url": URL}, "events"),
        ({"url": URL, "events": ["call.ended"], "secret": "mine"}, "secret"),
        ({"url": URL, "events": ["call.ended"], "description": "x" * 201}, "description"),
    ],
)
async def test_what_cannot_be_is_refused_by_field(
    client: httpx.AsyncClient, body: dict[str, Any], field: str
) -> None:
    response = await client.post(HOOKS, json=body)
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == field


async def test_lists_go_on_by_cursor(world: ApiWorld, client: httpx.AsyncClient) -> None:
    ids = []
    for _ in range(3):
        ids.append((await made(client))["webhookId"])
        world.clock.advance(1)
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await client.get(HOOKS, params={"limit": 2, **cursor})).json()
        seen += [one["webhookId"] for one in page["items"]]
        if "nextCursor" not in page:
            break
        cursor = {"cursor": page["nextCursor"]}
    assert seen == ids[::-1]


async def test_a_webhook_is_deleted(client: httpx.AsyncClient) -> None:
    place = f"{HOOKS}/{(await made(client))['webhookId']}"
    assert (await client.delete(place)).status_code == 204
    for method in ("GET", "DELETE"):
        assert (await client.request(method, place)).status_code == 404


async def test_a_secret_is_replaced(client: httpx.AsyncClient) -> None:
    created = await made(client)
    rotated = await client.post(f"{HOOKS}/{created['webhookId']}/secret")
    assert rotated.status_code == 200
    assert rotated.json()["secret"] != created["secret"]


async def test_deliveries_are_listed_by_status_and_cursor(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    place = f"{HOOKS}/{(await made(client))['webhookId']}/deliveries"
    await happen(world, FAILED, SendResult(status=200), FAILED)
    found = (await client.get(place)).json()["items"]
    assert [one["eventId"] for one in found] == ["e2", "e1", "e0"]
    assert found[0] == {
        "deliveryId": found[0]["deliveryId"],
        "eventId": "e2",
        "type": "call.ended",
        "status": "dead",
        "attempts": 1,
        "lastStatus": 500,
        "lastError": "status",
        "createdAt": "2026-12-01T12:00:03Z",
        "finishedAt": "2026-12-01T12:00:03Z",
    }
    dead = (await client.get(place, params={"status": "dead", "limit": 1})).json()
    assert [one["eventId"] for one in dead["items"]] == ["e2"]
    rest = await client.get(place, params={"status": "dead", "cursor": dead["nextCursor"]})
    assert [one["eventId"] for one in rest.json()["items"]] == ["e0"]
    assert (await client.get(place, params={"status": "lost"})).status_code == 422


async def test_dead_letters_are_replayed(world: ApiWorld, client: httpx.AsyncClient) -> None:
    place = f"{HOOKS}/{(await made(client))['webhookId']}"
    await happen(world, FAILED, FAILED, FAILED)
    dead = (await client.get(f"{place}/deliveries")).json()["items"]
    one = f"{place}/deliveries/{dead[0]['deliveryId']}/replay"
    assert (await client.post(one)).json() == {"replayed": 1}
    assert (await client.post(one)).status_code == 404
    assert (await client.post(f"{place}/replay")).json() == {"replayed": 2}


async def test_a_disabled_webhook_is_enabled_again(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    place = f"{HOOKS}/{(await made(client))['webhookId']}"
    await happen(world, GONE)
    assert (await client.get(place)).json()["disabledAt"] == "2026-12-01T12:00:01Z"
    refused = await client.post(f"{place}/replay")
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert "disabledAt" not in (await client.post(f"{place}/enable")).json()
    assert (await client.post(f"{place}/replay")).json() == {"replayed": 1}


ROUTES = [
    ("GET", ""),
    ("DELETE", ""),
    ("POST", "/secret"),
    ("POST", "/enable"),
    ("GET", "/deliveries"),
    ("POST", "/replay"),
    ("POST", "/deliveries/dlv_1/replay"),
]


@pytest.mark.parametrize(("method", "rest"), ROUTES)
async def test_another_owner_finds_nothing(
    world: ApiWorld, client: httpx.AsyncClient, method: str, rest: str
) -> None:
    place = f"{HOOKS}/{(await made(client))['webhookId']}"
    async with await world.client(router, token=await world.token("other")) as stranger:
        assert (await stranger.request(method, place + rest)).status_code == 404
        assert (await stranger.get(HOOKS)).json() == {"items": []}
    assert (await client.get(place)).status_code == 200


@pytest.mark.parametrize(("method", "rest"), [*ROUTES, ("POST", None), ("GET", None)])
async def test_reading_and_writing_need_their_scopes(
    world: ApiWorld, client: httpx.AsyncClient, method: str, rest: str | None
) -> None:
    place = HOOKS if rest is None else f"{HOOKS}/{(await made(client))['webhookId']}{rest}"
    scope = Scope.WEBHOOKS_WRITE if method == "GET" else Scope.WEBHOOKS_READ
    token = await world.token(scopes=frozenset({scope}))
    async with await world.client(router, token=token) as limited:
        assert (await limited.request(method, place)).status_code == 403


@pytest.mark.parametrize("webhook_id", ["%00", "a%20b", "x" * 65])
async def test_what_is_no_id_is_refused(client: httpx.AsyncClient, webhook_id: str) -> None:
    assert (await client.get(f"{HOOKS}/{webhook_id}")).status_code == 422
