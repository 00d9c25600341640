"""Rank correlation of many short rows at once, with the p-values that scipy would give row by row."""

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple, no_type_check

import numpy as np
from jaxtyping import Bool, Float, Int, Real
from scipy import special

from heatcheck.stats.compiled import compile_loop
from heatcheck.stats.scores import finite_scores, real_items
from heatcheck.stats.ties import average_ranks

# scipy's choice, and ours so that p-values agree: above this many items the normal approximation takes over.
_EXACT_UP_TO = 33

_ITEMS_IN_CACHE = 2**16


class RankCorrelation(NamedTuple):
    """One correlation per row, its two-sided p-value under independence, and its number of items."""

    correlation: Float[np.ndarray, " example"]
    p_value: Float[np.ndarray, " example"]
    n: Int[np.ndarray, " example"]


class _PairCounts(NamedTuple):
    """What Kendall's τ-b and its variance need to know about the pairs of a row."""

    score: Int[np.ndarray, " example"]  # concordant minus discordant
    tied_pairs_x: Int[np.ndarray, " example"]
    tied_pairs_y: Int[np.ndarray, " example"]
    tied_triples_x: Int[np.ndarray, " example"]  # ordered: a run of t ties counts t (t - 1) (t - 2)
    tied_triples_y: Int[np.ndarray, " example"]


def kendall_tau(
    x: Real[np.ndarray, "example item"],
    y: Real[np.ndarray, "example item"],
    valid: Bool[np.ndarray, "example item"] | None = None,
) -> RankCorrelation:
    """Kendall's τ-b of each row of x with the same row of y: 1 = same order, −1 = opposite order.

    The two-sided p-value equals `scipy.stats.kendalltau(method="auto")`: without ties exact when n ≤ 33 or at
    most one pair is out of line, otherwise normal with the corrections for ties. Both are NaN where τ is
    undefined: fewer than two items, or all scores of a row equal.

    >>> found = kendall_tau(np.array([[0.1, 0.2, 0.3, 0.4]]), np.array([[1, 2, 4, 3]]))
    >>> found.correlation.round(4), found.p_value.round(4), found.n
    (array([0.6667]), array([0.3333]), array([4]))
    """
    valid = real_items(x, valid)
    # Infinity sorts the padding behind every real item.
    x = finite_scores("x", x, valid, padding=np.inf)
    y = finite_scores("y", y, valid, padding=np.inf)
    n = valid.sum(axis=1, dtype=np.int64)
    counts = _count_pairs(x, y, n)

    pairs = n * (n - 1) // 2
    untied_x, untied_y = pairs - counts.tied_pairs_x, pairs - counts.tied_pairs_y
    defined = (untied_x > 0) & (untied_y > 0)
    correlation = np.full(len(n), np.nan)
    # One root of the product, as floats: it is exact, and τ = ±1, where both rows tie the same pairs.
    correlation[defined] = counts.score[defined] / np.sqrt(1.0 * untied_x[defined] * untied_y[defined])

    # Without ties every pair is concordant or discordant; the rarer kind decides the exact p-value.
    rarer = (pairs - np.abs(counts.score)) // 2
    exact = defined & (untied_x == pairs) & (untied_y == pairs) & ((n <= _EXACT_UP_TO) | (rarer <= 1))
    normal = defined & ~exact
    p_value = np.full(len(n), np.nan)
    p_value[exact] = _exact_p(n[exact], rarer[exact])
    p_value[normal] = _normal_p(n[normal], _PairCounts(*(count[normal] for count in counts)))
    return RankCorrelation(correlation, p_value, n)


def spearman(
    x: Real[np.ndarray, "example item"],
    y: Real[np.ndarray, "example item"],
    valid: Bool[np.ndarray, "example item"] | None = None,
) -> RankCorrelation:
    """Spearman's ρ of each row of x with the same row of y: 1 = same order, −1 = opposite order.

    The two-sided p-value equals `scipy.stats.spearmanr`: Student's t with n − 2 degrees of freedom, so NaN
    for n = 2. Both are NaN with fewer than two items or where all scores of a row are equal.

    >>> found = spearman(np.array([[1, 2, 3, 4, 5]]), np.array([[5, 6, 7, 8, 7]]))
    >>> found.correlation.round(4), found.p_value.round(4), found.n
    (array([0.8208]), array([0.0886]), array([5]))
    """
    valid = real_items(x, valid)
    n = valid.sum(axis=1, dtype=np.int64)
    middle = (n[:, None] + 1) / 2  # ranks average to this with or without ties
    x = finite_scores("x", x, valid, padding=np.inf)
    y = finite_scores("y", y, valid, padding=np.inf)
    a = np.where(valid, average_ranks(x, valid) - middle, 0)
    b = np.where(valid, average_ranks(y, valid) - middle, 0)
    # Quarters of whole numbers: these three sums are exact, and so is ρ = ±1.
    shared, spread = (a * b).sum(axis=1), np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    correlation = np.divide(shared, spread, out=np.full(len(n), np.nan), where=spread > 0)

    # ρ = ±1 gives t = ∞ and p = 0; no degree of freedom gives NaN, as no correlation does.
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(correlation) * np.sqrt((n - 2) / ((1 + correlation) * (1 - correlation)))
    p_value = 2 * special.stdtr(n - 2, -t)
    return RankCorrelation(correlation, p_value, n)


def _exact_p(n: Int[np.ndarray, " example"], rarer: Int[np.ndarray, " example"]) -> Float[np.ndarray, " example"]:
    """Two-sided p-value of `rarer` pairs out of line among n untied items, all orders equally likely."""
    # Of longer rows only rarer ≤ 1 comes here: of n! orders one has no pair out of line, n have at most one.
    p_value: Float[np.ndarray, " example"] = 2 * np.exp(-special.gammaln(n + 1 - rarer))
    small = n <= _EXACT_UP_TO
    p_value[small] = _exact_p_table()[n[small], rarer[small]]
    return p_value


@lru_cache
def _exact_p_table() -> Float[np.ndarray, "item column"]:
    """Two-sided p-values by number of items and of pairs out of line, at most half of all pairs."""
    most = _EXACT_UP_TO * (_EXACT_UP_TO - 1) // 2
    table = np.ones((_EXACT_UP_TO + 1, most // 2 + 1))
    orders = [1] + [0] * most  # orders of one item by number of inversions; Python's integers keep them exact
    for n in range(2, _EXACT_UP_TO + 1):
        # The n-th item makes 0 to n − 1 new inversions: a moving sum over n neighbours.
        up_to = list(accumulate(orders))
        orders = [up_to[k] - (up_to[k - n] if k >= n else 0) for k in range(most + 1)]
        tail = list(accumulate(orders))
        for rarer in range(n * (n - 1) // 4 + 1):
            table[n, rarer] = min(1.0, 2 * tail[rarer] / math.factorial(n))
    return table


def _normal_p(n: Int[np.ndarray, " example"], counts: _PairCounts) -> Float[np.ndarray, " example"]:
    """Two-sided p-value of the score by its normal approximation, the variance corrected for ties."""
    ordered = n * (n - 1.0)
    # Σ t(t−1)(2t+5) over runs of t ties, from triples t(t−1)(t−2) and pairs t(t−1)/2
    lost_x = 2.0 * counts.tied_triples_x + 18.0 * counts.tied_pairs_x
    lost_y = 2.0 * counts.tied_triples_y + 18.0 * counts.tied_pairs_y
    variance = (
        (ordered * (2 * n + 5) - lost_x - lost_y) / 18
        + 2.0 * counts.tied_pairs_x * counts.tied_pairs_y / ordered
        + 1.0 * counts.tied_triples_x * counts.tied_triples_y / (9 * ordered * (n - 2))
    )
    p_value: Float[np.ndarray, " example"] = 2 * special.ndtr(-np.abs(counts.score) / np.sqrt(variance))
    return p_value


def _count_pairs(
    x: Float[np.ndarray, "example item"], y: Float[np.ndarray, "example item"], n: Int[np.ndarray, " example"]
) -> _PairCounts:
    """Concordance and ties of each row; the n real items are those with finite scores."""
    kernel = _compiled_kernel()
    if kernel is None:
        return _count_pairs_plainly(x, y)
    counts = np.empty((len(n), len(_PairCounts._fields)), dtype=np.int64)
    # A few rows at a time: what has just been sorted is still in the processor's cache when it is counted.
    step = max(1, _ITEMS_IN_CACHE // max(1, x.shape[1]))
    for start in range(0, len(n), step):
        rows = slice(start, start + step)
        by_x, by_y = np.argsort(x[rows], axis=1), np.argsort(y[rows], axis=1)
        kernel(x[rows], y[rows], by_x, by_y, n[rows], counts[rows])
    return _PairCounts(*counts.T)


def _count_pairs_plainly(x: Float[np.ndarray, "example item"], y: Float[np.ndarray, "example item"]) -> _PairCounts:
    """The same counts by comparing every pair: for machines without numba, and as the definition in tests."""
    counts = np.empty((len(x), len(_PairCounts._fields)), dtype=np.int64)
    for row, (u, v) in enumerate(zip(x, y, strict=True)):
        u, v = u[u < np.inf], v[v < np.inf]
        # Compared, not subtracted: a difference of two large scores overflows.
        order_u = (u[:, None] > u).astype(np.int64) - (u[:, None] < u)
        order_v = (v[:, None] > v).astype(np.int64) - (v[:, None] < v)
        others_u, others_v = (order_u == 0).sum(axis=1) - 1, (order_v == 0).sum(axis=1) - 1
        counts[row] = (
            (order_u * order_v).sum() // 2,
            others_u.sum() // 2,
            others_v.sum() // 2,
            (others_u * (others_u - 1)).sum(),
            (others_v * (others_v - 1)).sum(),
        )
    return _PairCounts(*counts.T)


@lru_cache
def _compiled_kernel() -> Callable[..., None] | None:
    """The counting loop, or None where numba is not installed: then every pair is compared at once."""
    return compile_loop(_count_pairs_by_rank)


# Compiled by numba, which cannot see through the wrappers of jaxtyping's import hook.
@no_type_check
def _count_pairs_by_rank(x: Any, y: Any, by_x: Any, by_y: Any, n: Any, counts: Any) -> None:
    """Fill counts [example, field], given the order of each row by x and by y.

    Quadratic, and yet faster than a Fenwick tree up to some 500 items: comparing one small integer with many
    is what vector instructions do best. At 2,000 items a row takes 57% of scipy's time, at 5,000 126%.
    """
    length = x.shape[1]
    rank_y = np.empty(length, np.int32)  # of each item
    walked = np.empty(length, np.int32)  # rank_y along the order by x
    smaller = np.empty(length, np.int64)  # how many items have a smaller x, along the same order
    for row in range(x.shape[0]):
        u, v, by_u, by_v, items = x[row], y[row], by_x[row], by_y[row], n[row]

        first = pairs = triples = 0
        for k in range(items):
            if k > 0 and v[by_v[k]] != v[by_v[k - 1]]:
                first = k
            rank_y[by_v[k]] = first
            earlier = k - first  # items of the same run of ties: this one makes so many pairs with them
            pairs += earlier
            triples += 3 * earlier * (earlier - 1)
        counts[row, 2], counts[row, 4] = pairs, triples

        first = pairs = triples = 0
        for k in range(items):
            if k > 0 and u[by_u[k]] != u[by_u[k - 1]]:
                first = k
            smaller[k] = first
            walked[k] = rank_y[by_u[k]]
            earlier = k - first
            pairs += earlier
            triples += 3 * earlier * (earlier - 1)
        counts[row, 1], counts[row, 3] = pairs, triples

        score = 0
        for k in range(items):
            here = walked[k]
            item_score = np.int32(0)  # 32 bits all the way: twice as many lanes as Python's 64
            for j in range(smaller[k]):
                item_score = np.int32(item_score + np.int32(walked[j] < here) - np.int32(walked[j] > here))
            score += item_score
        counts[row, 0] = score
