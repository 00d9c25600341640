"""The weights farthest from given ones, in Jensen-Shannon divergence, that keep a weighted sum within bounds. Exact.

With two labels and a linear read-out the output depends on the weights w only through Σ_t w_t r_t, and "no probability
moves by more than ε" is a slab, low ≤ Σ_t w_t r_t ≤ high. The divergence from the observed weights a is convex in w,
so its maximum over the simplex cut by the slab is attained at a vertex of that polytope. A vertex of the simplex cut
by one more equality has at most two non-zero weights. Hence the optimum is either a single item whose r lies in the
slab, or a pair that straddles one of the two bounds, mixed so as to lie on it, and each has a closed form,

    JSD = ½ ln 2 (1 − a_i − a_j) + g(w_i, a_i) + g(w_j, a_j),   g(w, a) = ½ w ln(2w/(w+a)) + ½ a ln(2a/(w+a)).

Not all pairs need be tried. Of the items on one side of a bound, j can be left out if that side has an item at most as
heavy (in a) with an r at most as large, and another with an r at least as large: against any partner the value is
convex in the mixing weight, which moves monotonically with r, so an item of j's own heaviness at one of the two ends
would do at least as well, and it does better still the lighter it is, for ∂/∂a (g(w, a) − ½ a ln 2) = ½ ln(a/(a+w)) <
0. What is left on a side are the running minima of a from its lower and from its upper end: a few dozen of thousands.
"""

import math
from typing import Any, NamedTuple, no_type_check

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import expit

from heatcheck.errors import BadInput
from heatcheck.stats.compiled import compiled

SLACK = 1e-9  # by how much, of the largest relevance, a single item may miss the slab: rounding, not freedom
_HALF_LN_2 = 0.5 * math.log(2)


class Farthest(NamedTuple):
    """The optimum of each row: at most two items carry weight, `share` on the first and the rest on the second.

    Where only one does, both are the same item. Where nothing else fits in the bounds, both are −1: the row's own
    weights, at a divergence of 0.
    """

    jsd: Float[np.ndarray, " example"]
    first: Int[np.ndarray, " example"]
    second: Int[np.ndarray, " example"]
    share: Float[np.ndarray, " example"]


def farthest_weights(
    weights: Float[np.ndarray, "example item"],
    relevance: Float[np.ndarray, "example item"],
    low: Float[np.ndarray, " example"],
    high: Float[np.ndarray, " example"],
    valid: Bool[np.ndarray, "example item"] | None = None,
) -> Farthest:
    """For each row the largest JSD (nats) from `weights` of any weights w with low ≤ Σ w_t relevance_t ≤ high.

    Weights are taken over the valid items and made to sum to 1. An infinite bound is no bound.

    >>> found = farthest_weights(
    ...     np.array([[0.7, 0.2, 0.1]]), np.array([[1.0, -1.0, 1.2]]), low=np.array([0.9]), high=np.array([1.1])
    ... )
    >>> found.first, found.second, found.share.round(3), found.jsd.round(3)
    (array([1]), array([2]), array([0.045]), array([0.469]))
    """
    valid = np.ones(weights.shape, bool) if valid is None else valid
    n = valid.sum(axis=1)
    if not n.all():
        raise BadInput(f"row {int((n == 0).argmax())} has no valid item. Leave the row out.")
    own = np.where(valid, weights, 0.0).astype(np.float64)
    own /= own.sum(axis=1, keepdims=True)
    votes = np.where(valid, relevance, np.inf).astype(np.float64)  # padding sorts behind every item
    order = np.argsort(votes, axis=1, kind="stable")
    rows = len(own)
    jsd, share = np.zeros(rows), np.ones(rows)
    first, second = np.full(rows, -1), np.full(rows, -1)
    bounds = low.astype(np.float64), high.astype(np.float64)
    slack = SLACK * np.maximum(1.0, np.where(valid, np.abs(votes), 0.0).max(axis=1))
    compiled(_fill)(own, votes, order, n, *bounds, slack, jsd, first, second, share)
    return Farthest(jsd, first, second, share)


def spread_out(found: Farthest, weights: Float[np.ndarray, "example item"]) -> Float[np.ndarray, "example item"]:
    """The optimum as weights over all items; a row where there is none keeps its own.

    >>> found = Farthest(*(np.array([value]) for value in (0.4, 0, 2, 0.25)))
    >>> spread_out(found, np.array([[0.1, 0.8, 0.1]]))
    array([[0.25, 0.  , 0.75]])
    """
    dense = np.zeros_like(weights)
    rows = np.arange(len(weights))
    moved = found.first >= 0
    dense[rows[moved], found.first[moved]] += found.share[moved]
    dense[rows[moved], found.second[moved]] += 1 - found.share[moved]
    dense[~moved] = weights[~moved]
    return dense


def margin_bounds(
    margin: Float[np.ndarray, " example"], epsilon: float
) -> tuple[Float[np.ndarray, " example"], Float[np.ndarray, " example"]]:
    """The log-odds between which the probability moves by at most ε; infinite where it cannot move by so much.

    From the log-odds and not from p, because p near 1 has no digits left for 1 − p.

    >>> low, high = margin_bounds(np.array([0.0, 40.0]), 0.1)
    >>> low.round(3), high.round(3)
    (array([-0.405,  2.197]), array([0.405,   inf]))
    """
    p, q = expit(margin), expit(-margin)
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(p > epsilon, np.log(p - epsilon) - np.log(q + epsilon), -np.inf)
        high = np.where(q > epsilon, np.log(p + epsilon) - np.log(q - epsilon), np.inf)
    # p − ε + ε is not p in floating point: the point itself is always inside.
    return np.minimum(low, margin), np.maximum(high, margin)


def most_different(
    weights: Float[np.ndarray, "example item"], valid: Bool[np.ndarray, "example item"] | None = None
) -> Float[np.ndarray, " example"]:
    """The largest JSD (nats) of any weights at all from these: all weight on the lightest item.

    >>> most_different(np.array([[0.5, 0.5], [1.0, 0.0]])).round(4)
    array([0.2158, 0.6931])
    """
    valid = np.ones(weights.shape, bool) if valid is None else valid
    lightest = np.where(valid, weights, np.inf).min(axis=1) / np.where(valid, weights, 0.0).sum(axis=1)
    found: Float[np.ndarray, " example"] = _HALF_LN_2 * (1 - lightest) + jsd_terms(np.ones_like(lightest), lightest)
    return np.asarray(np.maximum(found, 0.0))


def two_item_floor(
    weights: Float[np.ndarray, "example item"], valid: Bool[np.ndarray, "example item"] | None = None
) -> Float[np.ndarray, " example"]:
    """How different weights with exactly the same output are at least, whatever the model: f(M), M of the top two.

    Some pair of items straddles the output, since it is a mean of relevances; mixed to give it exactly, that pair is at
    least as far from the observed weights as the pair of the two heaviest items in their own proportion:
    f(M) = ½ [ln 2 (1 − M) + ln(2/(1+M)) + M ln(2M/(1+M))].

    >>> two_item_floor(np.array([[0.1, 0.1, 0.8], [0.02, 0.49, 0.49]])).round(3)
    array([0.036, 0.007])
    """
    own = np.where(np.ones(weights.shape, bool) if valid is None else valid, weights, 0.0)
    own = own / own.sum(axis=1, keepdims=True)
    mass = np.minimum(np.sort(own, axis=1)[:, -2:].sum(axis=1), 1.0)
    found: Float[np.ndarray, " example"] = 0.5 * (
        np.log(2) * (1 - mass) + np.log(2 / (1 + mass)) + mass * np.log(2 * mass / (1 + mass))
    )
    return np.asarray(np.maximum(found, 0.0))


def jsd_terms(w: np.ndarray, a: np.ndarray) -> np.ndarray:
    """g(w, a): what one item adds to the JSD."""
    total = np.where(w + a > 0, w + a, 1.0)
    of_w = w * np.log(np.where(w > 0, 2 * w / total, 1.0))
    of_a = a * np.log(np.where(a > 0, 2 * a / total, 1.0))
    return np.asarray(0.5 * (of_w + of_a))


# Compiled by numba: one row after the other, no memory but three small arrays.
@no_type_check
def _fill(
    own: Any,
    votes: Any,
    order: Any,
    n: Any,
    low: Any,
    high: Any,
    slack: Any,
    jsd: Any,
    first: Any,
    second: Any,
    share: Any,
) -> None:
    half = 0.5 * math.log(2.0)
    a = np.empty(own.shape[1])
    r = np.empty(own.shape[1])
    kept = np.empty(own.shape[1], np.int64)
    for row in range(own.shape[0]):
        items = n[row]
        for k in range(items):
            a[k] = own[row, order[row, k]]
            r[k] = votes[row, order[row, k]]
        best = 0.0
        for k in range(items):  # singles: the lightest one inside
            if low[row] - slack[row] <= r[k] <= high[row] + slack[row]:
                value = half * (1.0 - a[k]) + 0.5 * math.log(2.0 / (1.0 + a[k]))
                if a[k] > 0.0:
                    value += 0.5 * a[k] * math.log(2.0 * a[k] / (1.0 + a[k]))
                if value > best:
                    best = value
                    first[row] = second[row] = order[row, k]
                    share[row] = 1.0
        for side in range(2):
            bound = low[row] if side == 0 else high[row]
            if not (-np.inf < bound < np.inf):
                continue
            below = 0
            while below < items and r[below] < bound:
                below += 1
            above = below
            while above < items and r[above] == bound:
                above += 1
            if below == 0 or above == items:
                continue
            # Running minima of a from both ends of each side; the rest is dominated.
            count = 0
            lightest = np.inf
            for k in range(below):
                if a[k] < lightest:
                    lightest = a[k]
                    kept[count] = k
                    count += 1
            lowest = kept[count - 1]  # the first lightest item: minima from the other end stop there
            lightest = np.inf
            for k in range(below - 1, lowest, -1):
                if a[k] < lightest:
                    lightest = a[k]
                    kept[count] = k
                    count += 1
            split = count
            lightest = np.inf
            for k in range(above, items):
                if a[k] < lightest:
                    lightest = a[k]
                    kept[count] = k
                    count += 1
            lowest = kept[count - 1]
            lightest = np.inf
            for k in range(items - 1, lowest, -1):
                if a[k] < lightest:
                    lightest = a[k]
                    kept[count] = k
                    count += 1
            for x in range(split):
                i = kept[x]
                for y in range(split, count):
                    j = kept[y]
                    w = (r[j] - bound) / (r[j] - r[i])  # on i
                    v = 1.0 - w
                    value = half * (1.0 - a[i] - a[j])
                    if w > 0.0:
                        value += 0.5 * w * math.log(2.0 * w / (w + a[i]))
                    if a[i] > 0.0:
                        value += 0.5 * a[i] * math.log(2.0 * a[i] / (w + a[i]))
                    if v > 0.0:
                        value += 0.5 * v * math.log(2.0 * v / (v + a[j]))
                    if a[j] > 0.0:
                        value += 0.5 * a[j] * math.log(2.0 * a[j] / (v + a[j]))
                    if value > best:
                        best = value
                        first[row] = order[row, i]
                        second[row] = order[row, j]
                        share[row] = w
        jsd[row] = best
