"""An owner in the real stores who has some of everything that a path of the API can name."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import uuid4

from src.adapters.mongo_owned import MongoOwnedStore
from src.adapters.postgres_memory import PostgresMemoryStore
from src.adapters.postgres_webhooks import PostgresDeliveries
from src.bootstrap_memory import Foundation
from src.schemas.events import EventType
from src.schemas.memory import MemoryEntry, MemoryEvent
from src.schemas.webhooks import Delivery, DeliveryStatus, WebhookEndpoint
from src.services.identity import memory_user_id
from src.services.owned import Resource

EACH = 12
"""Things of each kind: requests that delete leave some for the rest."""
SECRET = "the-secret-of-every-session"  # noqa: S105 - opens nothing but what is planted
NOWHERE = "http://127.0.0.1:1/hook"
"""Nothing listens there."""
Known = dict[str, list[str]]
"""Values that lead somewhere, by parameter as in `path.contactUID`."""


@dataclass(frozen=True)
class Planted:
    """What an owner was given, for requests to meet."""

    known: Known
    replayed: Known
    """A webhook that nothing else leads to, and its dead letters."""


async def plant(base: Foundation, owner_id: str) -> Planted:
    """Give an owner some of everything that a path can name."""
    known: Known = {}
    agent_id = await _plant_agent(base, owner_id)
    known["body.agentId"] = [agent_id]
    known["path.agentId"] = [await _plant_agent(base, owner_id) for _ in range(EACH)]
    for number in range(EACH):
        for name, value in (await _plant_one(base, owner_id, agent_id, number)).items():
            known.setdefault(f"path.{name}", []).append(value)
    webhook_id = await _plant_webhook(base, owner_id)
    letters = [await _plant_dead_letter(base, owner_id, webhook_id) for _ in range(EACH)]
    replayed = {"path.webhookId": [webhook_id], "path.deliveryId": letters}
    known |= {"body.secret": [SECRET], "header.If-Match": ["*"]}
    known |= {"body.phone": ["+14155550100"], "body.number": ["+15105550100"]}
    return Planted(known, replayed)


async def _plant_agent(base: Foundation, owner_id: str) -> str:
    agent_id, now = f"agent-{uuid4().hex[:12]}", base.clock.now()
    agent = {"agentId": agent_id, "name": "Reception", "version": 1, "createdAt": now}
    agents = MongoOwnedStore(base.mongo).of(owner_id, Resource.AGENTS)
    await agents.insert({**agent, "updatedAt": now})
    return agent_id


async def _plant_one(base: Foundation, owner_id: str, agent_id: str, number: int) -> dict[str, str]:
    store, now = MongoOwnedStore(base.mongo), base.clock.now() - timedelta(minutes=number)
    unique = uuid4().hex[:12]
    person, caller = f"person-{number}", f"+1415555{1000 + number}"
    call = {
        "contactUID": f"call-{unique}",
        "AgentID": agent_id,
        "phone": caller,
        "phoneLast10": caller[-10:],
        "originalPhone": caller,
        "callDirection": "outbound",
        "status": "answered" if number % 3 else "completed",
        "room": f"call-{unique}",
        "dynamicVariables": {"name": "Maria"},
        "sessionId": f"talk-{unique}",
        "userId": memory_user_id(owner_id, e164=caller),
        "transcript": [{"role": "user", "text": "Hello", "at": now, "interrupted": False}],
        "callStartedAt": now,
        "createdAt": now,
    }
    await store.of(owner_id, Resource.CONTACTS).insert(call)
    dialled = f"+1510{int(unique[:6], 16) % 9_000_000 + 1_000_000}"
    binding = {"number": dialled, "agentId": agent_id, "createdAt": now, "updatedAt": now}
    await store.of(owner_id, Resource.PHONE_NUMBERS).insert(binding)
    session = {
        "sessionId": f"session-{unique}",
        "secretHash": hashlib.sha256(SECRET.encode()).hexdigest(),
        "agentId": agent_id,
        "mode": "voice",
        "userId": person,
        "dynamicVariables": {},
        "createdAt": now,
        "expiresAt": now + timedelta(days=1),
    }
    await store.of(owner_id, Resource.SESSIONS).insert(session)
    visitor = memory_user_id(owner_id, user=person)
    await _talk(base, owner_id, str(session["sessionId"]), visitor)
    await _talk(base, owner_id, str(call["sessionId"]), str(call["userId"]))
    return {
        "agentId": await _plant_agent(base, owner_id),
        "contactUID": str(call["contactUID"]),
        "number": dialled,
        "sessionId": str(session["sessionId"]),
        "userId": (person, caller)[number % 2],
        "webhookId": await _plant_webhook(base, owner_id),
    }


async def _talk(base: Foundation, owner_id: str, session_id: str, user_id: str) -> None:
    """A word and a switch of mode in the record of conversations."""
    item: dict[str, Any] = {"session_id": session_id, "user_id": user_id}
    item["timestamp"] = base.clock.now()
    await PostgresMemoryStore(postgres=base.postgres, clock=base.clock).save_conversation(
        user_id,
        session_id,
        [MemoryEntry(id="m1", role="user", content="Hello", mode="voice", **item)],
        [MemoryEvent(id="e1", event_type="mode_switch", data={"to": "text"}, **item)],
        owner_id=owner_id,
    )


async def _plant_webhook(base: Foundation, owner_id: str) -> str:
    endpoint = WebhookEndpoint(
        webhook_id=f"wh_{uuid4().hex[:12]}",
        url=NOWHERE,
        events=(EventType.CALL_ENDED,),
        created_at=base.clock.now(),
        secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",  # noqa: S106 - opens nothing
    )
    webhooks = MongoOwnedStore(base.mongo).of(owner_id, Resource.WEBHOOKS)
    await webhooks.insert(endpoint.document())
    return endpoint.webhook_id


async def _plant_dead_letter(base: Foundation, owner_id: str, webhook_id: str) -> str:
    now, unique = base.clock.now(), uuid4().hex[:12]
    delivery = Delivery(
        delivery_id=f"dlv_{unique}",
        event_id=f"event-{unique}",
        type=EventType.CALL_ENDED,
        next_attempt_at=now,
        created_at=now,
        owner_id=owner_id,
        webhook_id=webhook_id,
        body="{}",
    )
    deliveries = PostgresDeliveries(base.postgres)
    await deliveries.add([delivery])
    dead = {"status": DeliveryStatus.DEAD, "attempts": 1, "finished_at": now}
    await deliveries.record(delivery.model_copy(update={**dead, "next_attempt_at": None}))
    return delivery.delivery_id
