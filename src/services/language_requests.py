"""Hears that somebody asks for another language: "can we speak Spanish", "hindi mein baat karo".

What the tables miss the language model may still notice, so they are made not to mishear: a verb of
speaking must stand right beside the language's name, and statements, refusals and choices between
languages are left alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence

_SEPARATORS = re.compile(r"[\s\-_/\"()]+")
_APOSTROPHES = re.compile(r"['\u2019\u02bc]")
_SENTENCE_END = re.compile(r"[.!?;:,\u060c\u061f\u0964\u00bf\u00a1\n]+")
_BEFORE_PLEASE = re.compile(r",\s*(?=please|por favor|s.il|bitte|per favore)")
# Of Latin and Arabic letters; the vowel signs of Indic scripts are no mere accents.
_ACCENTS = re.compile(r"[\u0300-\u036f\u0653-\u0655\u064b-\u0652]")
_MAX_CHARS = 500
"""Longer texts are no request."""


def _normal(text: str) -> str:
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", text.casefold()))
    return _APOSTROPHES.sub(" ", unicodedata.normalize("NFC", bare))


def _words(text: str) -> list[str]:
    return [word for word in _SEPARATORS.split(_normal(text)) if word]


def _table(*lines: str) -> frozenset[str]:
    return frozenset(_words(" ".join(lines)))


_NAMES_OF: Mapping[str, str] = {
    "en": "english anglais inglés englisch inglese inglês angrezi angreji अंग्रेज़ी अंग्रेजी इंग्लिश"
    " الإنجليزية إنجليزي بالإنجليزية",
    "hi": "hindi हिंदी हिन्दी हिंदीत الهندية بالهندية",
    "es": "spanish español castellano espagnol espanhol spanisch spagnolo स्पेनिश الإسبانية بالإسبانية",
    "fr": "french français francés französisch francese फ्रेंच الفرنسية بالفرنسية",
    "de": "german deutsch allemand alemán alemão tedesco जर्मन الألمانية بالألمانية",
    "pt": "portuguese português portugués portugais portugiesisch portoghese البرتغالية بالبرتغالية",
    "it": "italian italiano italien italienisch الإيطالية بالإيطالية",
    "ar": "arabic arabe árabe arabisch arabo अरबी العربية عربي بالعربية بالعربي",
    "ta": "tamil tamizh தமிழ் தமிழில் तमिल",
    "te": "telugu తెలుగు తెలుగులో तेलुगु",
    "mr": "marathi मराठी मराठीत",
    "bn": "bengali bangla বাংলা বাংলায় बांग्ला",
    "gu": "gujarati ગુજરાતી ગુજરાતીમાં गुजराती",
    "kn": "kannada ಕನ್ನಡ ಕನ್ನಡದಲ್ಲಿ कन्नड़",
    "ml": "malayalam മലയാളം മലയാളത്തിൽ मलयालम",
    "pa": "punjabi panjabi ਪੰਜਾਬੀ पंजाबी",
    "ur": "urdu اردو उर्दू",
}
_NAMES = {name: tag for tag, names in _NAMES_OF.items() for name in _words(names)}
_VERBS = _table(
    "speak talk continue switch change reply answer respond converse",
    "habla hable háblame hábleme hablar hablas hablan hablemos continuar continúa cambiar cambia cambie",
    "responde responda responder parlez parler parlons répondez répondre continuons continuer passons",
    "passer passez sprechen sprich reden antworten fala fale falar falemos mudar mude",
    "parla parli parlare parliamo rispondi risponda تحدث تحدثي تكلم تكلمي نتحدث نتكلم تتحدث تتكلم",
)
_FINAL_VERBS = _table(
    "baat bat bol bolo bolie boliye bolna batao bataiye bataiyega jawab sprechen reden antworten",
    "बात बोल बोलो बोलिए बोलिये बोलना बताओ बताइए बताइये जवाब बोला பேசுங்கள் பேசு பேசலாமா మాట్లాడండి",
    "কথা বলুন বলো વાત બોલો ಮಾತನಾಡಿ സംസാരിക്കൂ ਗੱਲ بات",
)
_MODALS = _table(
    "can could would will shall may do does puede puedes pueden podemos podría podrías pouvez peux",
    "pouvons pourriez peut können könnten kannst kann pode podemos può possiamo هل ممكن يمكن",
)
_WISHES = _table(
    "please lets let want like prefer need rather quiero quisiera prefiero vamos favor veux voudrais",
    "préfère möchte bitte wollen quero queria prefiro vorrei preferisco أريد",
)
_SUBJECTS = _table("i we they he she je nous on il elle ich wir er yo eu io noi")
_FILLERS = _table(
    "to s you us just now also instead then so and ok okay yes hello maybe que d sie vous tu usted lei",
    "a de você أن",
)
_GAP = _table(
    "to in into with me us you over back the language only now la langue idioma sprache sie wir mit mir vous nous tu usted a al en el l",
    "au moi avec conmigo auf zu em o comigo con معي",
)
_ORIGINS = _table("from von desde du")
_POSTPOSITIONS = _table("mein me mai main m may में मे")
_AFTERWARDS = _table(
    "please now instead with from if then and thanks thank ok okay today only mode language por s si",
    "merci maintenant bitte jetzt agora ahora per adesso conmigo من",
)
_REFUSALS = _table(
    "not dont don cant cannot never no or t nahi nahin mat ne pas nicht kein nie nao non oder ou",
    "नहीं मत या ya لا ليس أو",
)
_POLITE = _table("please bitte favor plait plaît favore")
_BESIDE_POLITE = _table("in en auf em por s il vous te per a al")


def requested_language(text: str, supported: Collection[str]) -> str | None:
    """The base language that is asked for, such as `es`; None if none is, or more than one.

    Args:
        text: One turn of the user, in any language.
        supported: Base languages that may be asked for.
    """
    if len(text) > _MAX_CHARS:
        return None
    for sentence in reversed(_SENTENCE_END.split(_BEFORE_PLEASE.sub(" ", text.casefold()))):
        words = _without_origin(_words(sentence))
        if _REFUSALS.intersection(words):
            continue
        asked = {
            _NAMES[word]
            for at, word in enumerate(words)
            if word in _NAMES and _is_asked_for(words, at)
        }
        if len(asked) == 1:
            return asked.pop() if asked <= frozenset(supported) else None
    return None


def _without_origin(words: Sequence[str]) -> list[str]:
    """Without "from English": what follows is asked for."""
    return [
        word
        for at, word in enumerate(words)
        if not (
            (word in _ORIGINS and words[at + 1 : at + 2] and words[at + 1] in _NAMES)
            or (word in _NAMES and at and words[at - 1] in _ORIGINS)
        )
    ]


def _is_asked_for(words: Sequence[str], at: int) -> bool:
    return (
        _follows_a_verb(words, at)
        or _precedes_a_verb(words, at)
        or (
            bool(_POLITE.intersection(words))
            and {*words[:at], *words[at + 1 :]} <= _POLITE | _BESIDE_POLITE
        )
    )


def _follows_a_verb(words: Sequence[str], at: int) -> bool:
    """As in "can we speak Spanish", not in "I speak Spanish" or "speak Spanish wine"."""
    if at + 1 < len(words) and words[at + 1] not in _AFTERWARDS:
        return False
    verb = _skipped_back(words, at - 1, _GAP)
    if verb < 0 or words[verb] not in _VERBS:
        return False
    opener = _skipped_back(words, verb - 1, _FILLERS | _SUBJECTS)
    if opener < 0:
        return not _SUBJECTS.intersection(words[:verb])
    stated = opener > 0 and words[opener - 1] in _SUBJECTS
    return words[opener] in _WISHES or (words[opener] in _MODALS and not stated)


def _precedes_a_verb(words: Sequence[str], at: int) -> bool:
    """As in "hindi mein baat karo" and "können wir Deutsch sprechen"."""
    after = at + 1
    while after < len(words) and words[after] in _POSTPOSITIONS:
        after += 1
    stated = bool(_SUBJECTS.intersection(words[:1])) and not _WISHES.intersection(words)
    return after < len(words) and words[after] in _FINAL_VERBS and not stated


def _skipped_back(words: Sequence[str], at: int, passed: frozenset[str]) -> int:
    while at >= 0 and words[at] in passed:
        at -= 1
    return at
