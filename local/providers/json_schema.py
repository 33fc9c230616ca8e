"""The parts of JSON Schema that structured output and tools use."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

_MODEST = ("unknown", "none", "other", "neutral", "n/a", "unclear", "")
_DEEPEST = 16


def resolved(schema: Json, root: Json) -> Json:
    """The schema behind references, with the parts of `allOf` put together."""
    for _ in range(_DEEPEST):
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            break
        target: Any = root
        for key in reference.removeprefix("#").strip("/").split("/"):
            target = target.get(key, {}) if key and isinstance(target, dict) else target
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**target, **rest} if target is not schema else rest
    merged = {key: value for key, value in schema.items() if key != "allOf"}
    for part in schema.get("allOf", ()):
        merged = {**resolved(part, root), **merged}
    return merged


def variants(schema: Json) -> list[Json]:
    """The alternatives of a schema; none if it has only one form."""
    shared = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf", "type")}
    if alternatives := schema.get("anyOf") or schema.get("oneOf"):
        return [{**shared, **alternative} for alternative in alternatives]
    if isinstance(schema.get("type"), list):
        return [{**shared, "type": kind} for kind in schema["type"]]
    return []


def kind(schema: Json) -> str:
    """The JSON type of a schema in one form."""
    if isinstance(schema.get("type"), str):
        return str(schema["type"])
    return "object" if "properties" in schema else "array" if "items" in schema else "string"


def plain_value(schema: Json, root: Json, depth: int = 0) -> Any:
    """A valid value that claims as little as the schema allows: null, false, empty, "unknown".

    A `pattern` or `format` is not met.
    """
    schema = resolved(schema, root) if depth <= _DEEPEST else {"type": "null"}  # contains itself
    if options := _fixed(schema):
        return next((o for o in options if o is None or str(o).lower() in _MODEST), options[0])
    if forms := variants(schema):
        return _least(forms, root, depth)
    match kind(schema):
        case "object":
            return _plain_object(schema, root, depth)
        case "array":
            item = plain_value(schema.get("items", {}), root, depth + 1)
            return [item] * int(schema.get("minItems", 0))
        case _:
            return _plain_scalar(schema)


def _plain_scalar(schema: Json) -> Any:
    least = schema.get("minLength", 0)
    plain = {
        "integer": _near_zero(schema),
        "number": _near_zero(schema),
        "boolean": False,
        "null": None,
        "string": "unknown".ljust(least, ".") if least else "",
    }
    return plain.get(kind(schema))


def _fixed(schema: Json) -> list[Any]:
    """The values a schema names itself."""
    for key in ("const", "default"):
        if key in schema:
            return [schema[key]]
    return list(schema.get("enum", ()))


def _least(forms: list[Json], root: Json, depth: int) -> Any:
    if any(kind(resolved(form, root)) == "null" for form in forms):
        return None
    return plain_value(forms[0], root, depth + 1)


def _plain_object(schema: Json, root: Json, depth: int) -> Json:
    parts = schema.get("properties", {})
    required = (name for name in schema.get("required", ()) if name in parts)
    return {name: plain_value(parts[name], root, depth + 1) for name in required}


def _near_zero(schema: Json) -> int | float:
    least = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
    most = schema.get("maximum", schema.get("exclusiveMaximum", 1) - 1)
    value = max(least, 0) if least >= 0 or most >= 0 else most
    return value if isinstance(value, int | float) else 0


def is_in_range(value: float, schema: Json) -> bool:
    """Whether a number keeps the schema's bounds."""
    return bool(
        schema.get("minimum", value) <= value <= schema.get("maximum", value)
        and schema.get("exclusiveMinimum", value - 1) < value
        and value < schema.get("exclusiveMaximum", value + 1)
    )
