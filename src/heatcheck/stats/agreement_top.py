"""Top agreement A(u, v) of Snell et al. 2021: is the first item by one score near the top of another?"""

import math
from fractions import Fraction

import numpy as np
from jaxtyping import Bool, Float, Real

from heatcheck.errors import BadInput
from heatcheck.stats.scores import finite_scores, real_items

SHARE = 0.05  # of the items that are the top, rounded up


def top_agreement(
    u: Real[np.ndarray, "example item"],
    v: Real[np.ndarray, "example item"],
    valid: Bool[np.ndarray, "example item"] | None = None,
    share: float = SHARE,
) -> Float[np.ndarray, " example"]:
    """1 where the first item by u is in the top of v: fewer than ⌈share · T⌉ items of v strictly exceed it; else 0.

    Where several items are first by u, the share of them that are. A row without items gives NaN.

    >>> u, v = np.array([[0.1, 0.9, 0.0]] * 2), np.array([[1.0, 5.0, 2.0], [5.0, 1.0, 2.0]])
    >>> top_agreement(u, v)
    array([1., 0.])
    """
    valid = real_items(u, valid)
    scores = finite_scores("u", u, valid, padding=-np.inf)
    first = valid & (scores == scores.max(axis=1, initial=-np.inf, keepdims=True))
    return _mean(_in_top(v, valid, share), first)


def top_agreement_floor(
    v: Real[np.ndarray, "example item"],
    valid: Bool[np.ndarray, "example item"] | None = None,
    share: float = SHARE,
) -> Float[np.ndarray, " example"]:
    """What `top_agreement` is on average over all shuffles of v, exactly: the share of its items that are the top.

    About `share`, more in short rows and in rows with ties. A row without items gives NaN.

    >>> top_agreement_floor(np.array([[1.0, 5.0, 2.0, 3.0], [4.0, 4.0, 4.0, 4.0]]))
    array([0.25, 1.  ])
    """
    valid = real_items(v, valid)
    return _mean(_in_top(v, valid, share), valid)


def _in_top(
    v: Real[np.ndarray, "example item"], valid: Bool[np.ndarray, "example item"], share: float
) -> Bool[np.ndarray, "example item"]:
    """Items that fewer than k others strictly exceed: those no smaller than the k-th largest."""
    if not 0 < share <= 1:
        raise BadInput(f"share must be above 0 and at most 1, such as 0.05, not {share}.")
    scores = finite_scores("v", v, valid, padding=-np.inf)
    # As a fraction: 0.05 · 20 is a hair over 1 in floating point for some shares, and would be rounded up to 2.
    exact = Fraction(share).limit_denominator(10_000)
    k = np.array([max(1, math.ceil(exact * int(items))) for items in valid.sum(axis=1)])
    ordered = -np.sort(-scores, axis=1)
    kth = np.take_along_axis(ordered, k[:, None] - 1, axis=1)
    return np.asarray(valid & (scores >= kth))


def _mean(values: Bool[np.ndarray, "example item"], among: Bool[np.ndarray, "example item"]) -> np.ndarray:
    counted = among.sum(axis=1)
    found = np.full(len(values), np.nan)
    np.divide((values & among).sum(axis=1), counted, out=found, where=counted > 0)
    return found
