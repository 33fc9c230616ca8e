"""Every route asked with every credential that must not open it, in a world that has something to lose.

The routes are taken from the application, so that a new one cannot be left out: it needs a `Sample`.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx
from fastapi import FastAPI
from fastapi.routing import APIRoute
from typing_extensions import override

from src.api.session_access import COOKIE
from src.api.tenant import Requires, gate_of, resource_routes
from src.schemas.api_keys import KeyKind, Scope
from tests.unit.api.conftest import ORIGIN, OWNER, ApiWorld
from tests.unit.api.credential_world import AGENT, CALLER, IDS, SECRET, STRANGER, WORD, state

ANYBODYS = frozenset({"userId"})
"""Names of people, and not of documents: two owners may know a person by the same one."""
TRACES = (WORD, *itertools.chain.from_iterable(IDS.values()))


@dataclass(frozen=True)
class Sample:
    """A request that the owner's own key gets a 2xx for."""

    body: Mapping[str, Any] | None = None
    params: Mapping[str, str] = field(default_factory=dict)


READ = Sample()
SAMPLES: Mapping[str, Sample] = {
    "createAgent": Sample({"name": "Reception"}),
    "listAgents": READ,
    "getAgent": READ,
    "replaceAgent": Sample({"name": "Reception"}),
    "deleteAgent": READ,
    "lintAgent": READ,
    "previewAgent": Sample(params={"phone": CALLER}),
    "getSettings": READ,
    "replaceSettings": Sample({"defaultRegion": "IN"}),
    "listContacts": READ,
    "getContact": READ,
    "placeCall": Sample({"agentId": AGENT, "phone": CALLER}),
    "getCall": READ,
    "hangUpCall": READ,
    "bindPhoneNumber": Sample({"number": IDS["number"][0], "agentId": AGENT}),
    "listPhoneNumbers": READ,
    "getPhoneNumberDrift": READ,
    "unbindPhoneNumber": READ,
    "createSession": Sample({"agentId": AGENT}),
    "joinSession": Sample({}),
    "endSession": READ,
    "getSessionMemory": READ,
    "getSessionEvents": READ,
    "putSessionMode": Sample({"mode": "text"}),
    "putSessionLanguage": Sample({"language": "es"}),
    "deleteSessionMemory": READ,
    "exportUserMemory": READ,
    "deleteUserMemory": Sample(params={"scope": "all"}),
    "getUserMemorySettings": READ,
    "putUserMemorySettings": Sample({"retentionDays": 7}),
    "createWebhook": Sample({"url": "https://crm.example.com/", "events": ["call.ended"]}),
    "listWebhooks": READ,
    "getWebhook": READ,
    "deleteWebhook": READ,
    "rotateWebhookSecret": READ,
    "enableWebhook": READ,
    "listWebhookDeliveries": READ,
    "replayWebhook": READ,
    "replayWebhookDelivery": READ,
}
"""By operation id."""


@dataclass(frozen=True)
class Target:
    """One route, aimed at what the owner has."""

    operation_id: str
    method: str
    path: str
    gate: Requires
    names: frozenset[str]
    """The parameters in its path."""
    sample: Sample

    @property
    def names_a_document(self) -> bool:
        """Whether its path says which of the owner's documents is meant."""
        return bool(self.names - ANYBODYS)

    @override
    def __str__(self) -> str:
        return f"{self.operation_id} {self.method} {self.path}"


@dataclass(frozen=True)
class Credential:
    """What a request comes with, and what it may be answered."""

    name: str
    headers: Mapping[str, str]
    statuses: frozenset[int]
    owner_id: str = ""
    """Whose it is, if it is somebody's who may have things of their own."""


def targets(app: FastAPI, samples: Mapping[str, Sample] = SAMPLES) -> list[Target]:
    """Every route of an application, with every id that fits its path.

    Raises:
        KeyError: a route has no sample, or a parameter in its path no id.
    """
    return [one for route in resource_routes(app) for one in _targets(route, samples)]


def _targets(route: APIRoute, samples: Mapping[str, Sample]) -> Iterable[Target]:
    names = re.findall(r"{(\w+)}", route.path_format)
    gate = gate_of(route)
    assert gate is not None
    for method in sorted(route.methods or ()):
        for ids in itertools.product(*(IDS[name] for name in names)):
            yield Target(
                operation_id=str(route.operation_id),
                method=method,
                path=route.path_format.format_map(dict(zip(names, ids, strict=True))),
                gate=gate,
                names=frozenset(names),
                sample=samples[str(route.operation_id)],
            )


class Matrix:
    """An application in a planted world."""

    def __init__(self, world: ApiWorld, app: FastAPI) -> None:
        self._world = world
        self._app = app

    async def violations(self, target: Target) -> list[str]:
        """What a route answered, told or did that it must not."""
        found = []
        credentials = await self._credentials(target)
        for one in credentials:
            before = state(self._world, but=one.owner_id)
            response = await self._ask(target, one.headers)
            told = response.text + str(response.headers)
            problems = [f"tells {trace}" for trace in _traces(told, target)]
            if response.status_code not in one.statuses:
                problems.append(f"answers {response.status_code}")
            after = state(self._world, but=one.owner_id)
            problems += [f"changes {name}" for name in before if before[name] != after[name]]
            found += [f"{target} with {one.name} {problem}" for problem in problems]
        return found

    async def as_owner(self, target: Target) -> httpx.Response:
        """The answer to the owner's own backend."""
        return await self._ask(target, _bearer(await self._world.token(OWNER)))

    async def as_page(self, target: Target) -> httpx.Response:
        """The answer to the page that holds the session's secret."""
        headers = _page(await self._page_key(OWNER, AGENT)) | _cookie(SECRET)
        return await self._ask(target, headers)

    async def _ask(self, target: Target, headers: Mapping[str, str]) -> httpx.Response:
        async with self._client() as client:
            return await client.request(
                target.method,
                target.path,
                json=target.sample.body,
                params=dict(target.sample.params),
                headers=dict(headers),
            )

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[httpx.AsyncClient]:
        transport = httpx.ASGITransport(self._app)
        async with httpx.AsyncClient(transport=transport, base_url="http://api.test") as client:
            yield client

    async def _credentials(self, target: Target) -> Sequence[Credential]:
        return [
            *await self._strangers_to_all(),
            *await self._too_little(target),
            *await self._of_another_owner(target),
            *(await self._pages(target) if target.gate.pages else ()),
        ]

    async def _strangers_to_all(self) -> list[Credential]:
        expired = await self._world.token(OWNER, valid_for=timedelta(seconds=-1))
        issued = await self._world.token(OWNER)
        revoked = await self._world.token(OWNER)
        await self._world.services.keys.revoke(OWNER, revoked.split("_")[2])
        headers = {
            "no key": {},
            "no bearer": {"Authorization": f"Basic {issued}"},
            "a malformed key": _bearer("nothing"),
            "an unknown key": _bearer("fam_sk_0123456789abcdef_" + "a" * 43),
            "a key with another secret": _bearer(issued[:-43] + "a" * 43),
            "an expired key": _bearer(expired),
            "a revoked key": _bearer(revoked),
        }
        return [Credential(name, one, frozenset({401})) for name, one in headers.items()]

    async def _too_little(self, target: Target) -> list[Credential]:
        scopes = frozenset(Scope) - {target.gate.scope}
        key = await self._page_key(OWNER, AGENT)
        headers = {
            "every scope but its own": _bearer(await self._world.token(OWNER, scopes=scopes)),
            "a page from elsewhere": _page(key, "https://evil.example") | _cookie(SECRET),
            "a page from nowhere": _bearer(key) | _cookie(SECRET),
        }
        if not target.gate.pages:
            headers["a page"] = _page(key) | _cookie(SECRET)
        return [Credential(name, one, frozenset({403})) for name, one in headers.items()]

    async def _of_another_owner(self, target: Target) -> list[Credential]:
        # What names no document is the asker's own affair, and must tell and change nothing else.
        statuses = {404} if target.names_a_document else {200, 201, 202, 204, 422}
        headers = _bearer(await self._world.token(STRANGER))
        return [Credential("another owner's key", headers, frozenset(statuses), STRANGER)]

    async def _pages(self, target: Target) -> list[Credential]:
        own = _page(await self._page_key(OWNER, AGENT))
        colleague = _page(await self._page_key(OWNER, "acme-sales"))
        stranger = _page(await self._page_key(STRANGER, "rival-agent"))
        headers = {
            "a page of another agent, without the secret": colleague,
            "another owner's page": stranger,
        }
        if target.names_a_document:
            headers |= {
                "its page without the secret": own,
                "its page with another secret": own | _cookie("x"),
                "a page of another agent, with the secret": colleague | _cookie(SECRET),
                "another owner's page with the secret": stranger | _cookie(SECRET),
            }
        statuses = frozenset({404 if target.names_a_document else 422})
        return [Credential(name, one, statuses) for name, one in headers.items()]

    async def _page_key(self, owner_id: str, agent_id: str) -> str:
        return await self._world.token(
            owner_id, kind=KeyKind.PUBLISHABLE, agent_id=agent_id, allowed_origins=(ORIGIN,)
        )


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _page(token: str, origin: str = ORIGIN) -> dict[str, str]:
    return _bearer(token) | {"Origin": origin}


def _cookie(secret: str) -> dict[str, str]:
    both = {"Cookie": f"{COOKIE}={IDS['sessionId'][0]}.{secret}"}
    return both | {"X-Session-Secret": secret}


def _traces(told: str, target: Target) -> list[str]:
    """What of the owner's is in an answer, and was not in the request."""
    asked = target.path + json.dumps(target.sample.body)
    return [trace for trace in TRACES if trace in told and trace not in asked]
