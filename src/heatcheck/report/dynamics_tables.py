"""Tables of text for the check dynamics: agreements at the end with their floors, their start, and ξ."""

import math
from collections.abc import Sequence

from heatcheck.report.table import Table
from heatcheck.report.wording import counted, pair_of
from heatcheck.results import CheckResult, Measurement
from heatcheck.results.written import interval, number, of_quantity, shown

_NAMES = {
    "final attention": "final attention",
    "final uniform relevance": "final relevance under uniform weights",
    "uniform relevance": "relevance under uniform weights",
    "proxy relevance": "bag of words",
    "log-odds": "log-odds",
}


def pairs_in(result: CheckResult) -> list[tuple[str, ...]]:
    """The pairs that were compared, in the order of the check."""
    return list(dict.fromkeys(pair_of(m) for m in result.measurements if m.name == "A"))


def quantity_name(name: str) -> str:
    return _NAMES.get(name, name)


def pair_name(pair: Sequence[str]) -> str:
    """
    >>> pair_name(("attention", "relevance"))
    'attention and relevance'
    """
    return " and ".join(quantity_name(name) for name in pair)


def at_last(result: CheckResult, name: str, pair: tuple[str, ...]) -> Measurement:
    """A measurement of a pair at the last checkpoint."""
    return result.find(name, pair=list(pair), at="last")


def when(result: CheckResult, pair: tuple[str, ...] | None = None) -> str:
    """In words, the step at which a pair (by default the first) starts to agree above its floor."""
    chosen = pairs_in(result)[0] if pair is None else pair
    found = result.find("starts", pair=list(chosen))
    if math.isinf(found.value):
        return f"not by step {of_quantity('starts', found.low)}"
    low, high = (of_quantity("starts", end) for end in (found.low, found.high))
    return f"by step {high}" if found.low == found.high else f"between steps {low} and {high}"


def dynamics_tables(result: CheckResult) -> list[Table]:
    """One row per pair at the end of training; then ξ."""
    rows = []
    for pair in pairs_in(result):
        best = result.find("A", pair=list(pair), at="max")
        rows.append(
            (
                pair_name(pair),
                *(_at_last(result, name, pair) for name in ("A", "A_floor", "A_above", "tau")),
                f"{number(best.value)} at step {best.by['step']:,}",
                when(result, pair),
                counted(best),
            )
        )
    return [
        Table(
            "A: how often the first's highest word is among the second's top words, at the end of training",
            ("pair", "A", "A, shuffled", "A above shuffled", "τ", "largest A at any checkpoint", "starts", "n"),
            rows,
            dense=True,
        ),
        Table(
            "ξ: the accuracy of independent models once their weights predict the reference’s as well as this does",
            ("predicted by", "accuracy", "95% interval", "at step", "compared with", "n"),
            [
                (
                    quantity_name(str(m.by["foretold_by"])),
                    number(m.value) if m.by["reached"] else f"more than {number(m.value)}",
                    interval(m),
                    f"{m.by['step']:,}" if m.by["reached"] else "never",
                    m.baseline,
                    counted(m),
                )
                for m in result.measurements
                if m.name == "xi"
            ],
        ),
    ]


def _at_last(result: CheckResult, name: str, pair: tuple[str, ...]) -> str:
    """The value with its interval; a dash for a τ that is undefined in every text."""
    found = [m for m in result.measurements if m.name == name and pair_of(m) == pair and m.by.get("at") == "last"]
    return shown(found[0] if found else None)
