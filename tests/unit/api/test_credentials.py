"""Who may not, does not: each route with each credential that it must refuse."""

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Depends, FastAPI, Request

from src.api.app import ROUTERS
from src.api.routing import resource_router
from src.api.session_access import SessionId
from src.api.tenant import Requires, Tenant, services_of
from src.schemas.api_keys import Scope
from src.services.owned import Resource
from tests.fakes.owned import InMemoryOwnedStore
from tests.unit.api.conftest import ApiWorld
from tests.unit.api.credential_matrix import (
    READ,
    SAMPLES,
    Matrix,
    Target,
    targets,
)
from tests.unit.api.credential_world import IDS, plant


def _routes() -> FastAPI:
    app = FastAPI()
    for router in ROUTERS:
        app.include_router(router)
    return app


TARGETS = targets(_routes())


@pytest.fixture
async def matrix(world: ApiWorld) -> Matrix:
    await plant(world)
    return Matrix(world, world.app(*ROUTERS))


@pytest.mark.parametrize("target", TARGETS, ids=str)
async def test_what_a_credential_does_not_allow_is_refused_and_changes_nothing(
    matrix: Matrix, target: Target
) -> None:
    assert await matrix.violations(target) == []
    # The same request of the owner, after all that, goes through: it was refused for its credential.
    response = await matrix.as_owner(target)
    assert response.is_success, response.text


@pytest.mark.parametrize("target", [one for one in TARGETS if one.gate.pages], ids=str)
async def test_a_page_with_the_secret_of_its_session_gets_through(
    matrix: Matrix, target: Target
) -> None:
    response = await matrix.as_page(target)
    assert response.is_success, response.text


def test_every_sample_is_of_a_route_that_exists() -> None:
    assert set(SAMPLES) == {one.operation_id for one in TARGETS}
    assert set(IDS) >= {name for one in TARGETS for name in one.names}


rogue = resource_router("rogue")
Reader = Annotated[Tenant, Depends(Requires(Scope.CONTACTS_READ))]
Writer = Annotated[Tenant, Depends(Requires(Scope.CALLS_WRITE))]
Visitor = Annotated[Tenant, Depends(Requires(Scope.SESSIONS_WRITE, pages=True))]


def _all(request: Request, resource: Resource) -> list[dict[str, Any]]:
    store = services_of(request).owned
    assert isinstance(store, InMemoryOwnedStore)
    return store.documents[resource]


def _named(request: Request, resource: Resource, key: str) -> dict[str, Any]:
    return next(one for one in _all(request, resource) if one[resource.value.key] == key)


@rogue.get("/rogue/contacts/{contactUID}", operation_id="readsById")
async def reads_by_id(contactUID: str, request: Request, _: Reader) -> dict[str, Any]:  # noqa: N803
    return {"status": _named(request, Resource.CONTACTS, contactUID)["status"]}


@rogue.get("/rogue/contacts", operation_id="listsAll")
async def lists_all(request: Request, _: Reader) -> list[str]:
    return [str(one["transcript"]) for one in _all(request, Resource.CONTACTS)]


@rogue.post("/rogue/contacts/{contactUID}/hangup", operation_id="writesById")
async def writes_by_id(contactUID: str, request: Request, _: Writer) -> None:  # noqa: N803
    _named(request, Resource.CONTACTS, contactUID)["status"] = "abandoned"


@rogue.delete("/rogue/contacts", operation_id="deletesAll", status_code=204)
async def deletes_all(request: Request, _: Writer) -> None:
    _all(request, Resource.CONTACTS).clear()


@rogue.get("/rogue/sessions/{sessionId}", operation_id="asksForNoSecret")
async def asks_for_no_secret(
    session_id: SessionId, request: Request, tenant: Visitor
) -> dict[str, Any]:
    sessions = services_of(request).owned.of(tenant.owner_id, Resource.SESSIONS)
    return {"found": await sessions.get(session_id) is not None}


async def _count(request: Request) -> None:
    _all(request, Resource.AGENTS)[0]["visits"] = 1


@rogue.get("/rogue/agents", operation_id="writesBeforeItsGate")
async def writes_before_its_gate(_: Annotated[None, Depends(_count)], __: Reader) -> None: ...


@rogue.post("/rogue/rooms", operation_id="actsForAnybody")
async def acts_for_anybody(request: Request, _: Writer) -> None:
    for one in _all(request, Resource.CONTACTS):
        await services_of(request).calls.hang_up("acme", one["contactUID"])
        return


ROGUES: dict[str, Callable[[str], bool]] = {
    "readsById": lambda one: "with another owner's key answers 200" in one,
    "listsAll": lambda one: "with another owner's key tells kumquat" in one,
    "writesById": lambda one: "with another owner's key changes CONTACTS documents" in one,
    "deletesAll": lambda one: "with another owner's key changes CONTACTS documents" in one,
    "asksForNoSecret": lambda one: "its page without the secret answers 200" in one,
    "writesBeforeItsGate": lambda one: "with no key changes AGENTS documents" in one,
    "actsForAnybody": lambda one: "with another owner's key changes rooms" in one,
}


@pytest.mark.parametrize("operation_id", ROGUES)
async def test_a_route_that_forgets_whose_things_are_whose_is_found_out(
    world: ApiWorld, operation_id: str
) -> None:
    await plant(world)
    app = world.app(rogue)
    matrix = Matrix(world, app)
    every = targets(app, dict.fromkeys(ROGUES, READ))
    (target,) = [one for one in every if one.operation_id == operation_id]
    found = await matrix.violations(target)
    assert any(map(ROGUES[operation_id], found)), found


def test_a_route_without_a_sample_cannot_be_overlooked(world: ApiWorld) -> None:
    with pytest.raises(KeyError, match="readsById"):
        targets(world.app(rogue))
    unknown: APIRouter = resource_router("unknown")

    @unknown.get("/things/{thingId}", operation_id="getThing")
    async def get(thingId: str, _: Reader) -> None: ...  # noqa: N803

    with pytest.raises(KeyError, match="thingId"):
        targets(world.app(unknown), {"getThing": READ})
