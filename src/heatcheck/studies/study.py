"""A study: one paper reproduced, every number beside the published one, and a plain statement about each."""

import csv
from collections.abc import Callable, Collection, Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heatcheck import stats
from heatcheck.errors import BadInput, UnknownName
from heatcheck.results import Comparison, Key, Published, Row, StudyResult, parse_key
from heatcheck.training import pick_device

INSIDE = "inside the seed interval"
OUTSIDE = "outside"


class Study(NamedTuple):
    """A row of `heatcheck studies`."""

    name: str
    paper: str
    about: str
    tasks: tuple[str, ...]
    run: Callable[..., StudyResult]
    settings: type  # a frozen dataclass; its defaults are the study's
    quick: Any  # the settings of a smoke run


def check_names(kind: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise for the first name that a study does not have, before anything runs."""
    for name in given:
        if name not in known:
            raise UnknownName(kind, name, known)


def check_place(folder: Path, device: str) -> None:
    """Raise if the study cannot run here, before any model does."""
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file: name a folder for the study.")
    pick_device(device)


class Said(NamedTuple):
    """A statement about a published number: a key, and words."""

    comparison: Comparison
    words: str


def read_published(study: str) -> list[Published]:
    """The published numbers of a study, from a table that comes with the package."""
    text = files("heatcheck.studies").joinpath(f"{study}.csv").read_text(encoding="utf-8")
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
        for row in csv.DictReader(text.splitlines())
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
