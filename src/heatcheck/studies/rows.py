"""Rows of a study: every number of ours beside the published one, and a plain statement that compares them."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heatcheck import stats
from heatcheck.results import Comparison, Key, Published, Row, parse_key

INSIDE = "inside the seed interval"
OUTSIDE = "outside"


class Said(NamedTuple):
    """A statement about a published number: a key, and words."""

    comparison: Comparison
    words: str


def read_table(path: Path) -> list[Published]:
    """The published numbers of a study, from the CSV file beside it."""
    return [
        Published(
            row["task"],
            row["encoder"],
            row["attention"],
            parse_key(row["quantity"]),
            row["class"],
            row["bin"],
            float(row["paper"]) if row["paper"] else None,
            float(row["rerun"]) if row["rerun"] else None,
            row.get("source", ""),
        )
        for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    ]


def compare(values: Sequence[float], published: float | None, not_comparable: str) -> str:
    """Compare one published number with the values of our seeds.

    A published number is one run, so it must lie in the interval of one further seed, not in that of our mean:
    mean ± t s √(1 + 1/n).

    >>> compare([0.40, 0.42, 0.38], 0.43, "")
    'inside the seed interval'
    >>> compare([0.40, 0.42, 0.38], 0.60, "")
    'outside: ours is lower by 0.20'
    >>> compare([0.40, 0.42, 0.38], 0.60, "a tenth of the data")
    'not comparable (a tenth of the data): ours is lower by 0.20'
    """
    found = stats.t_interval(np.array(values, dtype=float))
    return statement(found, spread_of(values), published, not_comparable).words


def spread_of(values: Sequence[float]) -> float:
    """The standard deviation over seeds; nan for one.

    >>> round(spread_of([0.40, 0.42, 0.38]), 3)
    0.02
    """
    return float(np.std(values, ddof=1)) if len(values) > 1 else np.nan


def statement(
    found: stats.Interval, spread: float, published: float | None, not_comparable: str, *, finely: bool = False
) -> Said:
    """As `compare`, given the mean over seeds and their spread.

    The interval of the mean does not tell where one further seed falls: it may include the variance of the texts,
    which all seeds share.

    Args:
        finely: show more than two decimals for small differences.
    """
    if published is None:
        return Said("", "")
    gap = found.value - published
    size = f"{abs(gap):.2f}"
    how = f"ours is {'higher' if gap > 0 else 'lower'} by {f'{abs(gap):.1g}' if finely and size == '0.00' else size}"
    if not_comparable:
        return Said("not comparable", f"not comparable ({not_comparable}): {how}")
    if found.n < 2:
        return Said("one seed", f"one seed only: {how}")
    assert np.isfinite(spread), "a published number is compared with the spread of the seeds"
    if abs(gap) <= stats.further_half_width(spread, found.n):
        return Said("inside", INSIDE)
    return Said("outside", f"{OUTSIDE}: {how}")


class Where(NamedTuple):
    """The place of a number: a kind of model, and a quantity."""

    task: str
    encoder: str
    attention: str
    key: Key
    of_class: str = ""
    bin: str = ""


def row_of(where: Where, values: Sequence[float], published: Published | None, not_comparable: str) -> Row:
    """The row of one number, given its value for each seed."""
    found = stats.t_interval(np.array(values, dtype=float))
    return row_from(where, found, spread_of(values), published, not_comparable)


def row_from(
    where: Where,
    found: stats.Interval,
    spread: float,
    published: Published | None,
    not_comparable: str,
    *,
    finely: bool = False,
) -> Row:
    """The row of one number, given its mean with its interval, and the standard deviation over seeds."""
    paper, rerun = (None, None) if published is None else (published.paper, published.rerun)
    about_paper, about_rerun = (
        statement(found, spread, number, not_comparable, finely=finely) for number in (paper, rerun)
    )
    return Row(
        where.task,
        where.encoder,
        where.attention,
        where.key.name,
        where.key.by,
        where.of_class,
        where.bin,
        found.value,
        found.low,
        found.high,
        found.n,
        paper,
        rerun,
        about_paper.words,
        about_rerun.words,
        spread,
        about_paper.comparison,
        about_rerun.comparison,
    )
