"""The sections of a report, one per check: titles, sentences and tables of text."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from heatcheck.report.advice import advice
from heatcheck.report.figures.figure import Figure
from heatcheck.report.heat import HeatRow, weighed
from heatcheck.report.measurement_words import counted, grouping, quantity, quantity_of
from heatcheck.report.shared_words import HELD, SIGNS
from heatcheck.report.strips import DrawnStrip, draw_strip
from heatcheck.report.table import Table
from heatcheck.report.view import in_order, view_of
from heatcheck.report.wording import said, spaced
from heatcheck.results import TOO_FEW, Audit, CheckResult, Line, Measurement
from heatcheck.results.written import interval, number, sentences


class Evidence(NamedTuple):
    """One number of a card line."""

    quantity: str
    value: str
    interval: str
    n: str
    scale: str  # the meaning of its ends, if it has ends: "0: random words; 1: the words of the best other method"
    low: str = ""  # what a low value means
    high: str = ""


class CardLine(NamedTuple):
    """A line of the card in words."""

    line: Line
    sign: str
    statistic: Evidence | None
    against: list[Evidence]
    held: str
    advice: str
    more_texts: int  # texts behind its accuracies, if more than those whose heatmaps were audited
    strip: DrawnStrip | None
    lead: str  # the answer, and the number behind it
    rest: list[str]  # further sentences
    note: str  # what would decide a line that is open


class Direction(NamedTuple):
    """The meaning of high and low values of one quantity."""

    quantity: str  # its plain name
    low: str
    high: str


class Witness(NamedTuple):
    """One text under two heatmaps that go with the same decisions."""

    rows: list[HeatRow]
    caption: str


class Section(NamedTuple):
    """A check's part of the report."""

    check: str
    title: str
    question: str
    reading: list[str]  # how not to misread it, sentence by sentence
    baseline: str
    held: str  # what stays the same
    family: str  # the kind of models that it is about, if it names one
    paper: str
    settings: list[tuple[str, str]]
    counted: str
    excluded: list[tuple[str, list[str]]]  # reason, ids
    not_fitted: list[tuple[str, str]]  # training run, reason
    witness: Witness | None
    figures: list[Figure]
    tables: list[Table]
    everything: Table
    directions: list[Direction]  # for every quantity of the check, once


_ELSEWHERE = {"family", "without_floor", "witness"}  # facts that the section already says in words


def card_line(line: Line, audited: int | None = None) -> CardLine:
    exact = {(m.name, m.value) for m in line.evidence}
    # An upper bound that is the value itself says nothing new.
    kept = [m for m in line.evidence if m.name != "U_upper" or ("U", m.value) not in exact]
    shown = [_evidence(m, line.check) for m in kept]
    most = max((m.n for m in kept if "accuracy" in m.name), default=0)
    told = sentences(line.sentence)
    return CardLine(
        line,
        SIGNS[line.state],
        shown[0] if shown else None,
        shown[1:],
        HELD.get(line.holds, line.holds),
        advice(line),
        most if audited is not None and most > audited else 0,
        draw_strip(line),
        " ".join(told[:2]),
        told[2:],
        _note(line),
    )


def _note(line: Line) -> str:
    """What would decide a line that is open; nothing for one that is decided, or that its sentence explains."""
    if line.state == "not run":
        return f"Run: {line.reason}" if line.undecided == "not run" else line.reason[:1].upper() + line.reason[1:]
    if line.would_take and line.route != TOO_FEW:
        return f"More data would decide: about {line.would_take:,} examples, if the value stays."
    return "A longer search would decide." if line.undecided == "more search" else ""


def sections(audit: Audit, figures: Iterable[Figure]) -> list[Section]:
    return [
        _section(check, audit.results[check], [f for f in figures if f.check == check])
        for check in in_order(audit.results)
    ]


def _section(check: str, result: CheckResult, figures: list[Figure]) -> Section:
    reasons = defaultdict(list)
    for example, reason in result.excluded.items():
        reasons[reason].append(example)
    kept, left_out = len(result.examples), len(result.excluded)
    view = view_of(check)
    return Section(
        check,
        view.title,
        result.question,
        [words for reading in view.readings(result) for words in sentences(reading)],
        result.baseline,
        view.what_stays(result.holds),
        str(result.facts.get("family", "")),
        result.paper,
        [*_settings(result), ("seed", str(result.seed))],
        f"{kept:,} measured, {left_out:,} left out, {kept + left_out:,} in all",
        sorted(reasons.items(), key=lambda item: -len(item[1])),
        list(result.not_run.items()),
        _witness(result),
        figures,
        tables_of(result),
        every_number(result),
        directions(result),
    )


def tables_of(result: CheckResult) -> list[Table]:
    """The tables of a check that have rows; a check without a view has none."""
    return [table for table in view_of(result.check).tables(result) if table.rows]


def every_number(result: CheckResult) -> Table:
    """All measurements of a check."""
    return Table(
        "Every number of this check",
        ("quantity", "of", "value", "95% interval", "n", "compared with"),
        [
            (
                quantity(m, result.check),
                grouping(m, result.check) or "all",
                number(m.value),
                interval(m),
                counted(m),
                spaced(m.baseline),
            )
            for m in result.measurements
        ],
    )


def directions(result: CheckResult) -> list[Direction]:
    """What high and low values of each quantity of a check mean, in the order of its measurements."""
    names = dict.fromkeys(m.name for m in result.measurements)
    found = [one for name in names if (one := quantity_of(name, result.check))]
    return [Direction(one.words, one.low, one.high) for one in found]


def _settings(result: CheckResult) -> list[tuple[str, str]]:
    """The settings as they were used, then further facts."""
    facts = {key: value for key, value in result.facts.items() if key not in _ELSEWHERE}
    return [(spaced(key), said(value)) for key, value in {**result.settings, **facts}.items()]


def _witness(result: CheckResult) -> Witness | None:
    """One text, shaded by the model's own weights and by its twin's."""
    shown = result.facts.get("witness")
    if not shown:
        return None
    rows = [
        HeatRow(who, weighed(shown["words"], shown[key]), str(shown["label"]))
        for who, key in (("this model", "own"), ("its twin, with the heatmap reversed", "twin"))
    ]
    agree = next((m for m in result.measurements if m.name == "agreement" and m.by.get("twin") == "reversed"), None)
    how_often = "" if agree is None else f", and on {agree.value:.0%} of {counted(agree)} texts they decide alike"
    return Witness(
        rows,
        f"Both models decide “{shown['label']}” here{how_often}. The same shade is the same weight. "
        f"Example {shown['id']} is the one whose two heatmaps differ most.",
    )


def _evidence(m: Measurement, check: str) -> Evidence:
    about = grouping(m, check)
    words = f"{quantity(m, check)}{': ' + about if about else ''}"
    scale = m.baseline if m.baseline.startswith(("0:", "1:")) else ""
    found = quantity_of(m.name, check)
    means = ("", "") if found is None else (found.low, found.high)
    return Evidence(words, number(m.value), interval(m), f"n = {counted(m)}", scale, *means)
