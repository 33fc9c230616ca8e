"""The language of a written text, by py3langid and a list of Hindi words in Latin letters."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Sequence

from py3langid import langid
from typing_extensions import override

from src.services.language import LanguageIdentifier, base, is_short

_MAX_CHARS = 1000
"""More does not make it surer."""
_HINDI_SHARE = 0.4
"""Of a text's words; below it the text is in another language with some Hindi words in it."""
_HINDI_PROBABILITY = 0.9
_WORD = re.compile(r"[^\W\d_]+")
# Only words that English, Spanish, French, Portuguese and Italian do not have.
_HINDI = frozenset(
    _WORD.findall(
        "hai hain nahi nahin kya kyun kyunki mujhe mujhko mera meri mere tera teri aap aapka aapki aapke"
        " tum tumhara tumhari humara hamara hamari kaise kaisa kaisi kahan kaun kitna kitne kitni kal aaj"
        " abhi subah shaam raat baje chahiye chahie karna karne karte karti karta karo karein karenge"
        " kijiye dijiye batao bataiye bataye raha rahe rahi hoon hun tha thi gaya gayi sakta sakte sakti"
        " milna jana jaana aana bahut bohot accha achha theek thik haan mein wala wali naam baat bolo"
        " bolna dhanyavaad dhanyawad shukriya namaste liye saath bhai toh woh yeh kuch koi sab ka ki ke ko"
        " hota hoti hote dono bhi aur lekin phir wahan yahan"
    )
)


class Py3LangidIdentifier(LanguageIdentifier):
    """Chooses among the given languages only, so that a short text is not taken for a rare one.

    The model takes about a second to read, once per process: `load` does it ahead, before a user
    waits, and processes forked afterwards share it.
    """

    def load(self) -> None:
        """Read the model; further calls do nothing."""
        _rank()

    @override
    def identify(self, text: str, languages: Sequence[str]) -> tuple[str, float] | None:
        text = text[:_MAX_CHARS]
        if is_short(text):
            return None
        by_base = {base(language): language for language in reversed(languages)}
        if "hi" in by_base and _is_romanised_hindi(text):
            return by_base["hi"], _HINDI_PROBABILITY
        scores = {code: score for code, score in _rank()(text) if code in by_base}
        if not scores:
            return None
        best = max(scores, key=lambda code: scores[code])
        # As the model normalises all of its languages, though over these only: scores are logarithms
        # of likelihoods, which grow with the text.
        scale = math.sqrt(len(text.encode()))
        total = sum(math.exp((score - scores[best]) / scale) for score in scores.values())
        return by_base[best], 1.0 / total


@functools.cache
def _rank() -> Callable[[str], list[tuple[str, float]]]:
    model = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE)
    rank: Callable[[str], list[tuple[str, float]]] = model.rank
    return rank


def _is_romanised_hindi(text: str) -> bool:
    words = _WORD.findall(text.casefold())
    hindi = sum(word in _HINDI for word in words)
    return hindi >= 2 and hindi >= _HINDI_SHARE * len(words)
