"""A world that has something to lose: an owner with one of everything, and all that is kept, compared."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Mapping
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from src.schemas.events import EventType
from src.schemas.memory import MemoryEntry, MemoryEvent, MemorySettings
from src.schemas.webhooks import Delivery, DeliveryStatus, WebhookEndpoint
from src.services.archive_rules import person_pseudonym
from src.services.call_ports import NumberDrift
from src.services.identity import memory_user_id
from src.services.owned import Resource
from tests.fakes.clock import FakeClock
from tests.unit.api.conftest import OWNER, ApiWorld

STRANGER = "rival"
WORD = "kumquat"
"""In everything that was said, written or named in the owner's world."""
PERSON, CALLER = "acme-person", "+14155550100"
AGENT = "acme-reception"
SECRET = "the-secret-of-the-session"  # noqa: S105 - of a fake
IDS: Mapping[str, tuple[str, ...]] = {
    "agentId": (AGENT,),
    "contactUID": ("acme-call-1",),
    "sessionId": ("acme-session-1",),
    "number": ("+15105550123",),
    "webhookId": ("wh_acme1",),
    "deliveryId": ("dlv_acme1",),
    "userId": (PERSON, CALLER),
}
"""By path parameter: what the owner has of it."""


def state(world: ApiWorld, *, but: str = "") -> dict[str, Any]:
    """Everything that is kept anywhere, by place, in values that can be compared; not `but` an owner's."""
    theirs = {memory_user_id(but, user=PERSON), memory_user_id(but, e164=CALLER)} if but else set()
    names = theirs | {person_pseudonym(one) for one in theirs}
    rows = world.deliveries.rows.values()
    kept: dict[str, Any] = {
        f"{resource.name} documents": [
            {name: value for name, value in one.items() if name != "lastUsedAt"}
            for one in documents
            if not but or one.get("ownerId") != but
        ]
        for resource, documents in world.owned.documents.items()
    }
    kept |= {
        "deliveries": [one for one in rows if not but or one.owner_id != but],
        "delivery jobs": world.deliveries.jobs,
        "kept answers": world.answers.values,
        "jobs": world.dispatcher.jobs,
        "rooms": world.dispatcher.cancelled,
        "tokens": world.tokens.passes,
        "media server": world.provisioning.reconciled,
        "archive": world.stores.archive,
        "live sessions": world.stores.sessions,
        "journal": world.stores.journal,
    }
    return {place: _plain(value, names) for place, value in kept.items()}


def _plain(value: Any, but: set[str]) -> Any:
    match value:
        case Mapping():
            return {repr(name): _plain(one, but) for name, one in value.items() if name not in but}
        case list() | tuple() | set() | frozenset() | deque():
            return [_plain(one, but) for one in value]
        case FakeClock():
            return None
        case _ if type(value).__module__.startswith(("src.services", "tests.fakes")):
            return _plain(vars(value), but)
        case _:
            return value


async def plant(world: ApiWorld) -> None:
    """Give the owner one of everything, and another owner an agent."""
    now = world.clock.now()
    ids = SimpleNamespace(**{name: values[0] for name, values in IDS.items()})
    caller = memory_user_id(OWNER, e164=CALLER)
    for owner_id, agent_id in ((OWNER, AGENT), (OWNER, "acme-sales"), (STRANGER, "rival-agent")):
        agent = {"agentId": agent_id, "createdAt": now, "version": 1}
        secret = {"prompt": f"Sell every {WORD}."} if owner_id == OWNER else {}
        await world.owned.of(owner_id, Resource.AGENTS).insert({**agent, **secret})
    call = {
        "AgentID": AGENT,
        "phone": CALLER,
        "originalPhone": CALLER,
        "phoneLast10": CALLER[-10:],
        "callDirection": "outbound",
        "userId": caller,
        "dynamicVariables": {"name": WORD},
        "transcript": [{"role": "user", "text": f"My {WORD} is ill.", "at": now}],
        "conversation_summary": f"Asked for a {WORD}.",
        "analysis": {"status": "done", "outcome": WORD},
        "callStartedAt": now,
        "createdAt": now,
    }
    contacts = world.owned.of(OWNER, Resource.CONTACTS)
    live = {"contactUID": ids.contactUID, "status": "answered", "room": f"call-{ids.contactUID}"}
    over = {"contactUID": "acme-call-2", "status": "completed", "sessionId": "acme-session-2"}
    await contacts.insert({**call, **live})
    await contacts.insert({**call, **over})
    numbers = world.owned.of(OWNER, Resource.PHONE_NUMBERS)
    number = {"number": ids.number, "agentId": "acme-sales", "label": WORD, "createdAt": now}
    await numbers.insert(number)
    await world.owned.of(OWNER, Resource.OWNERS).insert(
        {"defaultRegion": "US", "anonymizePhi": True}
    )
    world.provisioning.found = NumberDrift(missing=(ids.number,))
    await world.owned.of(OWNER, Resource.SESSIONS).insert(
        {
            "sessionId": ids.sessionId,
            "secretHash": hashlib.sha256(SECRET.encode()).hexdigest(),
            "agentId": AGENT,
            "mode": "voice",
            "userId": PERSON,
            "dynamicVariables": {"name": WORD},
            "room": "web-1",
            "createdAt": now,
            "expiresAt": now + timedelta(days=1),
        }
    )
    await _plant_webhook(world, ids.webhookId, ids.deliveryId)
    visitor = memory_user_id(OWNER, user=PERSON)
    await _plant_memory(world, ids.sessionId, visitor)
    await _plant_memory(world, "acme-session-2", caller)


async def _plant_webhook(world: ApiWorld, webhook_id: str, delivery_id: str) -> None:
    now = world.clock.now()
    endpoint = WebhookEndpoint(
        webhook_id=webhook_id,
        url=f"https://{WORD}.example.com/",
        events=(EventType.CALL_ENDED,),
        description=WORD,
        created_at=now,
        secret="whsec_" + WORD * 4,
    )
    await world.owned.of(OWNER, Resource.WEBHOOKS).insert(endpoint.document())
    world.deliveries.rows[delivery_id] = Delivery(
        delivery_id=delivery_id,
        event_id=f"{WORD}-1",
        type=EventType.CALL_ENDED,
        status=DeliveryStatus.DEAD,
        attempts=10,
        created_at=now,
        finished_at=now,
        owner_id=OWNER,
        webhook_id=webhook_id,
        body=WORD,
    )


async def _plant_memory(world: ApiWorld, session_id: str, user_id: str) -> None:
    now = world.clock.now()
    item: dict[str, Any] = {"session_id": session_id, "user_id": user_id, "timestamp": now}
    entry = MemoryEntry(id="m1", role="user", content=f"My {WORD}.", mode="voice", **item)
    event = MemoryEvent(id="e1", event_type="mode_switch", data={"to": WORD}, **item)
    await world.stores.sessions.append(entry)
    await world.stores.sessions.append_event(event)
    await world.stores.archive.save_conversation(
        user_id, session_id, [entry], [event], owner_id=OWNER, agent_id=AGENT
    )
    await world.memory.put_settings(user_id, MemorySettings(retention_days=77))
