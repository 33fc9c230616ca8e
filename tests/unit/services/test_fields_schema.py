"""The schema an agent gives for its fields, and answers held against it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from src.services.fields_schema import (
    MAX_DEPTH,
    MAX_SCHEMA_CHARS,
    check_fields_schema,
    field_problems,
    own_values,
    property_names,
)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": ["string", "null"]},
        "amount": {"type": "number", "minimum": 0},
        "visit": {
            "type": "object",
            "properties": {"day": {"type": "string", "format": "date"}},
            "required": ["day"],
        },
        "kind": {"enum": ["order", "refund"]},
        "code": {"type": "string", "pattern": "^(a+)+$"},
        "list": {"type": "array", "items": {"const": "x"}},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def nested(levels: int) -> Any:
    return {"properties": {"a": nested(levels - 1)}} if levels else {}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=8) | st.sampled_from(["type", "name"]), inner, max_size=3
        )
    ),
    max_leaves=12,
)


def test_a_schema_of_an_object_can_be_used() -> None:
    assert check_fields_schema(SCHEMA) == []


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (None, "must be a JSON schema of an object"),
        ([], "must be a JSON schema of an object"),
        ({"type": "string"}, "must be a JSON schema of an object"),
        ({"type": ["object"]}, "must be a JSON schema of an object"),
        ({"type": "object"}, "at least one field"),
        (of(), "at least one field"),
        (of(a={"type": "strin"}), "properties.a.type"),
        (of(a={"minimum": "3"}), "properties.a.minimum"),
        (of(a=3), "properties.a"),
        (of(a={"$ref": "https://example.org/schema"}), "$ref: not supported"),
        (of(a={"$ref": "#"}), "$ref: not supported"),
        ({"$id": "https://example.org", **of(a={})}, "$id: not supported"),
        ({"patternProperties": {}, **of(a={})}, "patternProperties: not supported"),
        (of(**{"a.b": {}}), "dot"),
        (of(**{"": {}}), "empty"),
        (of(a={"enum": ["x" * MAX_SCHEMA_CHARS]}), "at most 16000 characters"),
        (of(a={"const": b"x"}), "must be JSON"),
        (of(a={"const": float("nan")}), "must be JSON"),
        ({"type": "object", **nested(MAX_DEPTH)}, "nested deeper"),
    ],
)
def test_what_cannot_be_used_is_said(schema: object, problem: str) -> None:
    (said,) = check_fields_schema(schema)
    assert problem in said
    assert len(said) < 300


@pytest.mark.parametrize(
    ("fields", "problems"),
    [
        ({"name": None}, []),
        ({"name": "Ann", "amount": 2, "visit": {"day": "soon"}, "code": "b"}, []),
        ({}, ["fields: lacks name"]),
        ({"name": 5551234}, ['name: must keep type ["string", "null"]']),
        ({"name": "", "amount": -1}, ["amount: must keep minimum 0"]),
        ({"name": "", "visit": {}}, ["visit: lacks day"]),
        ({"name": "", "kind": "Ann Lee"}, ['kind: must keep enum ["order", "refund"]']),
        ({"name": "", "list": ["x", "Ann"]}, ['list.1: must keep const "x"']),
        ({"name": "", "Ann Lee": 1}, ["fields: must keep additionalProperties false"]),
        ([], ["there is no object"]),
        (None, ["there is no object"]),
        ({"a.b": 1}, ["the name of a field must not be empty, contain a dot, or begin with $"]),
        ({"name": "\ud800"}, ["a text holds what is no text"]),
        ({"amount": 2**63}, ["a number is too large"]),
        (
            {"name": [[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]},
            ["must not be nested deeper than 16 levels"],
        ),
    ],
)
def test_the_problems_of_an_answer_quote_the_schema_alone(
    fields: object, problems: list[str]
) -> None:
    assert field_problems(fields, SCHEMA) == problems


def test_a_name_that_the_schema_does_not_know_is_not_quoted() -> None:
    schema = {**of(a={}), "additionalProperties": {"type": "string"}}
    assert field_problems({"Ann Lee": 5}, schema) == ['…: must keep type "string"']


def test_there_are_at_most_five_problems() -> None:
    schema = of(**{f"f{n}": {"type": "string"} for n in range(9)})
    assert len(field_problems({f"f{n}": n for n in range(9)}, schema)) == 5


@given(json_values)
def test_any_value_is_checked_as_a_schema_and_as_an_answer(value: Any) -> None:
    assert all(isinstance(problem, str) for problem in check_fields_schema(value))
    assert all(isinstance(problem, str) for problem in field_problems(value, SCHEMA))
    schema = of(a=value)
    if not check_fields_schema(schema):
        assert isinstance(field_problems({"a": value}, schema), list)


def test_names_and_values_of_a_schema() -> None:
    assert property_names(SCHEMA) >= {"name", "visit", "day"}
    assert own_values(SCHEMA) == {"order", "refund", "x"}
    assert property_names(None) == own_values(None) == frozenset()
