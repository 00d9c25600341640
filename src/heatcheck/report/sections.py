"""What the page says about each check, as titles, sentences and tables of text."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from heatcheck.auditing import Audit, Line
from heatcheck.checks import CheckResult, Measurement
from heatcheck.engine import Facts
from heatcheck.report.figures import Figure
from heatcheck.report.wording import (
    HELD,
    NOTHING,
    SIGNS,
    grouping,
    interval,
    number,
    pair_of,
    quantity,
    said,
    spaced,
    title,
)


class Table(NamedTuple):
    """Cells as text."""

    caption: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


class Evidence(NamedTuple):
    """One number of a card line."""

    quantity: str
    value: str
    interval: str
    n: str


class CardLine(NamedTuple):
    """A line of the card in words."""

    line: Line
    sign: str
    statistic: Evidence | None
    against: list[Evidence]
    held: str


class Section(NamedTuple):
    """One check."""

    check: str
    title: str
    question: str
    held: str
    paper: str
    settings: list[tuple[str, str]]
    counted: str
    excluded: list[tuple[str, list[str]]]  # reason, ids
    figures: list[Figure]
    tables: list[Table]
    everything: Table


def card_line(line: Line) -> CardLine:
    shown = [_evidence(m) for m in line.evidence]
    return CardLine(line, SIGNS[line.state], shown[0] if shown else None, shown[1:], HELD.get(line.holds, line.holds))


def sections(audit: Audit, figures: Iterable[Figure]) -> list[Section]:
    return [
        _section(check, result, [f for f in figures if f.check == check], audit.about)
        for check, result in audit.results.items()
    ]


def _section(check: str, result: CheckResult, figures: list[Figure], about: Facts) -> Section:
    reasons = defaultdict(list)
    for example, reason in result.excluded.items():
        reasons[reason].append(example)
    kept, left_out = len(result.examples), len(result.excluded)
    makers = {"agreement": _agreement_tables, "erasure": _erasure_tables}
    return Section(
        check,
        title(check),
        about.get("questions", {}).get(check, ""),
        HELD[result.holds],
        about.get("papers", {}).get(check, ""),
        [(spaced(key), said(value)) for key, value in result.settings.items()] + [("seed", str(result.seed))],
        f"{kept + left_out:,} texts in = {kept:,} measured + {left_out:,} left out",
        sorted(reasons.items(), key=lambda item: -len(item[1])),
        figures,
        [table for table in makers.get(check, lambda _: [])(result) if table.rows],
        _everything(result.measurements),
    )


def _agreement_tables(result: CheckResult) -> list[Table]:
    of_pair = defaultdict(list)
    for m in result.measurements:
        if "attention" in pair_of(m) and "class" not in m.by:
            of_pair[pair_of(m)].append(m)
    extra = {
        column: {pair: _joined(m for m in found if m.name == name) for pair, found in of_pair.items()}
        for name, column in (
            ("tau_mechanical_floor", "mechanical floor"),
            ("significant_share", "share significant"),
            ("top_k_overlap", "top words shared"),
        )
    }
    extra = {column: cells for column, cells in extra.items() if any(cells.values())}
    overall = Table(
        "Attention and each rival: a mean τ no higher than its mechanical floor says nothing about the words",
        ("rival", "mean τ", "95% interval", *extra, "n"),
        [
            (
                _other(pair),
                number(tau.value),
                interval(tau),
                *(cells[pair] or NOTHING for cells in extra.values()),
                f"{tau.n:,}",
            )
            for pair, found in of_pair.items()
            for tau in found
            if tau.name == "tau"
        ],
    )
    by_class = Table(
        "The same, class by class",
        ("class", "rival", "mean τ", "95% interval", "n"),
        [
            (str(m.by["class"]), _other(pair_of(m)), number(m.value), interval(m), f"{m.n:,}")
            for m in result.measurements
            if m.name == "tau" and "class" in m.by and "attention" in pair_of(m)
        ],
    )
    return [overall, by_class]


def _erasure_tables(result: CheckResult) -> list[Table]:
    room = {m.by.get("operator"): m for m in result.measurements if m.name == "room"}
    rows = []
    for m in result.measurements:
        if m.name == "K":
            beside = room.get(m.by.get("operator"))
            rows.append(
                (
                    said(m.by.get("operator")),
                    number(m.value),
                    interval(m),
                    f"{number(beside.value)} {interval(beside)}" if beside else NOTHING,
                    f"{m.n:,}",
                )
            )
    columns = ("words removed by", "K", "95% interval", "best rival minus random", "n")
    return [Table("K: attention's effect as a share of the best rival's, both above random order", columns, rows)]


def _everything(measurements: Sequence[Measurement]) -> Table:
    return Table(
        "Every number of this check",
        ("quantity", "of", "value", "95% interval", "n", "read against"),
        [
            (quantity(m), grouping(m) or "all", number(m.value), interval(m), f"{m.n:,}", spaced(m.baseline))
            for m in measurements
        ],
    )


def _evidence(m: Measurement) -> Evidence:
    about = grouping(m)
    return Evidence(f"{quantity(m)}{': ' + about if about else ''}", number(m.value), interval(m), f"n = {m.n:,}")


def _other(pair: Sequence[str]) -> str:
    return " and ".join(spaced(name) for name in pair if name != "attention")


def _joined(measurements: Iterable[Measurement]) -> str:
    """Several variants of one number in a cell: '0.120 (uniform), 0.310 (shuffled)'."""
    parts = []
    for m in measurements:
        variant = grouping(m, pair=False)
        parts.append(f"{number(m.value)} ({variant})" if variant else number(m.value))
    return ", ".join(parts)
