"""What a comparison opens with: the lines in which models differ, a forest of each line, the same texts under each."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from heatcheck.report.heat import HeatRow, by_size, weighed
from heatcheck.report.shared_words import SIGNS
from heatcheck.report.strips import DrawnStrip, draw_strip
from heatcheck.results import Audit, AuditedExample, Line
from heatcheck.results.check_result import ATTENTION
from heatcheck.results.written import decimals

TEXTS, LONG = 3, 30  # texts shown, and the most words of one


class ForestRow(NamedTuple):
    """One model's answer to one question."""

    model: str
    line: Line
    sign: str
    strip: DrawnStrip | None


class Forest(NamedTuple):
    """One question, one row per model on the same axis."""

    line: Line
    rows: list[ForestRow]
    differs: bool


class SameText(NamedTuple):
    """A text under every model."""

    id: str
    why: str  # it was picked
    rows: list[HeatRow]


def forests(audits: Mapping[str, Audit]) -> list[Forest]:
    """Every line of the card, those that differ first."""
    found = []
    for name in [line.name for line in _first(audits).card.every_line]:
        rows = [_row(model, audit.card[name]) for model, audit in audits.items()]
        asked = {row.line.badge for row in rows if row.line.state != "not run"}  # what was not run differs from nothing
        found.append(Forest(rows[0].line, rows, len(asked) > 1))
    return sorted(found, key=lambda forest: not forest.differs)


def _first(audits: Mapping[str, Audit]) -> Audit:
    return next(iter(audits.values()))


def _row(model: str, line: Line) -> ForestRow:
    return ForestRow(model, line, SIGNS[line.state], draw_strip(line))


def what_differs(audits: Mapping[str, Audit], what: str = "models") -> str:
    """The lines whose answers differ, in a sentence."""
    differing = [forest for forest in forests(audits) if forest.differs]
    if not differing:
        return f"The {what} get the same answer in every line that was asked of all."
    if len(differing) > 1:
        questions = " ".join(forest.line.question for forest in differing)
        return f"They differ in {len(differing)} lines: {questions}"
    lines, named = "one line", _told(differing[0])
    return f"They differ in {lines}: {named}"


def _told(forest: Forest) -> str:
    """The question, then who gets which answer."""
    answers: dict[str, list[str]] = {}
    for row in forest.rows:
        answers.setdefault(row.line.badge, []).append(row.model)
    told = "; ".join(f"{answer} for {' and '.join(models)}" for answer, models in answers.items())
    return f"{forest.line.question} {told[:1].upper()}{told[1:]}."


def same_texts(audits: Mapping[str, Audit]) -> list[SameText]:
    """Texts that all models read, under each: the first report's own, then those whose heatmaps differ most."""
    by_id = [{one.id: one for one in audit.examples} for audit in audits.values()]
    found: dict[str, list[AuditedExample]] = {}
    for name in by_id[0]:
        examples = [of_audit[name] for of_audit in by_id if name in of_audit]
        if len(examples) == len(by_id) and all(_shown(*of) for of in zip(audits.values(), examples, strict=True)):
            found[name] = examples
    if not found:
        return []
    opening = next(iter(audits.values())).shown_first
    picked = {opening: "the example that the first report opens with"} if opening in found else {}
    heats = [audit.explainer for audit in audits.values()]
    short_ones = {name: of for name, of in found.items() if len(of[0].words) <= LONG} or found
    for name in sorted(short_ones, key=lambda name: -_apart(short_ones[name], heats)):
        if len(picked) < TEXTS:
            picked.setdefault(name, "one of those whose heatmaps differ most")
    return [
        SameText(
            name,
            why,
            [_heat(model, audit, example) for (model, audit), example in zip(audits.items(), found[name], strict=True)],
        )
        for name, why in picked.items()
    ]


def _shown(audit: Audit, example: AuditedExample) -> bool:
    return audit.explainer in example.scores


def _apart(examples: Sequence[AuditedExample], heats: Sequence[str]) -> float:
    """How far the heatmaps of one text are apart at most: half the sum of differences between their shares."""
    shares = [_shares(example.scores[heat]) for example, heat in zip(examples, heats, strict=True)]
    if len({len(of) for of in shares}) > 1:
        return 0.0
    return max(sum(abs(a - b) for a, b in zip(shares[0], other, strict=True)) / 2 for other in shares)


def _shares(scores: Sequence[float | None]) -> list[float]:
    sizes = [abs(score) if score is not None and math.isfinite(score) else 0.0 for score in scores]
    return [size / (sum(sizes) or 1.0) for size in sizes]


def _heat(model: str, audit: Audit, example: AuditedExample) -> HeatRow:
    scores, weights = example.scores[audit.explainer], audit.explainer == ATTENTION
    words = (weighed if weights else by_size)(example.words[:LONG], scores[:LONG])
    sure = math.nan if example.predicted is None or example.probability is None else example.probability
    if not math.isfinite(sure):
        return HeatRow(model, words, scores=not weights)
    return HeatRow(model, words, f"{example.predicted} {decimals(sure, '.2f')}", 100 * sure, not weights)
