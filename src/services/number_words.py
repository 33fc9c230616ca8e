"""Number words of English, Hindi (in both scripts) and Arabic, by what they do in a number."""

from __future__ import annotations

from src.services.word_lists import words_of


def _numbered(first: int, words: str) -> dict[str, int]:
    return {
        word: first + place
        for place, group in enumerate(words.split())
        for word in group.split("|")
        if word != "_"
    }


ZEROS_IN_NUMBERS = frozenset({"oh", "o"})
"""Zero beside other digits, something else elsewhere."""

UNITS = {
    **_numbered(0, "zero|nought|naught one two three four five six seven eight nine"),
    **_numbered(
        0,
        "shunya|shoonya ek do teen|tin char|chaar panch|paanch|paach chhe|chhah|cheh saat aath nau",
    ),
    **_numbered(0, "शून्य|ज़ीरो|जीरो|सिफर एक दो तीन चार पाँच|पांच छह|छः|छे सात आठ नौ"),
    **_numbered(
        0,
        "صفر واحد|واحدة اثنان|اثنين|إثنان|إثنين|اتنين ثلاثة|ثلاث|تلاتة أربعة|اربعة|أربع|اربع "
        "خمسة|خمس ستة|ست سبعة|سبع ثمانية|ثماني|تمانية تسعة|تسع",
    ),
    **_numbered(
        0,
        "sifr wahid ithnan|ithnain thalatha arbaa|arbaah khamsa sitta sabaa|sabaah thamania|thamaniya tisaa|tisah",
    ),
}

TEENS = {
    **_numbered(
        10,
        "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
    ),
    **_numbered(
        10,
        "das|dus gyarah|gyara barah|bara terah chaudah|choudah pandrah|pandra solah satrah|satra "
        "atharah|athara unnis|unnees bees|bis ikkis|ikkees bais|baees teis|teees chaubis|chaubees "
        "pachis|pachees chabbis|chhabbis sattais attais|atthais untis|unatis tees ikattis|ikatis",
    ),
    **_numbered(
        10,
        "दस ग्यारह बारह तेरह चौदह पंद्रह|पन्द्रह सोलह सत्रह अठारह उन्नीस बीस इक्कीस बाईस तेईस चौबीस "
        "पच्चीस छब्बीस सत्ताईस अट्ठाईस उनतीस तीस इकतीस|इकत्तीस",
    ),
    **_numbered(
        90,
        "nabbe|nabbey ikyanve|ikyanave bayanve|baanve tiranve|teranve chauranve pachanve|panchanve chhiyanve sattanve atthanve|anthanve ninyanve|ninyanave",
    ),
    **_numbered(90, "नब्बे इक्यानवे बानवे|बयानवे तिरानवे चौरानवे पंचानवे|पचानवे छियानवे सत्तानवे अट्ठानवे निन्यानवे"),
    "chalis": 40,
    "pachas": 50,
    "saath": 60,
    "sattar": 70,
    "assi": 80,
    "चालीस": 40,
    "पचास": 50,
    "साठ": 60,
    "सत्तर": 70,
    "अस्सी": 80,
    "عشرة": 10,
    "عشر": 10,
}
"""Words for ten and more that take no unit after them."""

TENS = {
    word: value * 10
    for word, value in _numbered(
        2, "twenty thirty forty|fourty fifty sixty seventy eighty ninety"
    ).items()
}
ARABIC_TENS = {
    word: value * 10
    for word, value in _numbered(
        2,
        "عشرون|عشرين ثلاثون|ثلاثين أربعون|أربعين|اربعين خمسون|خمسين ستون|ستين سبعون|سبعين "
        "ثمانون|ثمانين تسعون|تسعين",
    ).items()
}
"""Written with a leading و after a unit: five and ninety."""

HUNDREDS = frozenset({"hundred", "sau", "सौ", "مئة", "مائة"})
THOUSANDS = frozenset({"thousand", "hazaar", "hazar", "हज़ार", "हजार", "ألف"})

ORDINALS = {
    **_numbered(
        1,
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
        "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth",
    ),
    "thirtieth": 30,
    **_numbered(1, "الأول الثاني الثالث الرابع الخامس السادس السابع الثامن التاسع العاشر"),
}

REPEATS = {
    "double": 2,
    "triple": 3,
    "treble": 3,
    "quadruple": 4,
    "dabal": 2,
    "डबल": 2,
    "ट्रिपल": 3,
    "دبل": 2,
}

AMBIGUOUS = frozenset(
    {"do", "teen", "tin", "char", "das", "dus", "bis", "bees", "tees", "bara", "bais", "athara"}
)
"""Hindi numbers that are other words in English: numbers only beside a Hindi number."""

_ENGLISH_OR_ARABIC = words_of(
    "zero nought naught one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen sifr wahid ithnan ithnain thalatha arbaa arbaah khamsa "
    "sitta sabaa sabaah thamania thamaniya tisaa tisah"
)
HINDI_IN_LATIN = frozenset(w for w in (*UNITS, *TEENS, *HUNDREDS, *THOUSANDS) if w.isascii()) - (
    _ENGLISH_OR_ARABIC | {"hundred", "thousand"}
)
