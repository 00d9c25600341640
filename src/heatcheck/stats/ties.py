"""Runs of equal scores, and the average ranks that come of them."""

import numpy as np
from jaxtyping import Bool, Float, Int, Real

from heatcheck.stats.scores import finite_scores, real_items


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
