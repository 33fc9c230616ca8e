"""The labelled set keeps its own rules, and its held-out half keeps us to the goals."""

from collections import Counter
from pathlib import Path

import pytest

from bench._phi_score import score
from bench._phi_set import HARMLESS, Utterance, load, make
from bench.spoken_phi import PRECISION, RECALL
from src.adapters.presidio import PresidioRedactor
from src.services.lexicons import load_lexicons

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def utterances() -> list[Utterance]:
    return [*load("build"), *load("held_out")]


def test_the_files_are_what_the_sentences_make(utterances: list[Utterance]) -> None:
    made = sorted(make(), key=lambda u: u.id)

    assert made == sorted(utterances, key=lambda u: u.id)


def test_there_are_enough_of_every_class(utterances: list[Utterance]) -> None:
    counts = Counter(u.group for u in utterances)

    assert counts.pop(HARMLESS) >= 200
    assert len(counts) >= 18
    assert min(counts.values()) >= 40


def test_no_sentence_is_in_both_halves(utterances: list[Utterance]) -> None:
    halves: dict[str, set[str]] = {}
    for utterance in utterances:
        sentence = utterance.id.rsplit("-", 1)[0]
        halves.setdefault(sentence, set()).add(utterance.split)

    assert all(len(splits) == 1 for splits in halves.values())


def test_labels_lie_on_words(utterances: list[Utterance]) -> None:
    for utterance in utterances:
        for start, end, _ in utterance.spans:
            marked = utterance.text[start:end]
            assert marked
            assert marked == marked.strip()


def test_the_held_out_half_meets_the_goals() -> None:
    redactor = PresidioRedactor(allowed=load_lexicons(ROOT / "data").terms)

    def ours(u: Utterance) -> list[tuple[int, int, str]]:
        spans = redactor.spans(u.text, language=u.language, before=u.before)
        return [(s.start, s.end, s.label) for s in spans]

    total = score(load("held_out"), ours).total

    assert total.recall >= RECALL
    assert total.precision >= PRECISION
