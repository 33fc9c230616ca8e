"""Whether somebody asked not to be called again, told by their words.

Stands beside a model's answer, since to miss one breaks the law: common forms in English, Spanish and
Hindi (in both scripts). What only limits calls ("not before ten"), or is about a name ("don't call me
Bob"), is none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from src.schemas.contact import Turn

_CLAUSE_END = re.compile(r"[.!?।॥,;:…¡¿\n\u2013\u2014]+")
_DROPPED = re.compile(
    "[\u0300-\u036f\u093c'`\u2018\u2019\u02bc]"
)  # accents, the dot below, apostrophes
_OTHER = re.compile(r"[^\w\s.\u0900-\u097f]|_")

_CALL = "(?:call|phone|ring|contact|dial|text|message)"
_CALLING = "(?:calling|phoning|ringing|contacting|dialing|dialling|harassing|spamming)"
_WHO = "(?:me|us|here|this (?:number|phone|line)|(?:on )?my (?:phone|number|cell|mobile|house|home|work|office))"
_THEN = (
    r"(?:\.|again|any ?more|ever|back|no more|from now on|at all|please|on this (?:number|phone|line)"
    r"|at this number|for (?:this|these|any|your|such)|about|in (?:the )?future|i|im|we|you|it|its|and"
    r"|or|because|otherwise|thanks?|okay|ok|bye|goodbye|just|yaar|bhai)"
)
_LIST = (
    "(?:your|the|this|that|any|all|all your|all of your)"
    "(?: (?:call|calls|calling|caller|contact|phone|telephone|dialing|marketing|telemarketing|sales"
    "|customer|robocall))* (?:lists?|databases?|systems?|records)"
)
_CALLS = "(?:phone |sales |marketing |robo |these |such |of these |of your )*calls"

_ENGLISH = (
    rf"(?<!\bi )(?<!\bwe )(?<!\bthey )(?<!\bhe )(?<!\bshe )(?<!\bif you )(?<!\bwhen you )(?<!\bwhy you )(?<!\bwhy )"
    rf"(?:do not|dont)(?: you)?(?: ever| even| please)* {_CALL} {_WHO}(?: {_WHO})? {_THEN}",
    rf"(?<=[.] )(?:please )?(?:do not|dont)(?: ever| even| please)* {_CALL} (?:again|any ?more)",
    rf"(?:(?<=[.] )|(?<=please )|(?<=and )|(?<=just )|(?<=to )|(?<=should )|(?<=must ))never(?: ever)*"
    rf" {_CALL} {_WHO} {_THEN}",
    rf"not to {_CALL} (?:me|us|here|this number) {_THEN}",
    rf"(?:do not|dont) want (?:you|anyone|anybody|them|you people|you guys)(?: to)? (?:{_CALL}|{_CALLING})"
    rf"(?: {_WHO})? {_THEN}",
    rf"(?:do not|dont) want to be (?:called|contacted|phoned|rung) {_THEN}",
    rf"(?:do not|dont) want (?:to (?:get|receive|have) )?(?:(?:any|more|any ?more|further|your|these|such)"
    rf" )+{_CALLS} {_THEN}",
    rf"(?:\.|please|want|and) no (?:more|further) {_CALLS} {_THEN}",
    r"(?:me|us|im|am|number|number is) (?:\w+ ){0,3}(?:do not|dont|no) call (?:list|registry|register)",
    "lose my number",
)
_ENGLISH_UNLESS_NEGATED = (
    rf"(?:stop|quit|cease) (?:all )?{_CALLING}(?: {_WHO})?(?: {_WHO})? {_THEN}",
    rf"stop (?:(?:all|with|these|the|your|those) )+{_CALLS} {_THEN}",
    r"(?:take|get|remove|delete|cross|strike) (?:me|us|this number|my (?:name|details|(?:\w+ )?number))"
    rf" (?:off|from|off of|out of) {_LIST}",
    rf"opt (?:me )?out of (?:(?:the|these|your|all|any|further|future|receiving|getting|of) )*{_CALLS}",
    "opt me out",
)
_SPANISH_THEN = r"(?:\.|mas|nunca|jamas|otra vez|de nuevo|por favor|a este numero|a esta casa|aqui|para|por|y|o|ya|yo|que|porque)"
_SPANISH_CALL = "(?:llame|llames|llamen|marque|marques|marquen|contacte|contactes|contacten)"
_SPANISH = (
    r"no (?:(?:me|nos) )?vuelv(?:a|as|an) a (?:llamar|contactar|marcar|telefonear)(?:me|nos)?",
    rf"(?:no|nunca mas|jamas) (?:me|nos) {_SPANISH_CALL} {_SPANISH_THEN}",
    rf"no {_SPANISH_CALL} (?:mas|nunca|otra vez|de nuevo)",
    rf"no (?:quiero|queremos) que (?:me|nos) (?:vuelvan a llamar|vuelva a llamar|{_SPANISH_CALL} {_SPANISH_THEN})",
    r"no (?:quiero|queremos) (?:recibir )?(?:(?:mas|sus|estas) )+llamadas",
    r"no (?:me|nos) est(?:e|es|en) (?:llamando|marcando)",
    r"(?:quit|saqu|sac|borr|elimin|retir)\w*(?: mi (?:numero|nombre))? de (?:la|las|su|sus|esta|esa) (?:lista|listas|base de datos)",
)
_SPANISH_UNLESS_NEGATED = (
    rf"(?:deja|deje|dejen|dejes|para|pare|paren) de (?:llamar|marcar|contactar|molestar)(?:me|nos)? {_SPANISH_THEN}",
    r"(?:deja|deje|dejen|para|pare|paren) de (?:estar )?(?:llamando|marcando)",
)
_HINDI_DONT = r"(?:mat|math|na|nahi|nahin|mut) (?:kar(?!ke|ne)\w*|kij\w+|kiy?a kar\w*|kee?jiye\w*|aan[ae]|dena)"
_HINDI = (
    rf"(?:call|calls|phone|fone|fon|kaul|kol) {_HINDI_DONT}",
    r"(?:call|phone|fone|fon)(?: karna| karne| karana)? (?:band|bandh|bund|stop) kar\w*",
    r"(?:call|calls|phone)(?: \w+)? (?:nahi|nahin) (?:chahiye|chahie|chaahiye|chahta|chahti)",
    r"(?:list|database|system) (?:se|me se|mein se) (?:(?:mera|hamara|mujhe|hame|yeh|ye|ka) |naam |number )*(?:hata|nikal|nikaal|delete|remove)\w*",
    r"(?:कॉल|काल|कौल|कॉल्स|फोन|फ़ोन) (?:मत|ना|न|नहीं|नही) (?:कर(?!के)|कीज|किज|किया कर|आन)\S*",
    r"(?:कॉल|काल|कौल|फोन)(?: करना| करने)? (?:बंद|बन्द) (?:कर|कीज|किज)\S*",
    r"(?:कॉल|काल|कॉल्स|फोन)(?: \S+)? (?:नहीं|नही) (?:चाहिए|चाहिये|चाहता|चाहती)",
    r"(?:लिस्ट|सूची) (?:से|में से) (?:(?:मेरा|हमारा|मुझे) |नाम |नंबर |नम्बर )*(?:हटा|निकाल)\S*",
)
_HINDI_LIMITS = re.compile(
    r" (?:abhi|abi|aaj|kal|subah|raat|shaam|dopahar|baje|bajhe|pehle|office|meeting|sunday|weekend"
    r"|अभी|आज|कल|सुबह|रात|शाम|दोपहर|बजे|पहले|ऑफिस|रविवार|तक) "
)
_AGAIN = re.compile(
    r" (?:dobara|dubara|dobaara|phir|fir|firse|kabhi|aage|aaj ke baad|दोबारा|दुबारा|फिर|कभी|आगे|आज के बाद) "
)
_LONGEST_ROW = 3
_NEGATION = re.compile(r"(?:not|dont|doesnt|didnt|wont|cant|couldnt|wouldnt|never|no)(?: \w+)? $")


def _any(forms: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<= )(?:{'|'.join(forms)})(?= )")


_PLAIN = _any([*_ENGLISH, *_SPANISH])
_UNLESS_NEGATED = _any([*_ENGLISH_UNLESS_NEGATED, *_SPANISH_UNLESS_NEGATED])
_HINDI_FORMS = _any([unicodedata.normalize("NFKD", form) for form in _HINDI])


def asks_for_no_calls(transcript: Sequence[Turn]) -> bool:
    """Whether one of the caller's turns does; the agent's words count for nothing."""
    return any(_asks(_plain(text)) for text in _said(transcript))


def _said(transcript: Sequence[Turn]) -> Iterator[str]:
    """Each of the caller's turns, and those in a row together: a pause may cut a sentence in two."""
    row: list[str] = []
    for turn in transcript:
        if turn.role == "assistant":
            row = []
            continue
        yield turn.text
        row.append(turn.text)
        if len(row) > 1:
            yield " ".join(row[-_LONGEST_ROW:])


def _plain(text: str) -> str:
    """Words between single blanks, clauses between full stops, in lower case and without accents."""
    text = _DROPPED.sub("", unicodedata.normalize("NFKD", text.casefold()))
    text = _OTHER.sub(" ", _CLAUSE_END.sub(" . ", text))
    return f" . {' '.join(text.split())} . "


def _asks(text: str) -> bool:
    if _PLAIN.search(text):
        return True
    if any(not _NEGATION.search(text, 0, m.start()) for m in _UNLESS_NEGATED.finditer(text)):
        return True
    return any(_without_limit(text, m) for m in _HINDI_FORMS.finditer(text))


def _without_limit(text: str, match: re.Match[str]) -> bool:
    """Whether the clause names no time before which, or place where, no call is wanted."""
    start, end = text.rfind(" . ", 0, match.start()), text.find(" . ", match.end())
    clause = f"{text[start + 2 : end]} "
    return bool(_AGAIN.search(clause)) or not _HINDI_LIMITS.search(clause)
