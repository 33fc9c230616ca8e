"""Names of people: after words that announce one, spelled out, or known as names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from src.services.common_names import FAMILY, FAMILY_AFTER_GIVEN, GIVEN
from src.services.common_words import COMMON
from src.services.number_words import ORDINALS, TEENS, TENS, UNITS
from src.services.spans import Span
from src.services.spoken_forms import Word, written_form
from src.services.word_lists import phrases_of, words_of

_MAX_NAME = 4
_MAX_TERM = 6

_STRONG = phrases_of(
    "my name is|my name's|name is|name's|full name is|first name|first name is|last name|surname|"
    "last name is|surname is|family name|family name is|maiden name|maiden name is|married name|middle name|the name|the name is|under the name|"
    "under the name of|patient's name is|patient name is|on behalf of|behalf of my mother|"
    "you can call me|call me|calls me|change it to|just call me|put it down as|mera naam|naam|patient ka naam|ka naam|"
    "मेरा नाम|नाम|اسمي|اسمي هو|الاسم|السيد|السيدة|الدكتور|الدكتورة"
)
"""Whatever follows and is no everyday word is a name."""
_TITLES = words_of("mr mrs ms dr mister missus prof professor doctor")
_WEAK = phrases_of(
    "i'm|i am|this is|it's|it is|that's|call me|ask for|speak to|speak with|speaking to|husband|"
    "wife|mother|father|son|daughter|brother|sister|friend|dad|mom|mum|main|मैं|أنا|انا|is|hello|hi|"
    "hey|aunt|uncle|neighbor|patient|here's|called|named|it for|nurse|"
    "colleague|boss|client|boyfriend|girlfriend|fiance|partner|grandmother|grandfather|cousin|nephew|"
    "niece|aap|unka naam|मेरे पति|मेरी पत्नी|زوجي|زوجتي|ابني|ابنتي|معك"
)
"""A name follows only if it looks like one, or if what comes after says so."""
_SAID_AFTER = phrases_of(
    "speaking|calling|here|bol raha|bol rahi|baat kar|bolta|bolti|बोल रहा|बोल रही|बात कर|on the line|se baat|ji se|"
    "from accounts|من عيادة"
)
_SPELLERS = words_of(
    "spell spelled spelling spelt spells name naam surname write letters नाम it's that's is firstname"
)
_PLACES_BEGIN = words_of(
    "abu addis andhra baton buenos burger buckingham cape costa coral delhi dodge el fort golden grand ho "
    "hong jammu johns kuala las long los madhya mayo mount navi niagara novo palm palo porto puerto quezon "
    "ras rio saint salt san santa sao saudi sierra silicon simon sri tamil tel trader umm uttar walt wells"
)
"""First words of frequent names of places and firms that two capitals would make a person's."""
_KNOWN = GIVEN | FAMILY
_PARTICLES = words_of("de da del van von der bin ibn al el la le بن بنت بني بنو أبو ابو ذي عبد")
_NUMBERS = frozenset((*UNITS, *TEENS, *TENS, *ORDINALS))


def allowed_places(words: Sequence[Word], allowed: Set[str]) -> set[int]:
    """Places of the words that belong to an allowed term; `allowed` is as `allow_list` gives it."""
    longest = max((term.count(" ") + 1 for term in allowed), default=0)
    places: set[int] = set()
    for at in range(len(words)):
        for size in range(1, min(longest, _MAX_TERM, len(words) - at) + 1):
            if " ".join(w.text for w in words[at : at + size]) in allowed:
                places.update(range(at, at + size))
    return places


def allow_list(terms: Iterable[str]) -> frozenset[str]:
    """Terms in the form they are compared in: lower case, words apart, without punctuation."""
    return frozenset(" ".join(w.text for w in written_form(term)) for term in terms)


def find_names(text: str, words: Sequence[Word], allowed: Set[int]) -> list[Span]:
    """Names of people; words at the places `allowed` are none whatever stands before them."""
    finder = _Finder(text, words, allowed)
    found: list[tuple[int, int]] = []
    for at in range(len(words)):
        place = (
            finder.announced(at) or finder.said_after(at) or finder.known(at) or finder.capitals(at)
        )
        if place is not None:
            found.append(place)
    found += finder.spelled()
    return [Span(words[a].start, words[b - 1].end, "NAME") for a, b in found]


class _Finder:
    """Looks at one place of a text at a time."""

    def __init__(self, text: str, words: Sequence[Word], allowed: Set[int]) -> None:
        self._text, self._words, self._allowed = text, words, allowed
        capitals = sum(w.raw[:1].isupper() for w in words)
        self._cased = capitals > 0
        # Capitals tell names from other words only where most words have none.
        self._telling = 2 * capitals <= len(words)

    def announced(self, at: int) -> tuple[int, int] | None:
        """A name that ends an announcement, or follows one."""
        if not self._could_be_name(at):
            return None
        if self._after(at, _STRONG) or self._word(at - 1) in _TITLES:
            return at, self._end(at)
        if self._after(at, _WEAK) and self._looks_like_name(at):
            return at, self._end(at)
        return None

    def said_after(self, at: int) -> tuple[int, int] | None:
        """As in "Priya natarajan speaking"."""
        if not self._could_be_name(at) or not (at == 0 or self._after(at, _WEAK)):
            return None
        end = self._end(at)
        follows = any(
            tuple(self._word(end + i) for i in range(len(said))) == said for said in _SAID_AFTER
        )
        return (at, end) if follows else None

    def known(self, at: int) -> tuple[int, int] | None:
        """A frequent given name, with the family name after it."""
        word = self._words[at]
        if not self._is_known(at) or (self._cased and not word.raw[:1].isupper()):
            return None
        following = at + 1 < len(self._words) and (
            self._could_be_name(at + 1) or self._completes(at + 1)
        )
        if not following or not self._adjoins(at + 1) or word.text.endswith("'s"):
            return at, at + 1
        if self._completes(at + 1) or self._looks_like_name(at + 1):
            return at, self._end(at)
        # In plain text nothing tells a family name from another word; everyday ones are ruled out.
        return at, at + 1 if self._cased else at + 2

    def capitals(self, at: int) -> tuple[int, int] | None:
        """Two unknown words with capitals within a sentence: "connect me to Sudiksha Sura"."""
        if not self._telling or not self._is_capital(at) or not self._is_capital(at + 1):
            return None
        if at == 0 or not self._in_sentence(at) or not self._adjoins(at + 1):
            return None
        end = self._end(at)
        beyond = self._words[end].raw if end < len(self._words) else ""
        # "Acme Health Services": an everyday word with a capital makes it something's name.
        something = beyond[:1].isupper() and self._adjoins(end) and len(beyond) > 1
        return None if something or self._word(at) in _PLACES_BEGIN else (at, end)

    def _is_capital(self, at: int) -> bool:
        if at >= len(self._words) or not self._could_be_name(at):
            return False
        raw = self._words[at].raw
        return raw[:1].isupper() and not raw.isupper() and len(raw) > 2

    def _is_known(self, at: int) -> bool:
        base = self._word(at).removesuffix("'s")
        if base not in _KNOWN or base in COMMON or not self._is_free(at):
            return False
        return not (self._word(at - 1) in ("as", "for", "in") and self._spells(at))

    def spelled(self) -> list[tuple[int, int]]:
        """Three letters or more, one by one, near a word for spelling."""
        found, at, words = [], 0, self._words
        while at < len(words):
            end = at
            while end < len(words) and words[end].kind == "letters":
                end += 1
            if end - at >= 3 and self._is_spelling(at, end):
                found.append((at, end))
            at = max(end, at + 1)
        return found

    def _is_spelling(self, at: int, end: int) -> bool:
        beside = [self._word(i) for i in (*range(at - 4, at), *range(end, end + 7))]
        if any(w in ("spell", "spelled", "spelling", "spelt", "spells") for w in beside):
            return True
        return any(w in _SPELLERS for w in beside[:4]) and end - at >= 4

    def _word(self, at: int) -> str:
        return self._words[at].text if 0 <= at < len(self._words) else ""

    def _after(self, at: int, phrases: Set[tuple[str, ...]]) -> bool:
        """Whether one of the phrases ends right before `at`, but for a filler."""
        end = at
        while end > 0 and self._word(end - 1) in (
            "uh",
            "um",
            "er",
            "is",
            "it's",
            "sure",
            "haan",
            "my",
        ):
            end -= 1
        return any(
            tuple(self._word(e - n + i) for i in range(n)) in phrases
            for e in {at, end}
            for n in range(1, min(4, e) + 1)
        )

    def _is_free(self, at: int) -> bool:
        return self._words[at].kind == "word" and at not in self._allowed

    def _could_be_name(self, at: int) -> bool:
        word = self._words[at]
        base = word.text.removesuffix("'s")
        return (
            self._is_free(at)
            and base not in COMMON
            and base not in _NUMBERS
            and base not in _TITLES
            and len(base) > 1
        )

    def _looks_like_name(self, at: int) -> bool:
        word = self._words[at]
        if word.text in GIVEN or word.text in FAMILY:
            return True
        return (
            word.raw[:1].isupper() and not word.raw.isupper() and at > 0 and self._in_sentence(at)
        )

    def _in_sentence(self, at: int) -> bool:
        gap = self._text[self._words[at - 1].end : self._words[at].start]
        return not any(c in ".!?\n" for c in gap)

    def _end(self, at: int) -> int:
        """The place after the last word of the name that begins at `at`."""
        end = at + 1
        while end < len(self._words) and end - at < _MAX_NAME and self._adjoins(end):
            if not (self._could_be_name(end) or self._completes(end)):
                break
            if self._falls(at, end):
                break
            end += 1
        return end

    def _falls(self, at: int, end: int) -> bool:
        """Whether a name in capitals ends because a word without one follows."""
        capital = self._cased and self._words[at].raw[:1].isupper()
        return capital and self._words[end].raw[:1].islower() and self._word(end) not in _PARTICLES

    def _completes(self, at: int) -> bool:
        word = self._word(at)
        return word in _PARTICLES or (word in FAMILY_AFTER_GIVEN and self._word(at - 1) in GIVEN)

    def _adjoins(self, at: int) -> bool:
        return self._text[self._words[at - 1].end : self._words[at].start] in (" ", "-", " - ")

    def _spells(self, at: int) -> bool:
        return any(self._words[i].kind == "letters" for i in range(max(0, at - 3), at))
