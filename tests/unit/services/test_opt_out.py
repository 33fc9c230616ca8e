"""Requests not to be called again, and what only looks like one."""

import pytest

from src.schemas.contact import Turn
from src.services.opt_out import asks_for_no_calls
from tests.fakes.clock import NOON


def said(*turns: tuple[str, str]) -> bool:
    return asks_for_no_calls(
        [Turn.model_validate({"role": role, "text": text, "at": NOON}) for role, text in turns]
    )


OPT_OUT = [
    "Please don't call me again.",
    "do not call me anymore",
    "don't ever call this number again",
    "Don't call me.",
    "Just don't call me, please!",
    "Please do not call.  Don't call again.",
    "don't you call me again",
    "stop calling",
    "Stop calling me!",
    "can you please stop calling me i am not interested",
    "I told you to stop calling this number.",
    "I asked you not to call me again.",
    "quit calling my house",
    "take me off your list",
    "Take me off your call list please",
    "remove my phone number from your calling list",
    "please get me off of this list",
    "Remove me from your database.",
    "put me on your do-not-call list",
    "I'm on the Do Not Call registry",
    "never call me again",
    "Please never call here again",
    "I don't want any more calls",
    "I don\u2019t want these calls anymore.",
    "I don't want you to call me again",
    "I do not want to be contacted again.",
    "no more calls please",
    "opt me out",
    "I want to opt out of these calls.",
    "lose my number",
    "please stop these calls.",
    "no me llamen más",
    "No me llame más, por favor.",
    "no vuelva a llamarme",
    "No me vuelvan a llamar",
    "ya no me llamen",
    "deje de llamarme",
    "Por favor, dejen de llamar.",
    "no quiero recibir más llamadas",
    "No quiero que me llamen otra vez.",
    "Quítenme de su lista",
    "sáqueme de la lista",
    "dobara call mat karna",
    "mujhe call mat karo",
    "Aap mujhe phone mat kijiye",
    "call karna band karo",
    "mera number list se hata do",
    "mujhe aur call nahi chahiye",
    "aaj ke baad call mat karna",
    "phir se call na karein",
    "मुझे दोबारा कॉल मत करना",
    "कॉल मत कीजिए",
    "आप फ़ोन करना बंद कर दीजिए",
    "मेरा नंबर लिस्ट से हटा दो",
    "मुझे कॉल नहीं चाहिए।",
]
NONE = [
    "Don't call me Bob.",
    "don't call me sir",
    "Please don't call me a liar",
    "Stop calling me Bob.",
    "Don't call me before nine.",
    "Please don't call me tomorrow, call on Friday.",
    "Why don't you call me again tomorrow?",
    "If you don't call me again by Friday I will complain.",
    "They never call me back.",
    "You never called me back.",
    "I don't call you often.",
    "Can you call me again?",
    "They stopped calling me.",
    "My phone won't stop ringing.",
    "please do not take me off your list",
    "Don't remove me from the calling list.",
    "Take me off the waiting list",
    "take me off hold",
    "You don't have to call me again.",
    "I'm not on your list.",
    "I decided not to call again.",
    "No me llame Pedro.",
    "No me llamo Juan.",
    "no me llamen antes de las diez",
    "No dejen de llamarme, por favor.",
    "Llámeme otra vez mañana.",
    "call mat kaatna",
    "abhi call mat karo, kal karna",
    "kal subah call mat karna",
    "mujhe call karna",
    "कॉल मत काटना",
    "अभी कॉल मत करना",
    "मुझे कल कॉल करना",
    "What is a do not call list?",
    "I don't want to miss your calls.",
    "Please call me again.",
    "Do call me.",
]


@pytest.mark.parametrize("text", OPT_OUT)
def test_a_request_for_no_more_calls_is_heard(text: str) -> None:
    assert said(("assistant", "Hello."), ("user", f"Hello. {text}"))
    assert said(("user", text.upper()))


@pytest.mark.parametrize("text", OPT_OUT)
def test_the_agents_words_count_for_nothing(text: str) -> None:
    assert not said(("user", "Hello."), ("assistant", text), ("user", "Yes, that is right."))


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_such_request_is_let_be(text: str) -> None:
    assert not said(("user", text))


def test_a_request_cut_in_two_by_a_pause_is_heard() -> None:
    assert said(("user", "So please don't call"), ("user", "this number again."))
    assert not said(("user", "I will not"), ("assistant", "Yes?"), ("user", "call me again."))


def test_nothing_said_asks_for_nothing() -> None:
    assert not said()
    assert not said(("user", " "))
