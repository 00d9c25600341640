"""Kaplan–Meier curves with right-censoring, for events that may never come (a flip), and exact intervals of shares."""

import warnings
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Real
from scipy import special
from scipy.stats import CensoredData, binomtest, ecdf

from heatcheck.errors import BadInput
from heatcheck.stats.interval import Interval


class SurvivalCurve(NamedTuple):
    """The share of runs without the event, just after each time of an event."""

    times: Float[np.ndarray, " item"]
    surviving: Float[np.ndarray, " item"]
    low: Float[np.ndarray, " item"]
    high: Float[np.ndarray, " item"]
    at_risk: Int[np.ndarray, " item"]  # still watched, and not happened, just before


def share_interval(count: int, of: int, level: float = 0.95) -> Interval:
    """A share with its exact confidence interval (Clopper & Pearson).

    >>> found = share_interval(10, 20)
    >>> found.value, round(found.low, 3), round(found.high, 3), found.n
    (0.5, 0.272, 0.728, 20)
    >>> round(share_interval(0, 20).high, 3)
    0.168
    """
    if not 0 <= count <= of or of == 0:
        raise BadInput(f"count must be between 0 and of, and of at least 1, not {count} of {of}.")
    exact = binomtest(count, of).proportion_ci(level, method="exact")
    return Interval(count / of, float(exact.low), float(exact.high), of)


def kaplan_meier(
    times: Real[np.ndarray, " item"], happened: Bool[np.ndarray, " item"], level: float = 0.95
) -> SurvivalCurve:
    """The Kaplan–Meier curve with its pointwise interval.

    `times` are the times of the events or, for right-censored runs (`happened` False), of the end of observation. The
    interval is Greenwood's on the scale log(−log S), which stays within 0 and 1. It has no width at S = 0, so its upper
    end there comes from the beta product (Fay, Brittain & Proschan 2013), which counts the runs at risk at each time.
    Without censoring this equals Clopper and Pearson's interval for a count of 0.

    >>> curve = kaplan_meier(np.array([1.0, 2.0, 2.0, 3.0]), np.array([True, True, False, False]))
    >>> curve.times.tolist(), curve.surviving.tolist(), curve.at_risk.tolist()
    ([1.0, 2.0], [0.75, 0.5], [4, 3])
    """
    if len(times) != len(happened) or len(times) == 0:
        raise BadInput(
            f"there are {len(times)} times and {len(happened)} values of happened. Give one of each per run."
        )
    if not np.isfinite(times).all():
        raise BadInput("all times must be finite. For a right-censored run give the time at which observation ended.")
    at = np.unique(times[happened])
    at_risk = (times[:, None] >= at).sum(axis=0)
    events = ((times[:, None] == at) & happened[:, None]).sum(axis=0)
    found = ecdf(CensoredData(uncensored=times[happened], right=times[~happened])).sf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # where S is 1 or 0 there is no interval: see below
        ends = found.confidence_interval(level, method="log-log")
    here = np.isin(found.quantiles, at)
    surviving, low, high = (part.probabilities[here] for part in (found, ends.low, ends.high))
    none = surviving == 0
    low[none] = 0.0
    if none.any():
        high[none] = _most_surviving(at_risk, events, level)
    return SurvivalCurve(at.astype(np.float64), surviving, low, high, at_risk)


def _most_surviving(at_risk: Int[np.ndarray, " item"], events: Int[np.ndarray, " item"], level: float) -> float:
    """The upper end after the last time, by the beta product.

    Of n runs at risk, d fall: the share that does not is at most as a beta variable of n − d + 1 and d. The product of
    these over all times is taken for the beta variable of the same mean and mean square, which is exact where no run
    was lost in between.
    """
    n, d = at_risk.astype(np.float64), events.astype(np.float64)
    mean = float(np.prod((n - d + 1) / (n + 1)))
    square = float(np.prod((n - d + 1) * (n - d + 2) / ((n + 1) * (n + 2))))
    size = (mean - square) / (square - mean**2)  # a + b of the beta variable
    return float(special.betaincinv(size * mean, size * (1 - mean), (1 + level) / 2))


def median_time(curve: SurvivalCurve, runs: int) -> Interval | None:
    """The median time to the event, with the times at which the curve's interval crosses one half.

    None if fewer than half of the runs had the event; an end that the curve does not reach is infinite.

    >>> curve = kaplan_meier(np.arange(1.0, 21), np.ones(20, bool))
    >>> median_time(curve, 20)
    Interval(value=10.0, low=5.0, high=15.0, n=20)
    >>> median_time(kaplan_meier(np.array([1.0, 9.0, 9.0]), np.array([True, False, False])), 3) is None
    True
    """
    half, low, high = (
        float(curve.times[np.argmax(part <= 0.5)]) if (part <= 0.5).any() else np.inf
        for part in (curve.surviving, curve.low, curve.high)
    )
    return None if np.isinf(half) else Interval(half, low, high, runs)
