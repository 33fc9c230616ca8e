"""Makes the labelled set from its handwritten sentences: `python -m bench._phi_set`."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

from bench._phi_values import DATA, Values

HARMLESS = "HARMLESS"
_SLOT = re.compile(r"\{([A-Z_0-9]+(?:#\w+)?)\}")
_PART = re.compile(r"#(\d)of(\d)")
_PREFIX = re.compile(r"^(hi|dv|ar): ")
_LANGUAGES = {"hi": "hi", "dv": "hi", "ar": "ar", "en": "en"}
_CLASS_OF = {
    "FIRSTNAME": "NAME",
    "SURNAME": "NAME",
    "SPELLED": "NAME",
    "IBAN": "ACCOUNT",
    "VIN": "PLATE",
    "IMEI": "DEVICE",
    "MAC": "DEVICE",
    "ADDRESS_IN": "ADDRESS",
    "ADDRESS_AR": "ADDRESS",
    "ZIP5": "POSTCODE",
    "ZIP9": "POSTCODE",
    "PIN": "POSTCODE",
    "DOB": "DATE_OF_BIRTH",
    "DAYMONTH": "DATE_OF_BIRTH",
    "NHS": "NATIONAL_ID",
    **dict.fromkeys(("NINO", "EMIRATES", "VOTER", "SIN", "IQAMA", "NPI"), "NATIONAL_ID"),
}
# What a recogniser without smart formatting leaves out.
_UNPRINTED = re.compile(r"[,.?!;:()+]|(?<=\w)-(?=\w)|-")


@dataclass(frozen=True)
class Utterance:
    """One labelled utterance; spans are character offsets into `text`."""

    id: str
    group: str
    split: str
    language: str
    form: str
    text: str
    before: list[str]
    spans: list[tuple[int, int, str]]


def load(split: str) -> list[Utterance]:
    """One half of the set: `build` or `held_out`."""
    lines = (DATA / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
    return [_utterance(json.loads(line)) for line in lines]


def _utterance(data: dict[str, Any]) -> Utterance:
    spans = [(a, b, c) for a, b, c in data.pop("spans")]
    return Utterance(**data, spans=spans)


def make() -> Iterator[Utterance]:
    """Every sentence twice: as a plain recogniser prints it, and with smart formatting."""
    for group, sentences in _sentences():
        for rank, sentence in enumerate(sorted(sentences, key=_rank)):
            for form in ("plain", "formatted"):
                yield _render(group, sentence, form, half=rank % 2)


def _rank(sentence: str) -> str:
    return hashlib.sha256(sentence.encode()).hexdigest()


def _sentences() -> Iterator[tuple[str, list[str]]]:
    """Classes with their sentences, file by file: a new file leaves the halves of the others alone."""
    for path in sorted(DATA.glob("*.txt")):
        groups: dict[str, list[str]] = {}
        group = HARMLESS
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("["):
                group = line.strip("[]")
            elif line and not line.startswith("#"):
                groups.setdefault(group, []).append(line)
        yield from groups.items()


def _render(group: str, sentence: str, form: str, *, half: int) -> Utterance:
    prefix = _PREFIX.match(sentence)
    language = prefix[1] if prefix else "en"
    body = sentence[prefix.end() :] if prefix else sentence
    key = f"{_rank(sentence)[:10]}-{form}"
    rng = Random(key)  # noqa: S311 - reproducible data, no secret
    typed = 0.5 if form == "formatted" else 0.0
    values = Values(rng, language=language, typed=typed, half=half)
    turns = [_fill(turn.strip(), values) for turn in _with_parts(body, values)]
    if form == "plain":
        turns = [_plain(text, spans) for text, spans in turns]
    text, spans = turns[-1]
    return Utterance(
        id=f"{group.lower()}-{key}",
        group=group,
        split=("build", "held_out")[half],
        language=_LANGUAGES[language],
        form=form,
        text=text,
        before=[before for before, _ in turns[:-1]],
        spans=spans,
    )


def _with_parts(body: str, values: Values) -> list[str]:
    """The turns, with the parts of one identifier filled in from one value."""
    slots = [slot for slot in _SLOT.findall(body) if _PART.search(slot)]
    if slots:
        said = values.parts(slots[0].partition("#")[0], len(slots))
        for slot, part in zip(slots, said, strict=True):
            body = body.replace(f"{{{slot}}}", f"{{{slot.partition('#')[0]}={part}}}")
    return body.split("//")


def _fill(turn: str, values: Values) -> tuple[str, list[tuple[int, int, str]]]:
    text, spans, at = "", [], 0
    for slot in re.finditer(r"\{([A-Z_0-9]+)(#last4)?(?:=([^}]*))?\}", turn):
        text += turn[at : slot.start()]
        value = slot[3] or values.parts(slot[1] + (slot[2] or ""), 1)[0]
        if value.startswith("the "):
            text, value = f"{text}the ", value.removeprefix("the ")
        elif not text:
            value = value[0].upper() + value[1:]
        spans.append((len(text), len(text) + len(value), _CLASS_OF.get(slot[1], slot[1])))
        text, at = text + value, slot.end()
    return text + turn[at:], spans


def _plain(text: str, spans: list[tuple[int, int, str]]) -> tuple[str, list[tuple[int, int, str]]]:
    """Lower case, no punctuation, single blanks; spans move along."""
    kept, places = "", []
    spaced = _UNPRINTED.sub(lambda m: " " * len(m[0]), text)
    for c in spaced:
        blank = c == " " and (not kept or kept.endswith(" "))
        places.append(len(kept))
        kept += "" if blank else c.lower()
    places.append(len(kept))
    kept = kept.rstrip()
    moved = []
    for start, end, label in spans:
        a, b = places[start], min(places[end], len(kept))
        piece = kept[a:b]
        a += len(piece) - len(piece.lstrip())
        b -= len(piece) - len(piece.rstrip())
        moved.append((a, b, label))
    return kept, moved


def main() -> int:
    """Write both halves."""
    made = list(make())
    for split in ("build", "held_out"):
        lines = [json.dumps(asdict(u), ensure_ascii=False) + "\n" for u in made if u.split == split]
        (DATA / f"{split}.jsonl").write_text("".join(lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
