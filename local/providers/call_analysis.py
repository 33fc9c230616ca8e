"""The analysis of a call without a model: each part of it quoted from the transcript, or told by its words."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from local.providers.conversation import Utterance, transcript
from local.providers.json_schema import Json, plain_value
from local.providers.schema_filling import SchemaFiller
from local.providers.statements import sentences
from local.providers.summary import exchanges, shortened, summarise

_ASKED = frozenset({"summary", "outcome", "openItems", "optOut"})
_LANGUAGE = re.compile(r"\blanguage with the code '([\w-]+)'")
_SENTENCES = 4


def _words(*forms: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(forms)})\b", re.IGNORECASE)


_VOICEMAIL = _words(
    "leave (?:me |us )?a message",
    "after the (?:tone|beep)",
    "voice ?mail",
    "deje (?:un|su) mensaje",
)
_WRONG_PERSON = _words(
    "wrong number", "wrong person", "nobody (?:here )?by that name", "no such person",
    "n[uú]mero equivocado", "galat number", "rong number",
)  # fmt: skip
_OPT_OUT = _words(
    "stop calling", r"(?:don'?t|do not|never) (?:ever )?call (?:me|us|here|this number)? ?(?:again|any ?more)",
    "(?:take|remove) (?:me|my number) (?:off|from) (?:your|the) (?:\\w+ )?list",
    "no me (?:llame|llamen) m[aá]s", "deje(?:n)? de llamar\\w*", "call mat kar\\w*", "call karna band",
)  # fmt: skip
_LATER = _words(
    "call (?:me )?(?:back )?(?:later|tomorrow|another time|next week|in the (?:morning|evening))",
    "(?:not|isn'?t) a good time", "(?:i am|i'm) (?:busy|driving|in a meeting)",
    "ll[aá]me(?:me)? (?:m[aá]s tarde|ma[nñ]ana)", "baad mein call", "kal call kar\\w*",
)  # fmt: skip
_HANDED_OVER = _words(
    "(?:transfer|connect)(?:ring|ing)? you", "put(?:ting)? you through", "hand(?:ing)? you over",
    "le (?:paso|transfiero|comunico)",
)  # fmt: skip
_DECLINED = _words(
    "not interested", "no,? thank(?:s| you)", "no me interesa", "no gracias", "nahi chahiye"
)
_UNKNOWING = _words(
    "(?:do not|don't) have that information", "(?:do not|don't) know", "cannot help", "no lo s[eé]"
)
_PROMISE = _words(
    "(?:i|we)(?:'ll| will| am going to| are going to)(?! (?:be happy|be glad|help|not)\\b)",
    "(?:someone|somebody|a (?:colleague|technician|specialist)|(?:our|the) \\w+)(?:'ll| will)",
    "you(?:'ll| will) (?:get|receive|hear)", "technician comes",
    "(?:le|te|lo|la) (?:llamar|enviar|mandar|avisar)(?:é|emos|á|án)",
    "(?:bhej|bhejen|karen|kar) ?(?:enge|denge|dunga|dungi|unga|ge)",
)  # fmt: skip
_PROMISE_HINDI = re.compile(r"(?:भेजेंगे|भेजूँगा|भेजूंगा|करेंगे|कर देंगे|बताएंगे)")


def is_wanted(schema: Json) -> bool:
    """Whether a schema is that of the analysis of a call."""
    return _ASKED.issubset(schema.get("properties", {}))


def analysis(instructions: str, text: str, schema: Json) -> Json:
    """An object of the schema, from a transcript or from the analyses of a call's parts."""
    language = found[1] if (found := _LANGUAGE.search(instructions)) else "en"
    lines = transcript([text])
    answer = SchemaFiller(schema, text).fill()
    if parts := _parts(text):
        answer |= _joined(parts, schema)
    else:
        answer |= _of_lines(lines, language) if lines else {"summary": shortened(text)}
    if "summaryEn" in schema["properties"]:
        answer["summaryEn"] = summarise(lines) if lines else answer["summary"]
    return dict(answer)


def _of_lines(lines: Sequence[Utterance], language: str) -> Json:
    return {
        "summary": summarise(lines, language),
        "outcome": _outcome(lines),
        "openItems": _promises(lines),
        "optOut": _heard(_OPT_OUT, lines, by_caller=True),
    }


def _outcome(lines: Sequence[Utterance]) -> str:
    for pattern, by_caller, outcome in (
        (_VOICEMAIL, True, "voicemail"),
        (_WRONG_PERSON, True, "wrong_person"),
        (_OPT_OUT, True, "declined"),
        (_LATER, True, "callback"),
        (_HANDED_OVER, False, "transferred"),
        (_DECLINED, True, "declined"),
    ):
        if _heard(pattern, lines, by_caller=by_caller):
            return outcome
    if _promises(lines):
        return "follow_up"
    raised = exchanges(lines)
    if not raised:
        return "unclear"
    answer = raised[-1][1]
    return "resolved" if answer and not _UNKNOWING.search(answer) else "unresolved"


def _heard(pattern: re.Pattern[str], lines: Sequence[Utterance], *, by_caller: bool) -> bool:
    return any(pattern.search(line.text) for line in lines if line.by_caller == by_caller)


def _promises(lines: Sequence[Utterance]) -> list[str]:
    said = [part for line in lines if not line.by_caller for part in sentences(line.text)]
    return [
        part
        for part in dict.fromkeys(said)
        if not part.endswith("?") and (_PROMISE.search(part) or _PROMISE_HINDI.search(part))
    ]


def _parts(text: str) -> list[Json]:
    """The analyses of parts, one a line; none if the text is something else."""
    try:
        parts = [json.loads(line) for line in text.splitlines()]
    except ValueError:
        return []
    return parts if all(isinstance(part, dict) and "summary" in part for part in parts) else []


def _joined(parts: Sequence[Json], schema: Json) -> Json:
    outcomes = [part["outcome"] for part in parts if part.get("outcome") != "unclear"]
    items = [item for part in parts for item in part.get("openItems", ())]
    joined: Json = {
        "summary": _joined_summary([part["summary"] for part in parts]),
        "outcome": outcomes[-1] if outcomes else "unclear",
        "openItems": list(dict.fromkeys(items)),
        "optOut": any(part.get("optOut") for part in parts),
    }
    if wanted := schema["properties"].get("fields"):
        told = [part.get("fields") or {} for part in parts]
        found = {key: value for one in told for key, value in one.items() if value is not None}
        joined["fields"] = plain_value(wanted, schema) | found
    return joined


def _joined_summary(summaries: Sequence[str]) -> str:
    """The beginnings of the first summary, the last, and some between: four sentences at most."""
    last = len(summaries) - 1
    chosen = sorted({round(last * n / (_SENTENCES - 1)) for n in range(_SENTENCES)})
    each = _SENTENCES // len(chosen)
    return " ".join(shortened(summaries[at], each) for at in chosen)
