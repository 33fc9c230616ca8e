"""Who asks for another language, in whatever language, is heard; who only speaks of one is not."""

import pytest

from src.services.language_requests import requested_language

ALL = (
    "en",
    "hi",
    "es",
    "fr",
    "de",
    "pt",
    "it",
    "ar",
    "ta",
    "te",
    "mr",
    "bn",
    "gu",
    "kn",
    "ml",
    "ur",
)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("can we speak Spanish", "es"),
        ("Can we speak in Spanish please?", "es"),
        ("yes can we speak spanish", "es"),
        ("I want to speak Hindi", "hi"),
        ("I would like to continue in English now", "en"),
        ("please talk to me in Hindi", "hi"),
        ("Let\u2019s continue in German", "de"),
        ("let's switch to French", "fr"),
        ("change the language to French", "fr"),
        ("switch from English to Spanish", "es"),
        ("Could we maybe switch over to English, please?", "en"),
        ("do you speak Arabic?", "ar"),
        ("No, speak Spanish", "es"),
        ("Let's speak French. No, speak Spanish.", "es"),
        ("Spanish, please", "es"),
        ("in Hindi please", "hi"),
        ("okay speak Tamil", "ta"),
        ("hindi mein baat karo", "hi"),
        ("kya aap english me baat kar sakte hain", "en"),
        ("english mein bolo", "en"),
        ("क्या हम हिंदी में बात कर सकते हैं", "hi"),
        ("हिन्दी में बोलिए", "hi"),
        ("parlez français", "fr"),
        ("Parlez-vous français ?", "fr"),
        ("je voudrais parler anglais", "en"),
        ("en français s'il vous plaît", "fr"),
        ("¿Podemos hablar en español?", "es"),
        ("¿Habla español?", "es"),
        ("hábleme en español", "es"),
        ("können wir Deutsch sprechen", "de"),
        ("ich möchte Deutsch sprechen", "de"),
        ("auf Deutsch bitte", "de"),
        ("podemos falar em português?", "pt"),
        ("possiamo parlare in italiano", "it"),
        ("هل تتكلم العربية", "ar"),
        ("تحدث بالإنجليزية من فضلك", "en"),
        ("தமிழில் பேசுங்கள்", "ta"),
        ("తెలుగులో మాట్లాడండి", "te"),
        ("বাংলায় কথা বলুন", "bn"),
        ("मराठीत बोला", "mr"),
    ],
)
def test_a_request_is_heard(text: str, language: str) -> None:
    assert requested_language(text, ALL) == language
    assert requested_language(text, [tag for tag in ALL if tag != language]) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ok",
        "please",
        "I speak Spanish",
        "we speak Spanish at home",
        "I can speak Spanish",
        "my mother speaks Spanish",
        "I can't speak English",
        "I do not speak English",
        "please don't speak Spanish",
        "I speak English not Spanish",
        "English or Hindi?",
        "I want to talk about Spanish wine",
        "do you have Spanish wine",
        "speak to a French doctor",
        "my Spanish teacher called",
        "I am learning German",
        "what is the Hindi word for water",
        "translate this to French",
        "book a German course please",
        "Switch the light on",
        "je parle français",
        "je ne parle pas français",
        "ich spreche Deutsch",
        "ich kann Deutsch sprechen",
        "hablo español",
        "no hablo inglés",
        "no se habla español",
        "hindi mein mat bolo",
        "hindi nahi",
        "can we speak Spanish and can we speak French",
        "speak Spanish " + "please " * 100,
    ],
)
def test_what_is_no_request_is_left_alone(text: str) -> None:
    assert requested_language(text, ALL) is None
