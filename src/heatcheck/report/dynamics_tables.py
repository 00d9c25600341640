"""What the dynamics of a training come to: agreements at its end beside their floors, when they start, and ξ."""

import math
from collections.abc import Sequence

from heatcheck.report.table import Table
from heatcheck.report.wording import counted, pair_of
from heatcheck.results import CheckResult, Measurement
from heatcheck.results.written import interval, number, of_quantity, shown

_NAMES = {
    "final attention": "last attention",
    "final uniform relevance": "uniform twin’s last relevance",
    "uniform relevance": "uniform twin’s relevance",
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
    """When the agreement of a pair, the first where none is given, starts to be above its floor, in words."""
    chosen = pairs_in(result)[0] if pair is None else pair
    found = result.find("starts", pair=list(chosen))
    if math.isinf(found.value):
        return f"not by step {of_quantity('starts', found.low)}"
    low, high = (of_quantity("starts", end) for end in (found.low, found.high))
    return f"by step {high}" if found.low == found.high else f"between steps {low} and {high}"


def dynamics_tables(result: CheckResult) -> list[Table]:
    """A row a pair at the end of training; then ξ."""
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
            "How often the word that the first puts highest is among the top of the second, at the end of training",
            ("pair", "A", "shuffled", "A above it", "τ", "largest A of any checkpoint", "starts", "n"),
            rows,
            dense=True,
        ),
        Table(
            "ξ: how good independent models are once their weights foretell the audited recipe’s as well as this does",
            ("foretold by", "accuracy", "95% interval", "at step", "read against", "n"),
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
    """With its interval; a dash for a τ that no text defines."""
    found = [m for m in result.measurements if m.name == name and pair_of(m) == pair and m.by.get("at") == "last"]
    return shown(found[0] if found else None)
