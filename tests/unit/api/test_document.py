"""What the OpenAPI document promises of answers."""

from collections.abc import Iterator, Mapping
from typing import Any

from src.api.app import ROUTERS
from src.api.tenant import resource_routes
from tests.unit.api.conftest import ApiWorld

Json = Mapping[str, Any]


def _named(schema: object) -> Iterator[str]:
    """The names of the schemas that one refers to."""
    match schema:
        case {"$ref": str(reference)}:
            yield reference.rsplit("/", 1)[-1]
        case Mapping():
            for part in schema.values():
                yield from _named(part)
        case list():
            for part in schema:
                yield from _named(part)
        case _:
            pass


def _reached(schema: object, schemas: Json) -> set[str]:
    found: set[str] = set()
    waiting = list(_named(schema))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(_named(schemas[name]))
    return found


def _may_be_null(schema: Json) -> bool:
    return {"type": "null"} in schema.get("anyOf", ())


async def test_what_may_be_left_out_is_not_promised(world: ApiWorld) -> None:
    app = world.app(*ROUTERS)
    document = app.openapi()
    schemas = document["components"]["schemas"]
    promised = set()
    for route in resource_routes(app):
        if not route.response_model_exclude_none:
            continue
        for method in route.methods or ():
            answers = document["paths"][route.path_format][method.lower()]["responses"]
            for name in _reached(answers, schemas):
                properties = schemas[name].get("properties", {})
                promised |= {
                    f"{name}.{field}"
                    for field in schemas[name].get("required", ())
                    if _may_be_null(properties[field])
                }
    assert promised == set()


async def test_operations_are_named_described_and_tagged(world: ApiWorld) -> None:
    document = world.app(*ROUTERS).openapi()
    operations = [one for path in document["paths"].values() for one in path.values()]
    ids = [one["operationId"] for one in operations]
    assert len(ids) == len(set(ids))
    assert [one["operationId"] for one in operations if not one.get("description")] == []
    assert [one["operationId"] for one in operations if not one.get("tags")] == []
