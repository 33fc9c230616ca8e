"""The ways people say numbers, codes, addresses of mail and web, and dates."""

from __future__ import annotations

from collections.abc import Callable
from random import Random


def listed(words: str) -> list[str]:
    """Words in order."""
    return words.split()


ONES = listed("zero one two three four five six seven eight nine")
_TEENS = listed("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
_TENS = listed("_ _ twenty thirty forty fifty sixty seventy eighty ninety")
_ORDINALS = listed(
    "_ first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)

_HINGLISH = listed("zero ek do teen char paanch chhe saat aath nau")
_HINGLISH_DAYS = listed(
    "_ ek do teen char paanch chhe saat aath nau das gyarah barah terah chaudah pandrah solah "
    "satrah atharah unnis bees ikkis bais teis chaubis pachis chabbis sattais attais"
)

_HINDI = listed("शून्य एक दो तीन चार पाँच छह सात आठ नौ")
_HINDI_DAYS = listed(
    "_ एक दो तीन चार पाँच छह सात आठ नौ दस ग्यारह बारह तेरह चौदह पंद्रह सोलह सत्रह अठारह उन्नीस बीस"
)

_ARABIC = listed("صفر واحد اثنين ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة")
_ARABIC_DAYS = listed("_ الأول الثاني الثالث الرابع الخامس السادس السابع الثامن التاسع العاشر")
_ARABIC_TENS_UNITS = listed("_ واحد اثنان ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة")
_AGES = {
    "hi": {90: "nabbe", 92: "bayanve", 93: "tiranve", 95: "pachanve", 100: "sau"},
    "dv": {90: "नब्बे", 91: "इक्यानवे", 92: "बानवे", 93: "तिरानवे", 95: "पंचानवे", 100: "सौ"},
    "ar": {90: "تسعون", 93: "ثلاثة وتسعون", 94: "أربعة وتسعون", 97: "سبعة وتسعون"},
}
_NATO = listed(
    "alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november "
    "oscar papa quebec romeo sierra tango uniform victor whiskey x-ray yankee zulu"
)

_AS_IN = {
    **dict(zip("abcdefghijklmnopqrstuvwxyz", _NATO, strict=True)),
    **dict(zip("adbmnsptk", listed("apple david boy mary nancy sam peter tom king"), strict=True)),
}


def spelled(rng: Random, name: str) -> str:
    """Letter by letter, sometimes with words for letters, sometimes with hyphens."""
    style = rng.choice(("plain", "plain", "hyphen", "as in"))
    letters = [c for c in name.lower() if c.isalpha()]
    if style == "hyphen":
        return "-".join(letters).upper()
    if style == "plain":
        return " ".join(letters)
    return " ".join(f"{c} as in {_AS_IN[c]}" if c in _AS_IN else c for c in letters)


class Speaker:
    """Chooses a way of saying for each identifier."""

    def __init__(self, rng: Random, language: str) -> None:
        self._rng, self._language = rng, language
        zero = rng.choice(("zero", "oh"))
        words = {"hi": _HINGLISH, "dv": _HINDI, "ar": _ARABIC}.get(language)
        if language == "hi" and rng.random() < 0.3:
            words = None  # many read numbers in English within Hindi
        self._words = words or [zero, *ONES[1:]]
        self._english = words is None

    def digits(self, digits: str, groups: tuple[int, ...]) -> str:
        """A number that is read out in groups."""
        styles = ["single", "single", "double", "comma", "filler", "spaced"]
        if self._english:
            styles += ["pairs", "mixed", "corrected"]
        if self._language in ("dv", "ar"):
            styles = ["single", "single", "native", "native", "spaced"]
        style = self._rng.choice(styles)
        cuts = _cut(digits, groups)
        if style == "native":
            return " ".join(self.native(cut) for cut in cuts)
        if style == "spaced":
            return " ".join(self.native(digits))
        said = [self._group(cut, style) for cut in cuts]
        if style == "corrected":
            at = self._rng.randrange(len(said))
            wrong = self._singles("".join(self._rng.choice("23456789") for _ in cuts[at]))
            sorry = self._rng.choice(("uh, no,", "sorry,", "no wait,", "I mean"))
            said[at] = f"{wrong}, {sorry} {said[at]}"
        joins = {"comma": ", ", "filler": self._rng.choice((" uh ", ", um, ", " and then "))}
        return joins.get(style, " ").join(said)

    def _group(self, cut: str, style: str) -> str:
        if style == "double":
            return self._doubles(cut)
        if style == "pairs" and len(cut) % 2 == 0:
            return " ".join(self._pair(cut[i : i + 2]) for i in range(0, len(cut), 2))
        if style == "mixed" and self._rng.random() < 0.5:
            return cut
        return self._singles(cut)

    def _singles(self, digits: str) -> str:
        return " ".join(self._words[int(d)] for d in digits)

    def _doubles(self, digits: str) -> str:
        said, i = [], 0
        while i < len(digits):
            run = next((n for n in (3, 2) if digits[i : i + n] == digits[i] * n), 1)
            lead = {3: "triple ", 2: "double ", 1: ""}[run]
            said.append(lead + self._words[int(digits[i])])
            i += run
        return " ".join(said)

    def _pair(self, pair: str) -> str:
        if pair[0] == "0":
            return f"oh {ONES[int(pair[1])]}" if pair != "00" else "double oh"
        return self.count(int(pair))

    def written(self, digits: str, groups: tuple[int, ...], join: str) -> str:
        """The number as smart formatting prints it."""
        cuts = _cut(digits, groups)
        if groups == (3, 3, 4) and self._language == "en" and self._rng.random() < 0.3:
            return f"({cuts[0]}) {cuts[1]}-{cuts[2]}"
        return self.native(self._rng.choice((join, join, " ", "")).join(cuts))

    def native(self, text: str) -> str:
        """In the digits of the script, where the speaker writes them."""
        zero = {"dv": 0x966, "ar": 0x660}.get(self._language)
        if zero is None or self._rng.random() < 0.3:
            return text
        return "".join(chr(zero + int(c)) if c.isdigit() else c for c in text)

    def code(self, code: str) -> str:
        """Letters and digits, one by one."""
        style = self._rng.choice(("plain", "plain", "plain", "for", "pairs"))
        said, i = [], 0
        while i < len(code):
            c = code[i]
            if c.isdigit():
                run = next((j for j in range(i, len(code)) if not code[j].isdigit()), len(code))
                said.append(self._group(code[i:run], style if self._english else "single"))
                i = run
                continue
            low = c.lower()
            lead = self._rng.choice((" as in ", " for "))
            said.append(f"{low}{lead}{_AS_IN[low]}" if style == "for" and i < 3 else low)
            i += 1
        text = " ".join(said)
        return text.upper() if style == "plain" and not any(c.isdigit() for c in code) else text

    def email(self, local: str, domain: str, *, words: list[str]) -> str:
        """As it is said: dots, underscores and the sign between in words."""
        at = " at the rate " if self._language == "hi" and self._rng.random() < 0.6 else " at "
        said = self._web(local)
        if local.startswith("".join(words)):
            said = f"{' '.join(words)} {self._web(local[len(''.join(words)) :])}".strip()
        elif self._rng.random() < 0.25:
            plain = "".join(c for c in local if c.isalpha())
            tail = self._web("".join(c for c in local if c.isdigit()))
            said = f"{' '.join(plain)} {tail}".strip()
        return said + at + self._web(domain)

    def url(self, url: str) -> str:
        """As it is said."""
        said = self._web(url)
        return said.replace("www", "w w w") if self._rng.random() < 0.3 else said

    def _web(self, text: str) -> str:
        said, number = [], ""
        names = {".": "dot", "_": "underscore", "-": self._rng.choice(("dash", "hyphen"))}
        word = ""
        for c in f"{text}\0":
            if c.isalpha():
                word += c
            if word and not c.isalpha():
                said.append(word)
                word = ""
            if c.isdigit():
                number += c
            elif number:
                said.append(self._web_number(number))
                number = ""
            if c in "._-/":
                said.append({**names, "/": "slash"}[c])
        return " ".join(said)

    def _web_number(self, number: str) -> str:
        if len(number) == 2 and number[0] != "0" and self._rng.random() < 0.5:
            return self.count(int(number))
        return self._rng.choice((number, " ".join(ONES[int(d)] for d in number)))

    def ip(self, octets: list[int]) -> str:
        """Four numbers with dots between."""
        style = self._rng.choice(("single", "grouped", "digits"))
        ways: dict[str, Callable[[int], str]] = {
            "single": lambda n: " ".join(ONES[int(d)] for d in str(n)),
            "digits": str,
            "grouped": self.house,
        }
        return " dot ".join(ways[style](n) for n in octets)

    def count(self, number: int) -> str:
        """A number below one thousand in words."""
        if number < 10:
            return ONES[number]
        if number < 20:
            return _TEENS[number - 10]
        if number < 100:
            tens, ones = divmod(number, 10)
            return _TENS[tens] + (f" {ONES[ones]}" if ones else "")
        hundreds, rest = divmod(number, 100)
        return f"{ONES[hundreds]} hundred" + (f" {self.count(rest)}" if rest else "")

    def house(self, number: int) -> str:
        """As house numbers are said: four eighty two, twelve oh five."""
        if number < 100:
            return self.count(number)
        high, low = divmod(number, 100)
        if low == 0:
            return f"{self.count(high)} hundred"
        return f"{self.count(high)} {self._pair(f'{low:02}')}"

    def day(self, day: int) -> str:
        """The day of a month in the language's own words or digits."""
        if self._language == "dv" and day <= 20 and self._rng.random() < 0.5:
            return _HINDI_DAYS[day]
        if self._language == "ar" and day <= 10 and self._rng.random() < 0.5:
            return f"{_ARABIC_DAYS[day]} من"
        return self.native(str(day))

    def date(self, day: int, month: str, number: int, year: int, *, numeric: bool) -> str:
        """A date said aloud."""
        ordinal = _ORDINALS[day] if day <= 20 else f"twenty {_ORDINALS[day - 20]}"
        said_year = f" {self.year(year)}" if year else ""
        if self._language == "hi":
            first = self._rng.choice((_HINGLISH_DAYS[day], self.count(day), str(day)))
            return f"{first} {month}{said_year}"
        forms = [
            f"{month} {ordinal}{said_year}",
            f"{month} {self.count(day)}{said_year}",
            f"the {ordinal} of {month}{said_year}",
            f"{ordinal} {month}{said_year}",
            f"{self.count(day)} {month}{said_year}",
        ]
        if numeric and year:
            short = self._pair(f"{year % 100:02}")
            forms += [
                f"{self._pair(f'{number:02}')} slash {self._pair(f'{day:02}')} slash {self.year(year)}",
                f"{self.count(number)} {self._pair(f'{day:02}')} {short}",
            ]
        return self._rng.choice(forms)

    def year(self, year: int) -> str:
        """Nineteen eighty one, two thousand and five, twenty nineteen."""
        if self._language != "hi" and self._rng.random() < 0.2:
            return str(year)
        century, rest = divmod(year, 100)
        if 2000 <= year < 2010:
            link = self._rng.choice((" and ", " "))
            return "two thousand" + (f"{link}{ONES[rest]}" if rest else "")
        if rest == 0:
            return f"{self.count(century)} hundred"
        return f"{self.count(century)} {self._pair(f'{rest:02}')}"

    def age(self, age: int) -> str:
        """An age above 89 in words."""
        words = _AGES.get(self._language, {})
        if self._language in ("ar", "dv"):
            return words.get(age) or self.native(str(age))
        if self._language == "hi":
            return words.get(age) or self._rng.choice((str(age), self.count(age)))
        if age >= 100:
            rest = f" and {self.count(age - 100)}" if age > 100 else ""
            return f"{self._rng.choice(('one', 'a'))} hundred{rest}"
        return self.count(age)


def _cut(digits: str, groups: tuple[int, ...]) -> list[str]:
    cuts, at = [], 0
    for size in groups:
        cuts.append(digits[at : at + size])
        at += size
    return [c for c in [*cuts, digits[at:]] if c]
