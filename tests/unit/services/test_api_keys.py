"""API keys: what is stored of them, and when a token opens something."""

from datetime import timedelta

import pytest

from src.schemas.api_keys import KeyKind, Scope
from src.schemas.errors import InvalidInputError, NotFoundError
from src.services.api_keys import ApiKeys, NewKey, scopes_named
from src.services.owned import Resource
from tests.fakes.api import InMemoryKeyLookup
from tests.fakes.clock import FakeClock
from tests.fakes.owned import InMemoryOwnedStore


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store() -> InMemoryOwnedStore:
    return InMemoryOwnedStore()


@pytest.fixture
def keys(store: InMemoryOwnedStore, clock: FakeClock) -> ApiKeys:
    return ApiKeys(store=store, lookup=InMemoryKeyLookup(store), clock=clock)


def stored(store: InMemoryOwnedStore) -> dict[str, object]:
    (one,) = store.documents[Resource.KEYS]
    return one


async def test_a_token_is_recognised_and_nowhere_stored(
    keys: ApiKeys, store: InMemoryOwnedStore
) -> None:
    issued = await keys.create("acme", NewKey(name="backend", scopes=scopes_named(["read"])))
    found = await keys.recognise(issued.token)
    assert found is not None
    assert (found.owner_id, found.name, found.key_id) == ("acme", "backend", issued.key.key_id)
    assert found.scopes == {one for one in Scope if one.endswith(":read")}
    assert issued.token.split("_", 3)[3] not in str(stored(store))


async def test_a_token_that_is_not_quite_right_opens_nothing(
    keys: ApiKeys, store: InMemoryOwnedStore
) -> None:
    token = (await keys.create("acme", NewKey())).token
    other = "A" if token[-1] != "A" else "B"
    for wrong in (token[:-1] + other, token.replace("sk", "pk"), token + "x", "", "fam_sk_x_y"):
        assert await keys.recognise(wrong) is None
    stored(store)["kind"] = "unknown"
    assert await keys.recognise(token) is None


async def test_use_is_noted_once_a_minute(
    keys: ApiKeys, store: InMemoryOwnedStore, clock: FakeClock
) -> None:
    token = (await keys.create("acme", NewKey())).token
    first = clock.now()
    for seconds, noted in ((0, first), (30, first), (30, first + timedelta(minutes=1))):
        clock.advance(seconds)
        await keys.recognise(token)
        assert stored(store)["lastUsedAt"] == noted


async def test_a_key_ends_when_it_expires_or_is_revoked(keys: ApiKeys, clock: FakeClock) -> None:
    short = await keys.create("acme", NewKey(valid_for=timedelta(days=1)))
    long = await keys.create("acme", NewKey())
    clock.advance(86_400)
    assert await keys.recognise(short.token) is None
    await keys.revoke("acme", long.key.key_id)
    assert await keys.recognise(long.token) is None
    assert {key.key_id for key in await keys.list("acme")} == {short.key.key_id, long.key.key_id}


async def test_another_owners_key_can_be_neither_revoked_nor_rotated(keys: ApiKeys) -> None:
    issued = await keys.create("acme", NewKey())
    with pytest.raises(NotFoundError):
        await keys.revoke("other", issued.key.key_id)
    with pytest.raises(NotFoundError):
        await keys.rotate("other", issued.key.key_id, overlap=timedelta(0))
    assert await keys.list("other") == []
    assert await keys.recognise(issued.token) is not None


async def test_a_rotated_key_goes_on_for_the_overlap(keys: ApiKeys, clock: FakeClock) -> None:
    wanted = NewKey(name="n", scopes=frozenset({Scope.AGENTS_READ}), valid_for=timedelta(days=30))
    old = await keys.create("acme", wanted)
    clock.advance(3600)
    new = await keys.rotate("acme", old.key.key_id, overlap=timedelta(hours=1))
    assert new.key.scopes == old.key.scopes
    assert new.key.expires_at == clock.now() + timedelta(days=30)
    assert await keys.recognise(old.token) is not None
    clock.advance(3600)
    assert await keys.recognise(old.token) is None
    assert await keys.recognise(new.token) is not None
    with pytest.raises(NotFoundError):
        await keys.rotate("acme", old.key.key_id, overlap=timedelta(0))


async def test_an_overlap_does_not_lengthen_a_key(keys: ApiKeys, clock: FakeClock) -> None:
    old = await keys.create("acme", NewKey(valid_for=timedelta(minutes=5)))
    await keys.rotate("acme", old.key.key_id, overlap=timedelta(days=1))
    clock.advance(300)
    assert await keys.recognise(old.token) is None


async def test_a_publishable_key_leads_to_one_agent_from_known_origins(
    keys: ApiKeys, store: InMemoryOwnedStore, clock: FakeClock
) -> None:
    await store.of("acme", Resource.AGENTS).insert({"agentId": "a", "createdAt": clock.now()})
    publishable = KeyKind.PUBLISHABLE
    good = NewKey(kind=publishable, agent_id="a", allowed_origins=("https://shop.example",))
    issued = await keys.create("acme", good)
    assert issued.token.startswith("fam_pk_")
    assert (issued.key.scopes, issued.key.agent_id) == (frozenset(), "a")
    for bad, fields in (
        (NewKey(kind=publishable, allowed_origins=good.allowed_origins), {"agentId"}),
        (NewKey(kind=publishable, agent_id="a"), {"allowedOrigins"}),
        (NewKey(kind=publishable, agent_id="b", allowed_origins=("https://x/",)), None),
    ):
        with pytest.raises(InvalidInputError) as refused:
            await keys.create("acme", bad)
        found = {one.field for one in refused.value.problems}
        assert found == (fields or {"agentId", "allowedOrigins"})


def test_unknown_scopes_are_refused_by_name() -> None:
    assert scopes_named(["*"]) == set(Scope)
    assert scopes_named(["agents:read", "agents:write"]) == {Scope.AGENTS_READ, Scope.AGENTS_WRITE}
    with pytest.raises(InvalidInputError, match="agents:delete"):
        scopes_named(["agents:delete"])


async def test_a_scope_of_a_later_version_allows_nothing(
    keys: ApiKeys, store: InMemoryOwnedStore
) -> None:
    token = (await keys.create("acme", NewKey(scopes=frozenset({Scope.AGENTS_READ})))).token
    stored(store)["scopes"] = ["agents:read", "planets:move"]
    found = await keys.recognise(token)
    assert found is not None
    assert found.scopes == {Scope.AGENTS_READ}
