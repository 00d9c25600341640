"""Distribution-free confidence interval of a median."""

import numpy as np
from jaxtyping import Bool, Real
from scipy import special

from heatcheck.errors import BadInput
from heatcheck.stats.interval import Interval


def median_interval(
    values: Real[np.ndarray, " example"],
    level: float = 0.95,
    valid: Bool[np.ndarray, " example"] | None = None,
) -> Interval:
    """The median between the two order statistics that hold it with at least this confidence, whatever the
    distribution: fewer than k of n values lie below the true median with the chance of a coin. Infinite values are
    values; where n is too small for the level (below 6 for 95%) the interval is (−inf, inf).

    >>> median_interval(np.arange(1.0, 10.0))
    Interval(value=5.0, low=2.0, high=8.0, n=9)
    """
    known = values if valid is None else values[valid]
    if not len(known):
        raise BadInput("a median needs at least one value, and none was given.")
    if np.isnan(known.astype(np.float64)).any():
        raise BadInput("a median cannot include NaN. Leave such values out with valid=False.")
    ordered = np.sort(known).astype(np.float64)
    n = len(ordered)
    # The largest k with P(at most k − 1 of n coins) ≤ (1 − level)/2: the k-th value from either end.
    k = int((special.bdtr(np.arange(n), n, 0.5) <= (1 - level) / 2).sum())
    middle = ordered[[(n - 1) // 2, n // 2]]
    value = float(middle[0]) if middle[0] == middle[1] else float(middle.mean())
    low, high = (ordered[k - 1], ordered[n - k]) if k else (-np.inf, np.inf)
    return Interval(value, float(low), float(high), n)
