"""Confidence intervals: over examples by the bootstrap, over seeds by Student's t.

Examples are many and their scores far from normal, so they are resampled. Seeds are few: a percentile
bootstrap over five of them covers 84% where 95% is claimed, Student's t covers 95%.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, no_type_check

import numpy as np
from jaxtyping import Bool, Float, Real
from scipy import special

from heatcheck.errors import BadInput
from heatcheck.stats.compiled import compile_loop

_COUNTS_AT_ONCE = 2**22


class Interval(NamedTuple):
    """An estimate, its confidence interval, and the number of examples or seeds it is based on."""

    value: float
    low: float
    high: float
    n: int


def bootstrap_interval(
    values: Real[np.ndarray, " example *column"] | Bool[np.ndarray, " example *column"],
    statistic: Callable[[Float[np.ndarray, "draw column"]], Float[np.ndarray, " draw"]] | None = None,
    *,
    generator: np.random.Generator,
    draws: int = 2000,
    level: float = 0.95,
    valid: Bool[np.ndarray, " example"] | None = None,
) -> Interval:
    """Percentile bootstrap interval, over examples, of a function of column means.

    `statistic` gets the means [draw column] of many resamples at once and returns one number per draw; by
    default it is the mean of the only column. A ratio of means is thus resampled jointly, not averaged as ratios. If
    the statistic is undefined in some resample (0/0), both ends are NaN. One example gives (−inf, inf).

    >>> values = np.array([[1.0, 2.0], [2.0, 4.0], [4.0, 8.0]])
    >>> bootstrap_interval(values, lambda mean: mean[:, 0] / mean[:, 1], generator=np.random.default_rng(0))
    Interval(value=0.5, low=0.5, high=0.5, n=3)
    """
    columns = values[:, None] if values.ndim == 1 else values
    if statistic is None:
        if columns.shape[1] != 1:
            raise BadInput(f"values has {columns.shape[1]} columns. Give `statistic`, the function of their means.")
        statistic = _only_column
    (found,) = bootstrap_intervals(columns, [statistic], generator=generator, draws=draws, level=level, valid=valid)
    return found


def bootstrap_intervals(
    values: Real[np.ndarray, "example column"] | Bool[np.ndarray, "example column"],
    statistics: Sequence[Callable[[Float[np.ndarray, "draw column"]], Float[np.ndarray, " draw"]]],
    *,
    generator: np.random.Generator,
    draws: int = 2000,
    level: float = 0.95,
    valid: Bool[np.ndarray, " example"] | None = None,
) -> list[Interval]:
    """Intervals of several functions of the same resamples.

    >>> values = np.array([[1.0, 2.0], [2.0, 4.0], [4.0, 8.0]])
    >>> parts = [lambda mean: mean[:, 0] / mean[:, 1], lambda mean: mean[:, 1] / mean[:, 0]]
    >>> [found.value for found in bootstrap_intervals(values, parts, generator=np.random.default_rng(0))]
    [0.5, 2.0]
    """
    columns = _real_rows(values, valid)
    n = len(columns)
    if draws < 1:
        raise BadInput(f"draws must be at least 1, not {draws}.")
    _check_level(level)

    # A statistic that divides by a mean of 0 is answered below, not warned about.
    with np.errstate(divide="ignore", invalid="ignore"):
        own = columns.mean(axis=0, keepdims=True)
        each = [float(statistic(own)[0]) for statistic in statistics]
        if n == 1:
            return [Interval(value, -np.inf, np.inf, n) for value in each]
        resampled = np.empty((len(statistics), draws))
        step = max(1, _COUNTS_AT_ONCE // n)
        for start in range(0, draws, step):
            drawn = slice(start, min(start + step, draws))
            means = _resampled_means(columns, drawn.stop - drawn.start, generator)
            for row, statistic in zip(resampled, statistics, strict=True):
                row[drawn] = statistic(means)
    return [_between(value, row, level, n) for value, row in zip(each, resampled, strict=True)]


def _between(value: float, resampled: Float[np.ndarray, " draw"], level: float, n: int) -> Interval:
    if np.isnan(resampled).any():
        return Interval(value, np.nan, np.nan, n)
    # Order statistics, not np.quantile: interpolating next to an infinite draw gives NaN.
    ordered = np.sort(resampled)
    outside = int((1 - level) / 2 * (len(ordered) - 1))
    return Interval(value, float(ordered[outside]), float(ordered[-1 - outside]), n)


def t_interval(
    values: Real[np.ndarray, " draw"],
    level: float = 0.95,
    valid: Bool[np.ndarray, " draw"] | None = None,
) -> Interval:
    """Student's t interval of the mean of a few independent values, one per seed. One value gives (−inf, inf).

    >>> found = t_interval(np.array([0.80, 0.82, 0.84]))
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3), found.n
    (0.82, 0.77, 0.87, 3)
    """
    seeds = _real_rows(values[:, None], valid)[:, 0]
    _check_level(level)
    n, mean = len(seeds), float(seeds.mean())
    if n == 1:
        return Interval(mean, -np.inf, np.inf, n)
    half = float(special.stdtrit(n - 1, (1 + level) / 2) * seeds.std(ddof=1) / np.sqrt(n))
    return Interval(mean, mean - half, mean + half, n)


def further_half_width(spread: float, n: int, level: float = 0.95) -> float:
    """Half-width of the prediction interval for one more value, given n values: t s √(1 + 1/n).

    Args:
        spread: the standard deviation of the n values themselves, with n − 1 in its denominator. Nothing else belongs
            into it: what n values on the same examples have in common does not set the next one apart.

    >>> round(further_half_width(0.02, 3), 4)
    0.0994
    """
    _check_level(level)
    if n < 2:
        return np.inf
    return float(special.stdtrit(n - 1, (1 + level) / 2) * spread * np.sqrt(1 + 1 / n))


def _only_column(means: Float[np.ndarray, "draw column"]) -> Float[np.ndarray, " draw"]:
    return means[:, 0]


def _resampled_means(
    columns: Float[np.ndarray, "example column"], draws: int, generator: np.random.Generator
) -> Float[np.ndarray, "draw column"]:
    """Column means of as many samples, drawn with replacement, as there are draws."""
    n = len(columns)
    picks = generator.integers(n, size=(draws, n))
    add_up = _compiled_sums()
    if add_up is not None:
        sums = np.empty((draws, columns.shape[1]))
        add_up(np.ascontiguousarray(columns.T), picks, sums)
        return sums / n
    # Multinomial counts by counting uniform picks: distributed as Generator.multinomial's, six times faster.
    counts = np.bincount((picks + n * np.arange(draws)[:, None]).ravel(), minlength=draws * n).reshape(draws, n)
    means: Float[np.ndarray, "draw column"] = counts.astype(np.float64) @ columns / n
    return means


@lru_cache
def _compiled_sums() -> Callable[..., Any] | None:
    return compile_loop(_add_up, reassociate=True)


@no_type_check
def _add_up(columns: Any, picks: Any, sums: Any) -> None:
    """The sum of each column over the rows that each draw picked."""
    for column in range(columns.shape[0]):
        values = columns[column]
        for draw in range(picks.shape[0]):
            total = 0.0
            for place in picks[draw]:
                total += values[place]
            sums[draw, column] = total


def _real_rows(
    values: Real[np.ndarray, "example column"] | Bool[np.ndarray, "example column"],
    valid: Bool[np.ndarray, " example"] | None,
) -> Float[np.ndarray, "item column"]:
    """The valid rows, maybe fewer, as float64: at least one, all finite."""
    rows = np.arange(len(values)) if valid is None else np.flatnonzero(valid)
    if len(rows) == 0:
        raise BadInput("an interval needs at least one value, and none was given.")
    kept = values[rows].astype(np.float64)
    wrong = ~np.isfinite(kept).all(axis=1)
    if wrong.any():
        row = int(rows[wrong.argmax()])
        raise BadInput(
            f"values must be finite, but row {row} is {values[row].tolist()}. Leave it out with valid=False."
        )
    return kept


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise BadInput(f"level must be between 0 and 1, such as 0.95, not {level}.")
