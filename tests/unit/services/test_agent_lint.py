"""What is probably not meant in greetings and prompts."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from src.schemas.agent_document import AgentDocument, AgentWarning, WarningCode
from src.services.agent_lint import MAX_WARNINGS, lint

NO_DEFAULT = WarningCode.NO_DEFAULT
ONLY_PER_CALL = WarningCode.ONLY_PER_CALL
NEVER = WarningCode.NEVER_SUPPLIED
BRACES = WarningCode.UNBALANCED_BRACES
NO_PLACEHOLDER = WarningCode.NO_PLACEHOLDER
MEMORY = {"variableMemory": {"enabled": True, "linkedAgentId": "outreach"}}


def warnings(
    linked: Mapping[str, Mapping[str, Any]] | None = None, **fields: Any
) -> list[AgentWarning]:
    return [*lint(AgentDocument.model_validate(fields), linked or {})]


def found(**fields: Any) -> list[tuple[str, str]]:
    return [(one.code.value, one.field) for one in warnings(**fields)]


@pytest.mark.parametrize(
    "greeting",
    [
        "",
        "Hello.",
        'Hello {{ name | default: "there" }}.',
        "Hello {{ Name }}.",  # in the defaults below
        "Hello {{name}}.",
        "It is {{ now }}, {{today}}; you are {{caller_number}} on {{ called_number }}.",
        "I am {{ agent_name }}, this is {{call_direction}}.",
        "{% if vip %}Hello dear guest{% endif %}",
        "{% if customer %}Hello {{ customer }}{% else %}Hello{% endif %}",
        "{% unless plan %}Hello{% else %}{{plan}}{% endunless %}",
        '{% assign where = "here" %}You are {{ where }}.',
        "{% raw %}{{ not_asked }}{% endraw %}",
        "{% comment %}{{ not_asked }}{% endcomment %}Hello",
        "नमस्ते {{नाम}}",
        "Hello {{ First Name }}.",
    ],
)
def test_what_is_fine_is_not_warned_of(greeting: str) -> None:
    defaults = {"name": "there", "नाम": "जी", "first name": "you"}
    for place in ({"greeting": greeting}, {"prompt": greeting}, {"greetings": {"es": greeting}}):
        assert found(variableDefaults=defaults, **place) == []


@pytest.mark.parametrize(
    "text", ["Hello {{name}}.", "Hello {{ name }}", "{% if vip %}{{name}}{% endif %}"]
)
def test_a_variable_without_a_default_is_named_in_its_place(text: str) -> None:
    for field, place in (
        ("greeting", {"greeting": text}),
        ("greetings.es", {"greetings": {"es": text}}),
        ("prompt", {"prompt": text}),
    ):
        (warning,) = warnings(**place)
        assert (warning.code, warning.field, warning.variable) == (ONLY_PER_CALL, field, "name")
        assert "only a campaign or the request can supply it" in warning.message


def test_with_variable_memory_earlier_calls_can_supply_it() -> None:
    (warning,) = warnings(greeting="Hello {{name}}", historyContext=MEMORY)
    assert warning.code == NO_DEFAULT
    assert "outreach" in warning.message
    alone = {"variableMemory": {"enabled": True}}
    (warning,) = warnings(greeting="Hello {{name}}", historyContext=alone)
    assert "this agent supplies it" in warning.message


def test_linked_agents_that_use_the_variable_are_named() -> None:
    linked: dict[str, dict[str, Any]] = {
        "outreach": {"greetings": {"es": "Hola {{ Name }}"}},
        "billing": {"greeting": "Hello {{name}}", "prompt": 5, "greetings": "none"},
        "other": {"prompt": "Ask for {{ phone }}."},
    }
    (warning,) = warnings(linked, greeting="Hello {{name}}")
    assert warning.linked_agent_ids == ("outreach", "billing")
    assert "outreach or billing" in warning.message
    (warning,) = warnings(linked, greeting="Hello {{name}}", historyContext=MEMORY)
    assert warning.linked_agent_ids == ("outreach",)


def test_what_no_value_can_be_called_is_said_so() -> None:
    ((code, place),) = found(greeting="Hello {{ items[0] }}")
    assert (code, place) == (NEVER, "greeting")


@pytest.mark.parametrize(
    ("field", "text", "codes"),
    [
        ("greeting", "Hello {{name", [BRACES, ONLY_PER_CALL]),
        ("greeting", "Hello {{name}, hi", [BRACES, ONLY_PER_CALL]),
        ("greeting", "Hello }}", [BRACES]),
        ("greeting", "Hello {", [BRACES]),
        ("prompt", "Say {{name to them.", [BRACES]),
        ("prompt", 'Answer with {"a": {"b": 1}}.', []),
        ("prompt", 'Answer with {{"a": 1}}.', [NO_PLACEHOLDER]),
        ("greeting", 'Hello {{"a": 1}}.', [NO_PLACEHOLDER]),
        ("greeting", "Hello {% include 'x' %}.", [NO_PLACEHOLDER]),
        ("greeting", "{% if name %}Hello", [WarningCode.BROKEN_TAGS]),
        ("greeting", "{{}}", [NO_PLACEHOLDER]),
    ],
)
def test_braces_that_do_not_fit(field: str, text: str, codes: list[WarningCode]) -> None:
    assert found(**{field: text}) == [(code.value, field) for code in codes]


@pytest.mark.parametrize(
    "prompt",
    [
        '{"role": "system", "content": "You are a helper."}',
        '[{"role": "system"}]',
        '```json\n{"persona": "Ana"}\n```',
        '{"persona": "Ana", }',
        "{}",
    ],
)
def test_a_prompt_that_looks_like_json_is_named(prompt: str) -> None:
    assert (WarningCode.JSON_PROMPT.value, "prompt") in found(prompt=prompt)


@pytest.mark.parametrize("prompt", ["[Be kind] and short.", "{{now}} is the time", '{"a" is first'])
def test_other_prompts_are_no_json(prompt: str) -> None:
    assert WarningCode.JSON_PROMPT.value not in [code for code, _ in found(prompt=prompt)]


def test_there_is_an_end_to_warnings() -> None:
    text = "".join(f"{{{{v{number}}}}}" for number in range(500))
    assert len(warnings(prompt=text)) == MAX_WARNINGS


@given(st.text(st.sampled_from('{}%| "ab\n,:.-if[]()')), st.booleans())
def test_no_template_fails_it(text: str, in_prompt: bool) -> None:
    for warning in warnings(None, **{"prompt" if in_prompt else "greeting": text}):
        assert warning.message
