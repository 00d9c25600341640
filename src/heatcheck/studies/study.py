"""What a study is: one paper done again, every number beside the published one, and a plain statement about each."""

import csv
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heatcheck import stats
from heatcheck.errors import BadInput, UnknownName
from heatcheck.results import Row, StudyResult
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
    """Of what a study is asked for: the first that it does not have is said before anything runs."""
    for name in given:
        if name not in known:
            raise UnknownName(kind, name, known)


def check_place(folder: Path, device: str) -> None:
    """Whether a study can be run here; a wrong device is said once, not once a model."""
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file, not a folder for the study.")
    pick_device(device)


def read_published(study: str) -> list[dict[str, str]]:
    """The published numbers of a study, as a tidy table that comes with the package."""
    text = files("heatcheck.studies").joinpath(f"{study}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def compare(values: Sequence[float], published: float | None, not_comparable: str) -> str:
    """One published number against the values of our seeds.

    A published number is one run, so the interval it must lie in is that of one further seed, not of our mean: mean
    ± t s √(1 + 1/n).

    >>> compare([0.40, 0.42, 0.38], 0.43, "")
    'inside the seed interval'
    >>> compare([0.40, 0.42, 0.38], 0.60, "")
    'outside: ours is lower by 0.20'
    >>> compare([0.40, 0.42, 0.38], 0.60, "a tenth of the data")
    'not comparable (a tenth of the data): ours is lower by 0.20'
    """
    found = stats.t_interval(np.array(values, dtype=float))
    return statement(found, spread_of(values), published, not_comparable)


def spread_of(values: Sequence[float]) -> float:
    """The standard deviation over seeds; nan for one.

    >>> round(spread_of([0.40, 0.42, 0.38]), 3)
    0.02
    """
    return float(np.std(values, ddof=1)) if len(values) > 1 else np.nan


def statement(found: stats.Interval, spread: float, published: float | None, not_comparable: str) -> str:
    """The same, given the mean over seeds and their spread.

    The interval of the mean does not tell where one further seed falls: it may hold what the choice of texts adds,
    which all seeds share.
    """
    if published is None:
        return ""
    gap = found.value - published
    how = f"ours is {'higher' if gap > 0 else 'lower'} by {abs(gap):.2f}"
    if not_comparable:
        return f"not comparable ({not_comparable}): {how}"
    if found.n < 2:
        return f"one seed only: {how}"
    assert np.isfinite(spread), "a published number is set against the spread of the seeds"
    return INSIDE if abs(gap) <= stats.further_half_width(spread, found.n) else f"{OUTSIDE}: {how}"


def row_of(
    where: tuple[str, str, str, str, str, str],
    values: Sequence[float],
    published: Mapping[str, Any] | None,
    not_comparable: str,
) -> Row:
    """The row of one number, given its value for each seed."""
    found = stats.t_interval(np.array(values, dtype=float))
    return row_from(where, found, spread_of(values), published, not_comparable)


def row_from(
    where: tuple[str, str, str, str, str, str],
    found: stats.Interval,
    spread: float,
    published: Mapping[str, Any] | None,
    not_comparable: str,
) -> Row:
    """The row of one number, given its mean with its interval, and the standard deviation over seeds."""
    paper, rerun = (float(published[run]) if published and published[run] else None for run in ("paper", "rerun"))
    about_paper, about_rerun = (statement(found, spread, number, not_comparable) for number in (paper, rerun))
    return Row(
        *where, found.value, found.low, found.high, found.n, paper, rerun, about_paper, about_rerun, spread=spread
    )
