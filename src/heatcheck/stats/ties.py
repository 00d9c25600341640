"""Ties among scores: which scores count as equal, their average ranks, and orders that break ties."""

import numpy as np
from jaxtyping import Bool, Float, Int, Real

from heatcheck.stats.scores import finite_scores, real_items

# Sizes that differ by less than the first, as a share of the row's largest, or than the second, as a share of
# themselves, are equal: the first is no part of a heatmap, and float32, in which models compute, has no such digits.
OF_LARGEST, OF_ITSELF = 1e-9, 1e-6


def tie_groups(
    ordered: Float[np.ndarray, "example item"],
) -> tuple[Int[np.ndarray, "example item"], Int[np.ndarray, "example item"]]:
    """First and last position of the run of equal values that each position of a sorted row belongs to.

    >>> first, last = tie_groups(np.array([[1.0, 2.0, 2.0, 5.0]]))
    >>> first, last
    (array([[0, 1, 1, 3]]), array([[0, 2, 2, 3]]))
    """
    length = ordered.shape[1]
    position = np.arange(length)
    opens = np.ones(ordered.shape, dtype=bool)
    opens[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    closes = np.ones(ordered.shape, dtype=bool)
    closes[:, :-1] = opens[:, 1:]
    first = np.maximum.accumulate(np.where(opens, position, 0), axis=1)
    last = np.minimum.accumulate(np.where(closes, position, length)[:, ::-1], axis=1)[:, ::-1]
    return first, last


def average_ranks(
    values: Real[np.ndarray, "example item"], valid: Bool[np.ndarray, "example item"] | None = None
) -> Float[np.ndarray, "example item"]:
    """Ranks within each row, 1 = smallest; equal scores share the mean of their ranks; NaN in the padding.

    >>> average_ranks(np.array([[0.3, 0.1, 0.3, 9.0]]), np.array([[True, True, True, False]]))
    array([[2.5, 1. , 2.5, nan]])
    """
    valid = real_items(values, valid)
    scores = finite_scores("values", values, valid, padding=np.inf)
    order = np.argsort(scores, axis=1)
    first, last = tie_groups(np.take_along_axis(scores, order, axis=1))
    ranks = np.empty(scores.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=1)
    return np.where(valid, ranks, np.nan)


def level_ties(
    values: Float[np.ndarray, "example item"],
    valid: Bool[np.ndarray, "example item"] | None = None,
    noise: Float[np.ndarray, " example"] | None = None,
) -> Float[np.ndarray, "example item"]:
    """The values, those whose sizes differ by rounding only made equal: each run takes its smallest size.

    No size moves by more than the tolerance, however long the run. Signs stay, but what is nothing is 0. `noise` is how
    far rounding goes in a row whose values are differences of larger numbers.

    >>> level_ties(np.array([[0.5, -0.3, 0.3 + 1e-12, 1e-15]]))
    array([[ 0.5, -0.3,  0.3,  0. ]])
    """
    valid = real_items(values, valid)
    sizes = np.where(valid, np.abs(values), np.inf)
    order = np.argsort(sizes, axis=1)
    ordered = np.take_along_axis(sizes, order, axis=1)
    nothing = OF_LARGEST * np.where(valid, sizes, 0.0).max(axis=1, initial=0.0, keepdims=True)
    if noise is not None:
        nothing = np.maximum(nothing, noise[:, None])
    ordered = np.where(ordered <= nothing, 0.0, ordered)
    with np.errstate(invalid="ignore"):  # infinite padding less infinite padding
        apart = np.diff(ordered, axis=1)
    near = (apart > 0) & (apart <= np.maximum(nothing, OF_ITSELF * ordered[:, :-1]))
    for row in np.flatnonzero(near.any(axis=1)):
        _level_run(ordered[row, : valid[row].sum()], float(nothing[row, 0]))
    levelled = np.empty_like(sizes)
    np.put_along_axis(levelled, order, ordered, axis=1)
    return np.where(valid, np.copysign(levelled, values) + 0.0, values)


def _level_run(ordered: Float[np.ndarray, " item"], nothing: float) -> None:
    """In place; a run is measured from its first, so that many small steps never join what is far apart."""
    first = 0
    for place in range(1, len(ordered)):
        if ordered[place] - ordered[first] <= max(nothing, OF_ITSELF * ordered[first]):
            ordered[place] = ordered[first]
        else:
            first = place


def has_ties(
    values: Real[np.ndarray, "example item"], valid: Bool[np.ndarray, "example item"] | None = None
) -> Bool[np.ndarray, " example"]:
    """Whether two items of a row are equal.

    >>> has_ties(np.array([[1, 2, 1], [1, 2, 3]]))
    array([ True, False])
    """
    valid = real_items(values, valid)
    ordered = np.sort(finite_scores("values", values, valid, padding=np.inf), axis=1)
    return np.asarray(((ordered[:, 1:] == ordered[:, :-1]) & np.isfinite(ordered[:, 1:])).any(axis=1))


def best_first(
    scores: Real[np.ndarray, "example item"],
    valid: Bool[np.ndarray, "example item"],
    keys: Real[np.ndarray, "example item"] | None = None,
) -> Int[np.ndarray, "example item"]:
    """Items of each row from the largest score to the smallest, padding last; of equal ones the smallest key first.

    Without keys ties go by position, which favours what stands first: give random keys where that could matter.

    >>> best_first(np.array([[1, 3, 3, 9]]), np.array([[True, True, True, False]]))
    array([[1, 2, 0, 3]])
    >>> best_first(np.array([[1, 3, 3]]), np.ones((1, 3), bool), np.array([[0.1, 0.9, 0.2]]))
    array([[2, 1, 0]])
    """
    falling = -finite_scores("scores", scores, valid, padding=-np.inf)
    if keys is None:
        return np.argsort(falling, axis=1, kind="stable")
    return np.lexsort((keys, falling), axis=1)
