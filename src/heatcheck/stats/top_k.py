"""How much the tops of two rankings agree. Larger scores come first; items of equal score share their places.

A number is what random orders of equal items, drawn for each ranking by itself, give on average: exactly, no order is
drawn. So two flat rows agree as well as chance does, and no item profits from standing first.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Real

from heatcheck.errors import BadInput
from heatcheck.stats.scores import finite_scores, real_items
from heatcheck.stats.ties import best_first, tie_groups

_PAIRS_AT_ONCE = 2**22


def top_k_overlap(
    x: Real[np.ndarray, "example item"],
    y: Real[np.ndarray, "example item"],
    k: int,
    valid: Bool[np.ndarray, "example item"] | None = None,
) -> Float[np.ndarray, " example"]:
    """Share of the k best items by x that are also among the k best by y: 1 = same set, 0 = disjoint sets.

    A row with fewer than k items uses all it has, so its overlap is 1; a row with none gives NaN.

    >>> top_k_overlap(np.array([[9, 8, 1, 0], [5, 5, 5, 5]]), np.array([[7, 1, 8, 0], [7, 1, 8, 0]]), k=2)
    array([0.5, 0.5])
    """
    _check_k(k)
    valid = real_items(x, valid)
    listed = np.minimum(k, valid.sum(axis=1))
    in_x, in_y = (_places(name, of, valid, listed).inside for name, of in (("x", x), ("y", y)))
    overlap = np.full(len(listed), np.nan)
    np.divide((in_x * in_y).sum(axis=1), listed, out=overlap, where=listed > 0)
    return overlap


def kendall_top_k_distance(
    x: Real[np.ndarray, "example item"],
    y: Real[np.ndarray, "example item"],
    k: int,
    valid: Bool[np.ndarray, "example item"] | None = None,
    penalty: float = 0.5,
) -> Float[np.ndarray, " example"]:
    """Kendall distance of two top-k lists (K^(p), Fagin, Kumar and Sivakumar 2003): 0 = same, 1 = disjoint.

    Every pair of items that are in either list costs 1 if the lists order it oppositely, absent items
    standing behind listed ones, and `penalty` (0 to 1) if both are absent from one list, which then cannot
    order them. The sum is divided by its value for disjoint lists, k² + penalty · k(k − 1). A row with fewer
    than k items uses all it has, and with fewer than 2k it cannot reach 1; a row with none gives NaN.
    Items of equal score count as the mean over their orders.

    >>> x = np.array([[9, 8, 1, 0], [9, 8, 1, 0], [9, 8, 1, 0]])
    >>> y = np.array([[9, 8, 0, 1], [8, 9, 0, 1], [0, 1, 8, 9]])
    >>> kendall_top_k_distance(x, y, k=2)
    array([0. , 0.2, 1. ])
    """
    _check_k(k)
    if not 0 <= penalty <= 1:
        raise BadInput(f"penalty must be between 0 and 1, not {penalty}.")
    valid = real_items(x, valid)
    listed = np.minimum(k, valid.sum(axis=1))
    by_x, by_y = (best_first(finite_scores(n, of, valid, padding=-np.inf), valid) for n, of in (("x", x), ("y", y)))

    # Only items in either list matter, at most 2k a row; one in both is kept where it stands for x.
    width = min(k, x.shape[1])
    candidates = np.concatenate([by_x[:, :width], by_y[:, :width]], axis=1)
    # Place of each candidate: 0 = best, k = absent. An order sorted once more gives the place of each item.
    place_x = np.take_along_axis(np.argsort(by_x, axis=1), candidates, axis=1).clip(max=listed[:, None])
    place_y = np.take_along_axis(np.argsort(by_y, axis=1), candidates, axis=1).clip(max=listed[:, None])
    in_x, in_y = place_x < listed[:, None], place_y < listed[:, None]
    kept = np.where(np.arange(2 * width) < width, in_x, in_y & ~in_x)

    distance = np.full(len(x), np.nan)
    step = max(1, _PAIRS_AT_ONCE // max(1, 4 * width**2))
    for start in range(0, len(x), step):
        rows = slice(start, start + step)
        order_x, order_y = _pair_order(place_x[rows]), _pair_order(place_y[rows])
        pairs = kept[rows, :, None] & kept[rows, None, :]
        opposite = (pairs & (order_x * order_y < 0)).sum(axis=(1, 2))
        tied_once = (pairs & ((order_x == 0) != (order_y == 0))).sum(axis=(1, 2))
        cost = (opposite + penalty * tied_once) / 2  # each pair was met in both directions
        most = listed[rows] ** 2 + penalty * listed[rows] * (listed[rows] - 1)
        np.divide(cost, most, out=distance[rows], where=most > 0)
    _where_tied(distance, (x, y), valid, listed, penalty)
    return distance


class _Places(NamedTuple):
    """What is known of each item's place in a top-k list before equal items are ordered."""

    score: Float[np.ndarray, "*example item"]
    tied: Int[np.ndarray, "*example item"]  # items of this score, itself included
    slots: Int[np.ndarray, "*example item"]  # places in the list that they share

    @property
    def inside(self) -> Float[np.ndarray, "*example item"]:
        """How likely an item is to be in the list."""
        return np.asarray(self.slots / self.tied)


def _places(
    name: str,
    values: Real[np.ndarray, "example item"],
    valid: Bool[np.ndarray, "example item"],
    listed: Int[np.ndarray, " example"],
) -> _Places:
    scores = finite_scores(name, values, valid, padding=-np.inf)
    order = np.argsort(-scores, axis=1, kind="stable")
    first, last = (np.empty_like(order) for _ in range(2))
    for of_items, of_places in zip((first, last), tie_groups(np.take_along_axis(scores, order, axis=1)), strict=True):
        np.put_along_axis(of_items, order, of_places, axis=1)
    tied = last - first + 1
    return _Places(scores, tied, np.where(valid, np.clip(listed[:, None] - first, 0, tied), 0))


def _where_tied(
    distance: Float[np.ndarray, " example"],
    rankings: tuple[Real[np.ndarray, "example item"], Real[np.ndarray, "example item"]],
    valid: Bool[np.ndarray, "example item"],
    listed: Int[np.ndarray, " example"],
    penalty: float,
) -> None:
    """Puts in the mean over the orders of equal items, in the rows that have some in a list."""
    x, y = (_places(name, of, valid, listed) for name, of in zip("xy", rankings, strict=True))
    tied = np.logical_or.reduce([((of.tied > 1) & (of.slots > 0)).any(axis=1) for of in (x, y)])
    for row in np.flatnonzero(tied):
        some = (x.slots[row] > 0) | (y.slots[row] > 0)
        one, other = (_pairs(_Places(*(part[row, some] for part in of))) for of in (x, y))
        cost = one.before * other.before.T + penalty * (one.neither * other.both + one.both * other.neither) / 2
        most = listed[row] ** 2 + penalty * listed[row] * (listed[row] - 1)
        distance[row] = (cost.sum() - np.trace(cost)) / most


class _Pairs(NamedTuple):
    """How likely the items of a pair are to stand so in a list, equal ones in random order."""

    before: Float[np.ndarray, "item item"]  # the first is in the list, the second behind it or not in the list
    both: Float[np.ndarray, "item item"]
    neither: Float[np.ndarray, "item item"]


def _pairs(of: _Places) -> _Pairs:
    """Of two different scores the lower is in the list only if all of the higher are; of equal ones any are."""
    inside = of.inside
    alike = of.score[:, None] == of.score[None, :]
    tied, slots = of.tied[:, None], of.slots[:, None]
    pairs = np.maximum(tied * (tied - 1), 1)
    both = np.where(alike, slots * (slots - 1) / pairs, np.minimum(inside[:, None], inside[None, :]))
    absent = (tied - slots) * (tied - slots - 1) / pairs
    neither = np.where(alike, absent, 1 - np.maximum(inside[:, None], inside[None, :]))
    first = np.where(alike, 0.5, of.score[:, None] > of.score[None, :])
    return _Pairs((1 - neither) * first, both, neither)


def _check_k(k: int) -> None:
    if k < 1:
        raise BadInput(f"k must be at least 1, not {k}.")


def _pair_order(places: Int[np.ndarray, "example item"]) -> Int[np.ndarray, "example item item"]:
    """−1, 0 or 1 for each ordered pair: before, tied, behind."""
    order: Int[np.ndarray, "example item item"] = np.sign(places[:, :, None] - places[:, None, :])
    return order
