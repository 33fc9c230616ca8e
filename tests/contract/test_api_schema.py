"""What the OpenAPI document says is what the API does, on real stores and over HTTP."""

import asyncio
import base64
import json
import re
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest
import uvicorn

from src.adapters.mongo_call_records import MongoCallRecords
from src.adapters.mongo_catalogue import MongoCatalogue
from src.adapters.mongo_owned import MongoOwnedStore
from src.api.app import create_app
from src.bootstrap_api import Api, build_api, build_keys
from src.bootstrap_memory import Foundation, build_foundation
from src.schemas.api_keys import Scope
from src.services.api_keys import NewKey
from src.services.api_ports import Rate, RatePolicy
from src.services.outbound_calls import OutboundCalls
from src.services.phone_number_bindings import PhoneNumberBindings
from src.services.phone_numbers import load_numbering_plans
from src.services.web_sessions import WebSessions
from src.settings import Settings
from tests.api_schema import run
from tests.fakes.media_server import FakeDispatcher, FakeProvisioning, FakeRoomTokens
from tests.planted_owner import Planted, plant
from tests.unit.api.credential_matrix import READ, SAMPLES

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

OWNER = "schema-owner"
MANY = Rate(10**6, 60)


@pytest.fixture
def settings(mongodb_uri: str, redis_url: str, empty_url: str, tmp_path: Path) -> Settings:
    return Settings.model_validate(
        {
            "mongodb_uri": mongodb_uri,
            "mongodb_database": f"schema-{tmp_path.name[-20:]}",
            "redis_url": redis_url,
            "database_url": empty_url,
            "livekit_url": "ws://127.0.0.1:1",
            "VOICEASSIST_DATA_DIR": str(tmp_path),
            # The names of the receivers are not looked up: there is no network.
            "FAMILIAR_WEBHOOK_PRIVATE_TARGETS": True,
        }
    )


async def _prepare(base: Foundation) -> tuple[str, Planted]:
    try:
        await MongoCatalogue(mongo=base.mongo, clock=base.clock).prepare()
        keys = build_keys(base, MongoOwnedStore(base.mongo))
        wanted = NewKey(scopes=frozenset(Scope))
        return (await keys.create(OWNER, wanted)).token, await plant(base, OWNER)
    finally:
        await base.aclose()


def _without_media_server(api: Api) -> Api:
    services, dispatcher, base = api.services, FakeDispatcher(), api.base
    records = MongoCallRecords(mongo=base.mongo, clock=base.clock)
    given: dict[str, Any] = {"owned": services.owned, "clock": base.clock}
    checks = {name: check for name, check in services.checks.items() if name != "livekit"}
    return replace(
        api,
        services=replace(
            services,
            calls=OutboundCalls(records=records, dispatcher=dispatcher, **given),
            numbers=PhoneNumberBindings(provisioning=FakeProvisioning(), **given),
            sessions=WebSessions(tokens=FakeRoomTokens(), dispatcher=dispatcher, **given),
            rates=RatePolicy(MANY, MANY),
            checks=checks,
        ),
    )


@contextmanager
def serving(api: Api) -> Iterator[str]:
    """The API on a free port, in a thread: what asks it blocks its own."""

    @asynccontextmanager
    async def running() -> AsyncIterator[None]:
        yield
        await api.aclose()

    app = create_app(api.services, running=running)
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)


@dataclass(frozen=True)
class Served:
    """A running API, and an owner who has something there."""

    url: str
    token: str
    planted: Planted


@pytest.fixture
def api(settings: Settings) -> Iterator[Served]:
    load_numbering_plans()
    token, planted = asyncio.run(_prepare(build_foundation(settings)))
    with serving(_without_media_server(build_api(settings))) as url:
        yield Served(url, token, planted)


def test_the_api_does_what_its_document_says(api: Served) -> None:
    outcome = run(api.url, api.token, api.planted)
    assert outcome.failures == [], "\n\n".join(outcome.failures[:20])
    # Else little of each operation was tried.
    assert outcome.never_succeeded == []


HOSTILE = (
    "\x00",
    "a\x00b",
    "\ud800",
    "$where",
    "a.b",
    "\u202e",
    "\uffff",
    "😀" * 60,
    "../../..",
    "' OR 1=1 --",
)
CURSORS = [
    base64.urlsafe_b64encode(json.dumps(one).encode()).decode()
    for one in (
        ["2026-12-01T00:00:00Z", "\x00"],
        ["2026-12-01T00:00:00Z", "\ud800"],
        ["0001-01-01T00:00:00+23:59", "a"],
        ["9999-12-31T23:59:59-23:59", "a"],
        ["2026-12-01T00:00:00Z", {"$gt": ""}],
        [0, "a"],
    )
]


def _requests(served: Served) -> Iterator[httpx.Request]:
    """Every route with each of its words replaced in turn."""
    document = httpx.get(f"{served.url}/openapi.json").json()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            sample = SAMPLES.get(operation["operationId"], READ)
            plain = served.url + re.sub(r"{\w+}", "a", path)
            names = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"]
            for word in HOSTILE:
                quoted = quote(word, safe="", errors="surrogatepass")
                url = served.url + re.sub(r"{\w+}", quoted, path)
                yield _request(method, url, sample.body, sample.params)
                for name in names:
                    query = urlencode({**sample.params, name: word}, errors="surrogatepass")
                    yield _request(method, f"{plain}?{query}", sample.body, {})
                for name, value in (sample.body or {}).items():
                    worse = [word] if isinstance(value, list) else word
                    yield _request(
                        method, plain, {**(sample.body or {}), name: worse}, sample.params
                    )
            for cursor in CURSORS if "cursor" in names else ():
                yield _request(method, plain, None, {"cursor": cursor})


def _request(
    method: str, url: str, body: Mapping[str, Any] | None, params: Mapping[str, str]
) -> httpx.Request:
    # `json` of httpx would refuse to write a lone surrogate.
    content = None if body is None else json.dumps(body).encode()
    headers = {} if body is None else {"Content-Type": "application/json"}
    full = httpx.URL(url).copy_merge_params(dict(params)) if params else httpx.URL(url)
    return httpx.Request(method.upper(), full, content=content, headers=headers)


def test_no_words_are_the_fault_of_the_api(api: Served) -> None:
    found: Counter[int] = Counter()
    faults = []
    with httpx.Client(headers={"Authorization": f"Bearer {api.token}"}, timeout=30) as client:
        for request in _requests(api):
            request.headers.update(client.headers)
            status = client.send(request).status_code
            found[status] += 1
            if status >= 500:
                faults.append(f"{status} {request.method} {request.url} {request.content!r}")
    assert faults == []
    assert found[422] > 200
