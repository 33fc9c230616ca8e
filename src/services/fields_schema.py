"""The JSON schema of the fields an agent wants from its calls: is it usable, and does an answer keep it?

Draft 2020-12, without references, so that a schema is as large as it looks and reaches nothing outside
itself. `format` and `pattern` are told to the model and not enforced: a pattern can take forever on a
text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from jsonschema import Draft202012Validator, SchemaError, ValidationError
from jsonschema.validators import extend
from pydantic import TypeAdapter
from pydantic import ValidationError as Unstorable

from src.schemas.text import Key, Text

MAX_SCHEMA_CHARS = 16_000
"""As JSON: some 4 000 tokens, which every analysis of the agent's calls pays for."""
MAX_DEPTH = 16
"""Objects and lists within each other, in a schema and in an answer; MongoDB takes 100."""
_MAX_INTEGER = 2**63 - 1  # of MongoDB
_MAX_PROBLEMS = 5
_MAX_MESSAGE_CHARS = 200

_VALIDATOR: Final = extend(  # type: ignore[no-untyped-call]  # the stub has no types
    Draft202012Validator, {"pattern": lambda *_: None}
)
_KEY: Final[TypeAdapter[str]] = TypeAdapter(Key)
_TEXT: Final[TypeAdapter[str]] = TypeAdapter(Text)


def check_fields_schema(schema: object) -> list[str]:
    """What is wrong with an agent's `analysisSchema`; empty if it can be used."""
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        return ['must be a JSON schema of an object: {"type": "object", "properties": …}']
    if problems := [*_too_large(schema), *_not_supported(schema)]:
        return problems[:_MAX_PROBLEMS]
    try:
        _VALIDATOR.check_schema(schema)
    except SchemaError as error:
        return [_short(f"{error.json_path.removeprefix('$.')}: {error.message}")]
    return [] if schema.get("properties") else ["properties: must name at least one field"]


def field_problems(fields: object, schema: Mapping[str, Any]) -> list[str]:
    """What of an answer does not keep a schema that passed the check; quotes the schema alone."""
    if not isinstance(fields, Mapping):
        return ["there is no object"]
    if problems := list(_not_storable(fields)):
        return problems[:_MAX_PROBLEMS]
    known = property_names(schema)
    errors = _VALIDATOR(schema).iter_errors(fields)
    found = [_problem(error, known) for error in errors]
    return list(dict.fromkeys(found))[:_MAX_PROBLEMS]


def property_names(schema: object) -> frozenset[str]:
    """Every name of a field in the schema, at any depth."""
    names: set[str] = set()
    for part in _objects(schema):
        if isinstance(properties := part.get("properties"), Mapping):
            names.update(properties)
    return frozenset(names)


def own_values(schema: object) -> frozenset[str]:
    """Texts that the schema itself offers as values."""
    return frozenset(
        value
        for part in _objects(schema)
        for value in (*_list(part.get("enum")), part.get("const"))
        if isinstance(value, str)
    )


def _problem(error: ValidationError, known: frozenset[str]) -> str:
    # Not the library's message: it quotes the answer, and so what was said.
    where = ".".join(str(p) if isinstance(p, int) or p in known else "…" for p in error.path)
    wanted: Any = error.validator_value
    if error.validator == "required" and isinstance(error.instance, Mapping):
        missing = [name for name in wanted if name not in error.instance]
        return _short(f"{where or 'fields'}: lacks {', '.join(missing)}")
    shown = json.dumps(wanted, ensure_ascii=False)
    return _short(f"{where or 'fields'}: must keep {error.validator} {shown}")


def _too_large(schema: Mapping[str, Any]) -> Iterator[str]:
    if _is_deeper(schema, MAX_DEPTH):
        yield f"must not be nested deeper than {MAX_DEPTH} levels"
        return
    try:
        size = len(json.dumps(schema, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError):
        yield "must be JSON"
        return
    if size > MAX_SCHEMA_CHARS:
        yield f"must have at most {MAX_SCHEMA_CHARS} characters as JSON"


def _not_supported(schema: Mapping[str, Any]) -> Iterator[str]:
    for key in dict.fromkeys(key for part in _objects(schema) for key in part):
        if key.startswith("$"):
            yield f"{_short(key)}: not supported; write out what it refers to, or leave it away"
        elif key == "patternProperties":
            yield "patternProperties: not supported"
        elif not _is_kind(_KEY, key):
            yield f"{_short(key)!r}: a name must not be empty, nor contain a dot"


def _not_storable(fields: Mapping[str, Any]) -> Iterator[str]:
    if _is_deeper(fields, MAX_DEPTH):
        yield f"must not be nested deeper than {MAX_DEPTH} levels"
        return
    for part in _parts(fields):
        if isinstance(part, Mapping) and not all(_is_kind(_KEY, key) for key in part):
            yield "the name of a field must not be empty, contain a dot, or begin with $"
        elif isinstance(part, str) and not _is_kind(_TEXT, part):
            yield "a text holds what is no text"
        elif isinstance(part, int) and abs(part) > _MAX_INTEGER:
            yield "a number is too large"


def _is_kind(kind: TypeAdapter[str], value: object) -> bool:
    try:
        kind.validate_python(value, strict=True)
    except Unstorable:
        return False
    return True


def _objects(value: object) -> Iterator[Mapping[str, Any]]:
    return (part for part in _parts(value) if isinstance(part, Mapping))


def _parts(value: object) -> Iterator[object]:
    """The value and everything in it."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        yield part
        waiting.extend(reversed(_inside(part)))


def _inside(value: object) -> list[object]:
    return [*value.values()] if isinstance(value, Mapping) else _list(value)


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []


def _is_deeper(value: object, most: int) -> bool:
    level: Iterable[object] = [value]
    for _ in range(most):
        level = [inner for part in level for inner in _inside(part)]
        if not level:
            return False
    return any(isinstance(part, Mapping | list | tuple) for part in level)


def _short(text: str) -> str:
    return text if len(text) <= _MAX_MESSAGE_CHARS else f"{text[:_MAX_MESSAGE_CHARS]}…"
