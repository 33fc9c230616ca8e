"""Fills a JSON schema from a text: what the text shows, and a plain value for what it does not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from local.providers.conversation import Utterance, transcript
from local.providers.json_schema import (
    Json,
    is_in_range,
    kind,
    plain_value,
    resolved,
    variants,
)
from local.providers.recall import caller_name
from local.providers.spoken_values import amounts, day, numbers, time
from local.providers.statements import Statement, best_likeness, coverage, sentences, terms
from local.providers.summary import exchanges, shortened, summarise

_SHAPES = (
    ("email", re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]*\w")),
    ("phone", re.compile(r"\+?\d[\d ().-]{5,}\d")),
    ("date", re.compile(r"\d{4}-\d{2}-\d{2}")),
)
_SPEAKER = re.compile(r"^(?:caller|agent): ", re.IGNORECASE)
_MONEY = terms("amount price cost total sum payment fee budget balance debt money refund charge")
_DAY = terms("date day")
_TIME = terms("time hour")
_CONCERN = terms("reason issue topic problem question request purpose matter concern complaint")
_NEGATION = re.compile(
    r"\b(?:no|not|never|don't|didn't|doesn't|without|cannot|can't)\b", re.IGNORECASE
)
_FREE_TEXT = terms("query question text message reason topic request note content")
_SHOWN = 0.6  # share of a field's words that a sentence must have
_DEEPEST = 16


class _Absent:
    """The text does not show a value."""


_ABSENT: Final = _Absent()


@dataclass(frozen=True)
class SchemaFiller:
    """Fills one schema from one text.

    With `as_spoken` the text is one request to a tool: it stands for a free-text field as a whole,
    and its numbers need not be named.
    """

    root: Json
    text: str
    as_spoken: bool = False

    def fill(self) -> Any:
        """A value of the schema's shape."""
        found = self._value(self.root, "", 0)
        return plain_value(self.root, self.root) if found is _ABSENT else found

    def _value(self, schema: Json, name: str, depth: int) -> Any:
        schema = resolved(schema, self.root)
        if depth > _DEEPEST:
            return _ABSENT
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._choice(schema["enum"])
        if forms := variants(schema):
            found = (self._value(form, name, depth + 1) for form in forms)
            return next((value for value in found if value is not _ABSENT), _ABSENT)
        return self._simple(schema, name, depth)

    def _simple(self, schema: Json, name: str, depth: int) -> Any:
        about = terms(re.sub(r"[_-]", " ", name))
        finders: dict[str, Callable[[], Any]] = {
            "object": lambda: self._object(schema, depth),
            "array": lambda: self._array(schema, name, depth),
            "integer": lambda: self._number(schema, about),
            "number": lambda: self._number(schema, about),
            "boolean": lambda: self._truth(about),
            "string": lambda: self._string(schema, about),
        }
        find = finders.get(kind(schema))
        return find() if find else _ABSENT

    def _object(self, schema: Json, depth: int) -> Json:
        filled = {}
        for name, part in schema.get("properties", {}).items():
            value = self._value(part, name, depth + 1)
            if value is not _ABSENT:
                filled[name] = value
            elif name in schema.get("required", ()):
                filled[name] = plain_value(part, self.root, depth + 1)
        return filled

    def _array(self, schema: Json, name: str, depth: int) -> Any:
        least = schema.get("minItems", 0)
        value = self._value(schema.get("items", {}), name, depth + 1) if least else _ABSENT
        return _ABSENT if value is _ABSENT else [value] * least

    def _number(self, schema: Json, about: frozenset[str]) -> Any:
        whole = kind(schema) == "integer"
        for sentence in sentences(self.text):
            own = terms(sentence)
            if not self.as_spoken and not any(best_likeness(term, own) for term in about):
                continue
            if (value := _fitting(numbers(sentence), schema, whole=whole)) is not _ABSENT:
                return value
        return _fitting(amounts(self.text), schema, whole=whole) if about & _MONEY else _ABSENT

    def _truth(self, about: frozenset[str]) -> Any:
        best = self._telling(about)
        return not _NEGATION.search(best) if best else _ABSENT

    def _choice(self, options: Sequence[Any]) -> Any:
        """The option the text names: the one most of whose words it has."""
        said = terms(self.text)

        def share(option: Any) -> float:
            own = terms(re.sub(r"[_-]", " ", str(option)))
            return sum(best_likeness(term, said) for term in own) / max(1, len(own))

        best = max(options, key=share)
        return best if share(best) >= _SHOWN else _ABSENT

    def _string(self, schema: Json, about: frozenset[str]) -> Any:
        value = self._found_text(schema, about)
        if not value or len(value) < schema.get("minLength", 0):
            return _ABSENT
        return value[: schema.get("maxLength")]

    def _found_text(self, schema: Json, about: frozenset[str]) -> str:
        for word, shape in _SHAPES:
            if word in about or schema.get("format") == word:
                match = shape.search(self.text)
                return match[0] if match else self._when(schema, about)
        lines = transcript([self.text])
        if terms("summary") <= about:
            return summarise(lines) if lines else shortened(self.text)
        if "name" in about:
            return caller_name(self.text, [line.text for line in lines if line.by_caller])
        if self.as_spoken and about & _FREE_TEXT:
            return self.text.strip()
        return self._when(schema, about) or self._stated(about) or _concern(lines, about)

    def _when(self, schema: Json, about: frozenset[str]) -> str:
        """The day or time as it was said, where no format asks for another form."""
        if "format" in schema or not about & (_DAY | _TIME):
            return ""
        parts = [day(self.text)] if about & _DAY else []
        return " ".join(filter(None, [*parts, time(self.text) if about & _TIME else ""]))

    def _stated(self, about: frozenset[str]) -> str:
        """The value of a `name: value` line, or the sentence that has the words of the name."""
        for sentence in sentences(self.text):
            key, _, value = sentence.partition(":")
            if value.strip() and about and terms(key) == about:
                return value.strip()
        return self._telling(about)

    def _telling(self, about: frozenset[str]) -> str:
        """The sentence that has most of the words; empty if none has enough."""
        said = [Statement(sentence) for sentence in sentences(self.text)]
        shares = coverage(about, said)
        at = max(range(len(said)), key=shares.__getitem__, default=None)
        return "" if at is None or shares[at] < _SHOWN else _SPEAKER.sub("", said[at].text)


def _fitting(values: Iterable[float], schema: Json, *, whole: bool) -> Any:
    """The first of some numbers that the schema takes."""
    for value in values:
        if is_in_range(value, schema) and (value.is_integer() or not whole):
            return int(value) if whole else value
    return _ABSENT


def _concern(lines: Sequence[Utterance], about: frozenset[str]) -> str:
    """What the caller raised first, for a field that asks what the call was about."""
    raised = exchanges(lines) if about & _CONCERN else []
    return raised[0][0] if raised else ""
