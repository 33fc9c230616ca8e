"""What Deepgram's `/v1/listen` is asked with and answers."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from local.providers.control import Json
from local.providers.errors import bad_request
from local.providers.phrases import Phrase

MIN_PAUSE_MS = 300  # the recogniser takes whole phrases: a shorter pause would cut inside them
_RATES = (8_000, 16_000, 24_000, 32_000, 44_100, 48_000)
_CONFIDENCE = 0.9


@dataclass(frozen=True)
class ListenOptions:
    """What a client asks for."""

    rate: int
    language: str
    pause_ms: int
    endpointing: bool
    gap_ms: int | None
    interim_results: bool
    vad_events: bool
    punctuated: bool
    detect_language: bool
    query: str
    """All of it, to match scripts against."""

    @classmethod
    def parse(cls, query: Mapping[str, str], *, rate: int | None = None) -> ListenOptions:
        """Read the query of a request; `rate` is what a file says of itself.

        Raises:
            ProviderError: a value that cannot be served.
        """
        if query.get("encoding", "linear16") != "linear16" or query.get("channels", "1") != "1":
            raise bad_request("only one channel of linear16 is supported", "bad_request")
        endpointing = query.get("endpointing", "10")
        return cls(
            rate=rate or _number(query, "sample_rate", allowed=_RATES) or 16_000,
            language=query.get("language", "en"),
            pause_ms=max(MIN_PAUSE_MS, int(endpointing) if endpointing.isdigit() else 0),
            endpointing=endpointing.lower() != "false",
            gap_ms=_number(query, "utterance_end_ms"),
            interim_results=_flag(query, "interim_results"),
            vad_events=_flag(query, "vad_events"),
            punctuated=_flag(query, "punctuate") or _flag(query, "smart_format"),
            detect_language=_flag(query, "detect_language"),
            query="&".join(f"{name}={value}" for name, value in query.items()),
        )


def results(options: ListenOptions, phrase: Phrase, text: str, language: str | None) -> Json:
    """A `Results` message, still without its flags."""
    return {
        "type": "Results",
        "channel_index": [0, 1],
        "start": phrase.starts_s,
        "duration": round(phrase.ends_s - phrase.starts_s, 3),
        "channel": {"alternatives": [_alternative(options, phrase, text, language)]},
    }


def batch_results(options: ListenOptions, phrase: Phrase, text: str, language: str | None) -> Json:
    """The answer for a whole file."""
    channel: Json = {"alternatives": [_alternative(options, phrase, text, language)]}
    if options.detect_language:
        channel |= {"detected_language": language or "en", "language_confidence": _CONFIDENCE}
    metadata = {
        "request_id": str(uuid.uuid4()),
        "created": datetime.now(UTC).isoformat(),
        "duration": phrase.ends_s,
        "channels": 1,
    }
    return {"metadata": metadata, "results": {"channels": [channel]}}


def _alternative(options: ListenOptions, phrase: Phrase, text: str, language: str | None) -> Json:
    spoken = text.split()
    share = (phrase.ends_s - phrase.starts_s) / max(1, len(spoken))
    words = [
        {
            "word": _plain(word),
            "start": round(phrase.starts_s + at * share, 3),
            "end": round(phrase.starts_s + (at + 1) * share, 3),
            "confidence": _CONFIDENCE,
        }
        | ({"punctuated_word": word} if options.punctuated else {})
        for at, word in enumerate(spoken)
    ]
    found: Json = {
        "transcript": text if options.punctuated else " ".join(_plain(word) for word in spoken),
        "confidence": _CONFIDENCE if text else 0.0,
        "words": words,
    }
    if language or options.language == "multi":
        found["languages"] = [language or "en"]
    return found


def _plain(word: str) -> str:
    return re.sub(r"^\W+|\W+$", "", word).lower()


def _flag(query: Mapping[str, str], name: str) -> bool:
    return query.get(name, "").lower() == "true"


def _number(
    query: Mapping[str, str], name: str, *, allowed: tuple[int, ...] | None = None
) -> int | None:
    text = query.get(name)
    if text is None:
        return None
    if not text.isdigit() or (allowed and int(text) not in allowed):
        raise bad_request(f"{name} cannot be {text}", "bad_request")
    return int(text)
