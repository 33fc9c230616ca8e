"""Greetings and prompts, from templates that people and programs have mangled."""

import re
import time
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from src.services.rendering import Rendered, placeholders, render, system_values
from src.services.speech_gate import gate

VALUES = {
    "name": "Daivik",
    "First Name": "Asha",
    "last-name": "Rao",
    "customer.name": "Meera",
    "नाम": "राज",
    "имя": "Ольга",
    "Amount (₹)": "500",
    "1": "one",
    "empty": "",
    "spaces": "  \n ",
    "items": "tea,milk",
}


def greeting(template: str, **values: str) -> str:
    return render(template, {**VALUES, **values}, keep_foreign=False).text


def prompt(template: str, **values: str) -> str:
    return render(template, {**VALUES, **values}, keep_foreign=True).text


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("Hello {{name}}, how can I help?", "Hello Daivik, how can I help?"),
        ("Hello {{ Name }}{{NAME}}", "Hello DaivikDaivik"),
        ("{{ first name }} {{ FIRST  NAME }} {{last-name}}", "Asha Asha Rao"),
        ("{{नाम}} {{ नाम | append: '!' }} {{ ИМЯ }}", "राज राज! Ольга"),
        ("{{ customer.name }} {{ Customer.Name | upcase }}", "Meera MEERA"),
        ("{{ customer['name'] }}", "Meera"),
        ("{{Amount (₹)}} and {{1}}", "500 and one"),
        ("{{{name}}}", "Daivik"),
        ("{{name}} {{ first name | downcase }} {{{नाम}}}", "Daivik asha राज"),
        ('{{ name | default: "there" }}, {{ nobody | default: "there" }}', "Daivik, there"),
        ('{{ first_name | default: "there" }}', "there"),
        ('{{ empty | default: "a" }} {{ spaces | default: "b" }}', "a b"),
        ("{{ name | slice: 0, 3 | upcase }}", "DAI"),
        (
            "{{ name | unheard_of: 3 }} {{ name | default: }} {{ name || 1 }}",
            "Daivik Daivik Daivik",
        ),
        ("{{ 3 | plus: 4 }} {{ name.size }}", "7 6"),
        ("{{ name | append: नाम }}", "Daivikराज"),
        ("{% if name %}Hi {{name}}{% else %}Hi{% endif %}", "Hi Daivik"),
        ("{% if spaces %}Hi {{spaces}}{% else %}Hi{% endif %}", "Hi"),
        ("{% if नाम == 'राज' and customer.name %}हाँ{% endif %}", "हाँ"),
        ("{% unless nobody %}none{% endunless %}", "none"),
        ("{% case name %}{% when 'Daivik' %}yes{% else %}no{% endcase %}", "yes"),
        ("{% assign name = name | upcase %}{{name}}", "DAIVIK"),
        ("{% assign नया = नाम %}{{नया}}", "राज"),
        ("{% capture x %}Hi {{nobody}}{% endcapture %}{{x}}, you", "Hi, you"),
        (
            "{% assign l = items | split: ',' %}{% for i in l %}{{i}}{{forloop.index}}{% endfor %}",
            "tea1milk2",
        ),
        ("a {{- name -}} b", "aDaivikb"),
        ("a{% comment %} {{name}} {% endcomment %}b{% # note %}", "ab"),
    ],
)
def test_a_template_is_filled(template: str, text: str) -> None:
    assert greeting(template) == prompt(template) == text


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("Hello {{x}}, how can I help?", "Hello, how can I help?"),
        ("Hello {{ x }} , how can I help?", "Hello, how can I help?"),
        ("Hello, {{x}}, how are you?", "Hello, how are you?"),
        ("Hello, {{x}}! How are you?", "Hello! How are you?"),
        ("Hello {{x}} how are you?", "Hello how are you?"),
        ("Hi {{x}}!", "Hi!"),
        ("Hello {{first}} {{last}}, how are you?", "Hello, how are you?"),
        ("From {{street}}, {{city}}, {{country}}.", "From."),
        ("{{x}}, good morning", "Good morning"),
        ("{{x}} good morning", "good morning"),
        ("Thanks. {{x}}, one moment", "Thanks. One moment"),
        ("Thanks. {{x}}. One moment", "Thanks. One moment"),
        ("Really? {{x}}!", "Really?"),
        ("About {{x}}'s order", "About order"),
        ("नमस्ते {{x}}। कैसे हैं", "नमस्ते। कैसे हैं"),
        ("こんにちは、{{x}}、元気ですか", "こんにちは、元気ですか"),
        ("Goodbye {{x}}", "Goodbye"),
        ("pre{{x}}fix", "prefix"),
        ("A {{x}} {{y}}b{{z}}c", "A bc"),
        ("Hi {{ name | replace: name, ' ' }}!", "Hi!"),
        ("a, \ufdd0, b{{x}}", "a, , b"),
        ("{{x}}", ""),
        ("{{x}} {{y}}, {{z}}", ""),
        ('"{{first}} {{last}}" is the caller', '"" is the caller'),
    ],
)
def test_the_gap_of_a_missing_value_is_closed(template: str, text: str) -> None:
    assert greeting(template) == prompt(template) == text


def test_the_lines_of_a_prompt_stay_lines() -> None:
    template = "# Caller\n  - Name: {{x}}\n  - City: {{city}}, India\n    {{y}}\n\n{{z}}, be brief."
    assert prompt(template) == "# Caller\n  - Name:\n  - City:, India\n    \n\nBe brief."


JSON_SPANS = [
    '{{"a":1}}',
    '{"a": {"b": {"c": [1, {}]}}}',
    '{{"a": {"b": 1}}}',
    "{{}}",
    '{{\n  "intent": "book",\n  "slots": {{ "date": "…" }}\n}}',
    "{{ key: value, other: 2 }}",
    '{{ name: {{ "b": 1 }} }}',
    '{{name:"x", sub: {{ "b": 1 }} }}',
    "${HOME} {placeholder}",
    "{{#if x}} {{/if}} {{> part}}",
    "{% include 'x' %} {% frobnicate %} {% } 50{% off",
    "function f() { return {}; }",
]


@pytest.mark.parametrize("span", JSON_SPANS)
def test_what_is_no_placeholder_stays_in_a_prompt(span: str) -> None:
    assert prompt(f"Answer as {span} to {{{{name}}}}.") == f"Answer as {span} to Daivik."


@pytest.mark.parametrize("span", JSON_SPANS)
def test_what_is_no_placeholder_is_never_spoken_in_braces(span: str) -> None:
    spoken, _ = gate(greeting(f"Answer as {span} to {{{{name}}}}."))
    assert not set("{}") & set(spoken)
    assert "Daivik" in spoken


@pytest.mark.parametrize(
    ("template", "spoken", "read"),
    [
        ("Hello {{name, how", "Hello Daivik, how", "Hello Daivik, how"),
        ("Hello {{name}, how", "Hello Daivik, how", "Hello Daivik, how"),
        ("Hello {{ first name }, how", "Hello Asha, how", "Hello Asha, how"),
        ("{{name and {{नाम}}", "Daivik and राज", "Daivik and राज"),
        ("Hello {{nobody, how", "Hello, how", "Hello {{nobody, how"),
        ("Hello {{nobody}, how", "Hello, how", "Hello {{nobody}, how"),
        ("{% if name %}Hi {{name}}", "Hi Daivik", "{% if name %}Hi Daivik"),
        ("{% endif %}Hi {{name}}", "Hi Daivik", "{% endif %}Hi Daivik"),
        ("{% raw %}Hi {{name}}", "Hi Daivik", "{% raw %}Hi Daivik"),
        ("{% if name ?? %}Hi{% endif %}", "Hi", "{% if name ?? %}Hi{% endif %}"),
    ],
)
def test_a_broken_span_costs_only_itself(template: str, spoken: str, read: str) -> None:
    assert greeting(template) == spoken
    assert prompt(template) == read


def test_raw_text_is_left_alone_in_a_prompt() -> None:
    assert prompt("{% raw %}{{name}} {% if %}{% endraw %}{{name}}") == "{{name}} {% if %}Daivik"


@pytest.mark.parametrize(
    "value", ["{{hidden}}", "{{ hidden", "{% if hidden %}x{% endif %}", "{{'a'|upcase}}", "}}{{"]
)
def test_a_value_is_data(value: str) -> None:
    for template in (
        "{{v}}",
        "{{ v | append: '' }}",
        "{% assign w = v %}{{w}}",
        "{{v}} {{",
        "{{{v}}}",
    ):
        text = prompt(template, v=value, hidden="never-shown-42")
        assert value in text
        assert "never-shown-42" not in text


def test_what_is_missing_and_what_is_kept_are_reported() -> None:
    template = 'Hi {{Nobody}} {{ x | default: "d" }}{{y}}{{Nobody}} {{ customer.age }} {{"a":1}}{% if z %}{% endif %}'
    done = render(template, VALUES, defaults={"Y": "friend"}, keep_foreign=True)
    assert done == Rendered('Hi dfriend {{"a":1}}', ("Nobody", "customer.age"), 1)


def test_the_filters_default_goes_before_the_agents() -> None:
    defaults = {"name": "friend"}
    template = (
        "{{ name | default: 'there' }} {{ Name }} {{ name | upcase }}{% if name %}known{% endif %}"
    )
    assert render(template, {}, defaults=defaults, keep_foreign=False).text == "there friend FRIEND"


def test_system_names_are_reserved() -> None:
    system = {"caller_number": "", "agent_name": "Anna"}
    values = {"Caller_Number": "+15550000000", "agent_name": "Eve", "now": "noon"}
    done = render(
        "{{caller_number}}{{agent_name}} {{now}}", values, system=system, keep_foreign=False
    )
    assert done == Rendered("Anna noon", ("caller_number",), 0)


def test_system_values_are_in_the_agents_local_time() -> None:
    system = system_values(
        now=datetime(2026, 11, 1, 20, 35, tzinfo=UTC),
        zone=ZoneInfo("Asia/Kolkata"),
        caller_number="+919876543210",
        called_number=None,
        call_direction="inbound",
        agent_name="Anna",
    )
    assert system == {
        "now": "2026-11-02 02:05",
        "today": "Monday, 2 November 2026",
        "caller_number": "+919876543210",
        "called_number": "",
        "call_direction": "inbound",
        "agent_name": "Anna",
    }
    template = "{{ now | date: '%H:%M' }} {{ 'now' | date: '%d' }} {{ today | date: '%j' }} {{ name | date: '%d' }}"
    assert render(template, VALUES, system=system, keep_foreign=False).text == "02:05 02 306 Daivik"


def test_the_machines_clock_is_not_read() -> None:
    assert greeting("{{now}}{{today}}{{ 'now' | date: '%Y' }}{{ 'today' | date: '%Y' }}") == ""


def test_the_names_a_template_asks_for() -> None:
    template = (
        "{{ Name }} {{ first name | default: 'x' }} {{नाम}} {{customer.name}} {{a['b']}} {{Name}}"
        " {% if hidden %}{{ shown }}{% endif %} {{'text'}} {{\"a\":1}} {% raw %}{{no}}{% endraw %}"
    )
    asked = ("Name", "first name", "नाम", "customer.name", "a.b", "shown")
    assert placeholders(template) == asked


HOSTILE = {
    "open braces": "{{ " * 10_000,
    "single braces": "{" * 30_000,
    "blanks in a span": "{{" + " " * 30_000 + "}}",
    "blanks without end": "{{" + " " * 30_000,
    "open tags": "{%" * 15_000,
    "nested blocks": "{% if x %}" * 3_000,
    "raw without end": "{% raw %}" * 3_000,
    "quotes": ('{{ "' + "'\"[" * 140 + " }}") * 70,
    "brackets": ("{{ a | b: " + "(" * 480 + " }}") * 60,
    "a growing value": "{% assign a = name %}" + "{% assign a = a | append: a %}" * 60 + "{{a}}",
    "a growing replacement": "{{ name | replace: '', name" + " | replace: '', name" * 20 + " }}",
    "a growing number": "{% assign a = 9 %}" + "{% assign a = a | times: a %}" * 60 + "{{a}}",
    "a long range": "{% if (1..99999999999) contains 'x' %}{% endif %}{{ (1..999999999) | join }}",
    "loops in loops": "{% assign l = big | split: '' %}{% for a in l %}{% for b in l %}x{% endfor %}{% endfor %}",
    "many loops": "{% assign l = items | split: ',' %}" + "{% for a in l %}{{a}}{% endfor %}" * 900,
    "a big value often": "{{big}}" * 2_000,
}


@pytest.mark.parametrize("template", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("keep_foreign", [True, False])
def test_a_hostile_template_costs_little(template: str, *, keep_foreign: bool) -> None:
    values = {**VALUES, "big": "x" * 50_000}
    began = time.process_time()
    text = render(template, values, keep_foreign=keep_foreign).text
    # Each takes under 0.3 s; what it guards against takes minutes or all the memory.
    assert time.process_time() - began < 3
    assert len(text) <= 6_000_000


def test_a_large_prompt_renders_within_a_turn() -> None:
    paragraph = "You speak for {{company}} to {{ name | default: 'a caller' }}. Use {{\"c\": 2}}. "
    template = (paragraph + "Lorem ipsum dolor sit amet. " * 18 + "\n") * 170
    render(template, VALUES, keep_foreign=True)
    began = time.process_time()
    text = render(template, VALUES, keep_foreign=True).text
    # 20 ms on an idle core; the rest is room for a busy one.
    assert time.process_time() - began < 0.2
    assert len(template) > 95_000
    assert text.count("to Daivik.") == 170


WORDS = st.sampled_from(["Hello", "how are you", "नमस्ते", "مرحبا", "Привет", "你好", "1.5%", "\n"])
STRAY = st.sampled_from(["{", "}", "{{", "}}", "{%", "%}", "{{{", "}}}", "-", "|", '"', "'", "raw"])
NAMES = st.sampled_from(
    ["name", " Name ", "first name", "नाम", "customer.name", "nobody", "1", "v"]
)
FILTERS = st.sampled_from(
    [
        "",
        " | default: 'there'",
        " | upcase",
        " | nope",
        " | date: '%d'",
        " |",
        " | times: 3",
        "| join",
    ]
)
TAGS = st.sampled_from(
    (
        *("if name", "else", "endif", "if", "for i in v", "break", "endfor", "assign v = name"),
        *("raw", "endraw", "comment", "endcomment", "case v", "when 'x'", "endcase", "capture v"),
        *("endcapture", "include 'x'", "-"),
    )
)
PLACEHOLDERS = st.one_of(
    st.builds("{{{{{}{}}}}}".format, NAMES, FILTERS),
    st.builds("{{{{{{{}}}}}}}".format, NAMES),
    st.builds("{{{{- {} -}}}}".format, NAMES),
)
TEMPLATES = st.lists(
    st.one_of(
        WORDS,
        STRAY,
        PLACEHOLDERS,
        st.builds("{{% {} %}}".format, TAGS),
        st.sampled_from(JSON_SPANS),
        st.text(alphabet="{}% |'\"a.,नाम[]()\n", max_size=8),
    ),
    max_size=12,
).map("".join)
VALUE = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["Daivik", "{{name}}", "{% if %}", "}}", '{"a": {"b": 1}}', "a\n{b", "{{{", " "]
    ),
)


@given(TEMPLATES, st.dictionaries(NAMES, VALUE, max_size=5), st.booleans())
@settings(max_examples=300, deadline=None)
def test_nothing_in_braces_is_spoken_and_nothing_raises(
    template: str, values: dict[str, str], keep_foreign: bool
) -> None:
    done = render(template, values, defaults={"v": "{{x}}"}, keep_foreign=keep_foreign)
    spoken, removed = gate(done.text)
    assert not set("{}") & set(spoken)
    assert (removed > 0) == bool(set("{}") & set(done.text))
    assert keep_foreign or done.kept == 0
    placeholders(template)


@given(st.lists(st.one_of(WORDS, st.sampled_from(JSON_SPANS[:4])), max_size=8), VALUE)
@settings(max_examples=100, deadline=None)
def test_a_prompt_changes_only_where_it_asks(pieces: list[str], value: str) -> None:
    template = "".join(f"{piece} {{{{name}}}} ." for piece in pieces)
    filled = "".join(f"{piece} {value} ." for piece in pieces)
    if value.strip():
        assert prompt(template, name=value) == filled


@given(
    TEMPLATES,
    st.sampled_from(["{{hidden}}", "{{ hidden | upcase }}", "{% if hidden %}x{% endif %}"]),
)
@settings(max_examples=150, deadline=None)
def test_a_value_is_never_rendered_again(template: str, value: str) -> None:
    values = dict.fromkeys(("name", "first name", "नाम", "customer.name", "1"), value)
    text = render(template, {**values, "hidden": "never-shown-42"}, keep_foreign=True).text
    assert "never-shown-42" not in text.lower()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["Hello", "Daivik", "{{x}}", "{{ y | upcase }}", "good day"]),
            st.sampled_from([" ", ", ", ". ", "! "]),
        ),
        min_size=1,
        max_size=8,
    )
)
@settings(max_examples=200, deadline=None)
def test_closing_up_leaves_no_stray_blanks_or_commas(pieces: list[tuple[str, str]]) -> None:
    template = "".join(word + after for word, after in pieces).rstrip(" ,") + "?"
    text = greeting(template)
    assert not re.search(r"  | [,.!?]|,[,.!?]|^[, ]", text), (template, text)
    words = [word for word, _ in pieces if "{" not in word]
    assert re.findall(r"[a-z]+", text.lower()) == " ".join(words).lower().split()
