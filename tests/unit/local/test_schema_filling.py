"""Structured output: a valid object from what a text shows."""

from typing import Any

import pytest

from local.providers.schema_filling import SchemaFiller

CALL = """Agent: Hello, how can I help you?
Caller: My name is Ann Lee and my thermostat is broken. My mail is ann@example.org.
Agent: A technician comes on 2026-12-04.
Caller: I am angry. I have called 3 times. I do not want a refund.
"""


def fill(schema: dict[str, Any], text: str = CALL, *, as_spoken: bool = False) -> Any:
    return SchemaFiller(schema, text, as_spoken=as_spoken).fill()


def fill_one(name: str, schema: dict[str, Any]) -> Any:
    required = {"type": "object", "properties": {name: schema}, "required": [name]}
    return fill(required)[name]


@pytest.mark.parametrize(
    ("name", "schema", "value"),
    [
        ("caller_name", {"type": "string"}, "Ann Lee"),
        ("email", {"type": "string"}, "ann@example.org"),
        ("visit", {"type": "string", "format": "date"}, "2026-12-04"),
        ("mood", {"type": "string", "enum": ["happy", "angry", "unknown"]}, "angry"),
        ("colour", {"type": "string", "enum": ["red", "unknown"]}, "unknown"),
        ("times_called", {"type": "integer"}, 3),
        ("times_called", {"type": "integer", "maximum": 2}, 0),
        ("wants_refund", {"type": "boolean"}, False),
        ("thermostat_broken", {"type": "boolean"}, True),
        ("budget", {"type": ["number", "null"]}, None),
        ("budget", {"anyOf": [{"type": "number"}, {"type": "null"}]}, None),
        ("budget", {"type": "number", "minimum": 5}, 5),
        ("parcel", {"type": "string"}, ""),
        ("parcel", {"type": "string", "minLength": 3}, "unknown"),
        ("tags", {"type": "array", "items": {"type": "string"}}, []),
        ("pair", {"type": "array", "items": {"type": "boolean"}, "minItems": 2}, [False, False]),
        ("version", {"const": 1}, 1),
    ],
)
def test_a_field_gets_what_the_text_shows_or_a_plain_value(
    name: str, schema: dict[str, Any], value: Any
) -> None:
    assert fill_one(name, schema) == value


def test_a_summary_is_made_of_the_lines() -> None:
    assert fill_one("summary", {"type": "string"}).startswith("The caller said: My name is Ann Lee")


def test_references_and_nested_objects_are_followed() -> None:
    schema = {
        "$defs": {"Person": {"type": "object", "properties": {"name": {"type": "string"}}}},
        "type": "object",
        "properties": {"caller": {"allOf": [{"$ref": "#/$defs/Person"}]}},
        "required": ["caller"],
    }
    assert fill(schema) == {"caller": {"name": "Ann Lee"}}


def test_a_schema_that_contains_itself_ends() -> None:
    node: dict[str, Any] = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    assert "next" in fill(node | {"required": ["next"]})


def test_an_optional_field_without_evidence_is_left_out() -> None:
    schema = {"type": "object", "properties": {"parcel": {"type": "string"}}}
    assert fill(schema) == {}


def test_a_request_to_a_tool_is_its_free_text() -> None:
    schema = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    filled = fill(schema, "Find red shoes.", as_spoken=True)
    assert filled == {"query": "Find red shoes."}
