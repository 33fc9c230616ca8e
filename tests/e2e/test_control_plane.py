"""A business sets up its agents over HTTP, calls and is called, and reads what came of it."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
from standardwebhooks import Webhook

from local.kit import CallKit
from tests.e2e.api import Api, Json, WebhookReceiver, new_key
from tests.e2e.test_phone_calls import HEADING, ask, greeting_of, instructions_since
from tests.e2e.web_client import WebClient

pytestmark = pytest.mark.stack

_AGO = re.compile(r"(?<=bound), [^)]*(?=\))")
"""How long ago a call was: a second may pass between two looks."""

FACTS = "Refunds take three to five business days.\nA replacement card costs twelve dollars."
GREETING = "Hello {{name}}, this is Ada of North Clinic."
MEMORY: Json = {
    "enabled": True,
    "window": {"type": "months", "value": 6},
    "variableMemory": {"enabled": True},
}


@pytest.fixture
async def owner() -> str:
    return f"owner-{uuid4().hex[:8]}"


@pytest.fixture
async def api(kit: CallKit, owner: str) -> AsyncIterator[Api]:
    async with Api.open(kit.stack, await new_key(kit.stack, owner)) as opened:
        yield opened


async def new_agent(api: Api, **fields: Any) -> str:
    body = {"name": "Ada", "greeting": GREETING, "Context": FACTS, "historyContext": MEMORY}
    created: Json = await api.ask("POST", "/agents", body | fields)
    return str(created["agentId"])


async def test_the_second_call_greets_by_name_and_knows_what_the_first_was_about(
    kit: CallKit, api: Api, caller: str
) -> None:
    outreach = await new_agent(api)
    linked = MEMORY | {
        "linkedAgentIds": [outreach],
        "variableMemory": {"enabled": True, "linkedAgentId": outreach},
    }
    desk = await new_agent(api, historyContext=linked)
    number = f"+1510556{caller[-4:]}"  # nobody else's
    await api.ask("POST", "/phone-numbers", {"number": number, "agentId": desk})
    async with WebhookReceiver.listening() as receiver:
        wanted = ["call.started", "call.answered", "call.ended", "call.analyzed"]
        hook = await api.ask("POST", "/webhooks", {"url": receiver.url, "events": wanted})
        uid = await we_call(kit, api, outreach, caller)
        analysed = await api.until(
            f"/contacts/{uid}", lambda one: one.get("analysisStatus") == "done"
        )
        assert "refund" in analysed["conversationSummary"].lower()
        assert [turn["role"] for turn in analysed["transcript"]] == [
            *("assistant", "user", "assistant"),
        ]
        await events_arrive(receiver, hook["secret"], uid, wanted)

    preview = await api.ask(
        "GET", f"/agents/{desk}/preview", params={"phone": caller, "direction": "inbound"}
    )
    since = time.time()
    back = await kit.phone.dial(number, caller=caller)
    assert "maria" in (await greeting_of(kit, back)).lower()
    assert "refund" in await ask(kit, back, "What did we talk about last time?")
    await back.hang_up()
    calls = await api.until(
        f"/contacts?agentId={desk}",
        lambda page: bool(page["items"]) and "callEndedAt" in page["items"][0],
    )
    detail = await api.ask("GET", f"/contacts/{calls['items'][0]['contactUID']}")
    await assert_preview_was_right(kit, preview, detail, since)
    await api.ask("DELETE", f"/phone-numbers/{number}")


async def we_call(kit: CallKit, api: Api, agent: str, phone: str) -> str:
    """A call that was placed over the API, answered and talked through; its contactUID."""
    ringing = asyncio.create_task(kit.phone.accept(number=phone, ring_s=0.5))
    order = {"agentId": agent, "phone": phone, "dynamicVariables": {"name": "Maria"}}
    key = {"Idempotency-Key": uuid4().hex}
    placed = await api.ask("POST", "/calls", order, headers=key)
    again = await api.ask("POST", "/calls", order, headers=key)
    assert again == placed
    call = await ringing
    assert "maria" in (await greeting_of(kit, call)).lower()
    assert "five business days" in await ask(kit, call, "How long do refunds take?")
    await call.hang_up()
    ended = await api.until(f"/calls/{placed['contactUID']}", lambda one: "callEndedAt" in one)
    assert ended["status"] == "completed"
    return str(placed["contactUID"])


async def events_arrive(
    receiver: WebhookReceiver, secret: str, uid: str, wanted: list[str]
) -> None:
    """Each event of the call, once, signed; nothing of the person in it."""
    async with asyncio.timeout(30):
        received = [await receiver.received.get() for _ in wanted]
    assert receiver.received.empty()
    told = [Webhook(secret).verify(body, headers) for headers, body in received]
    assert sorted(event["type"] for event in told) == sorted(wanted)
    assert {event["data"]["contactUID"] for event in told} == {uid}
    assert "Maria" not in json.dumps(told)


async def assert_preview_was_right(kit: CallKit, preview: Json, detail: Json, since: float) -> None:
    """What was shown before the call is what the call then did."""
    receipt = detail["memoryReceipt"]
    assert preview["greeting"] == "Hello Maria, this is Ada of North Clinic."
    assert preview["greeting"] in await kit.spoken(since)
    assert preview["variables"]["filled"] == {"name": "Maria"}
    assert receipt["variables"]["variables"] == ["name"]
    assert preview["history"]["contactUIDs"] == receipt["history"]["contactUIDs"]
    block, instructions = preview["history"]["block"], await instructions_since(kit, since)
    assert HEADING in block
    assert _AGO.sub("", block).strip() in _AGO.sub("", instructions)


async def test_a_call_that_rings_is_called_off(kit: CallKit, api: Api, caller: str) -> None:
    agent = await new_agent(api)
    ringing = asyncio.create_task(kit.phone.accept(number=caller, ring_s=20))
    order = {"agentId": agent, "phone": caller, "dynamicVariables": {}}
    placed = await api.ask("POST", "/calls", order)
    path = f"/calls/{placed['contactUID']}"
    await api.until(path, lambda one: one["status"] in ("ringing", "dialing"))
    await asyncio.sleep(2)  # it rings by now
    await api.ask("POST", f"{path}/hangup")
    ended = await api.until(path, lambda one: "callEndedAt" in one)
    assert ended["status"] == "abandoned"
    ringing.cancel()
    await asyncio.gather(ringing, return_exceptions=True)


async def test_a_page_opens_a_session_and_goes_on_after_a_refresh(
    kit: CallKit, api: Api, owner: str
) -> None:
    agent = await new_agent(api, greeting="Hello, this is Ada.")
    origin = "https://shop.example"
    token = await new_key(kit.stack, owner, "--publishable", agent, "--origin", origin)
    async with Api.open(kit.stack, token, Origin=origin) as page:
        session = await page.ask("POST", "/sessions", {"agentId": agent, "mode": "text"})
        path, secret = f"/sessions/{session['sessionId']}", session["secret"]
        invitation = await page.ask("POST", f"{path}/join", {"secret": secret})
        async with WebClient.enter(invitation["serverUrl"], invitation["token"]) as visitor:
            await visitor.line("this is ada")
            await visitor.type("How long do refunds take?")
            await visitor.line("five business days")
        again = await page.ask("POST", f"{path}/join", {"secret": secret})
        assert again["room"] != invitation["room"]
        async with WebClient.enter(again["serverUrl"], again["token"]) as visitor:
            await visitor.ask("What does a replacement card cost?", "twelve dollars")
            assert not any("this is ada" in text.lower() for _, text in visitor.lines)
        memory = await page.ask("GET", f"{path}/memory", headers={"X-Session-Secret": secret})
        assert [one["role"] for one in memory["messages"]] == [
            *("assistant", "user", "assistant"),
            *("user", "assistant"),
        ]
        refused = await page.http.get(f"{path}/memory", headers={"X-Session-Secret": "guessed"})
        assert refused.status_code == 404
    receipt = await api.ask("DELETE", f"{path}/memory")
    assert receipt["complete"]
    gone = await api.http.get(f"{path}/memory")
    assert gone.status_code in (200, 404)
    assert "refund" not in gone.text


async def test_a_person_reads_and_deletes_what_is_kept(kit: CallKit, api: Api, caller: str) -> None:
    agent = await new_agent(api)
    uid = await we_call(kit, api, agent, caller)
    person = f"/users/{caller}/memory"
    exported = await api.ask("GET", person)
    assert "refund" in json.dumps(exported["memory"]).lower()
    assert [one["contactUID"] for one in exported["calls"]] == [uid]
    receipt = await api.ask("DELETE", person, params={"scope": "all"})
    assert receipt["complete"]
    assert "refund" not in json.dumps(await api.ask("GET", person)).lower()
    assert (await api.ask("GET", f"/contacts/{uid}"))["transcript"] == []
