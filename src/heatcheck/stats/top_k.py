"""How much the heads of two rankings agree. Larger scores come first, and of equal scores the earlier item.

So two flat rows agree perfectly: where ties are common, read Kendall's τ-b beside these.
"""

import numpy as np
from jaxtyping import Bool, Float, Int, Real

from heatcheck.errors import BadInput
from heatcheck.stats.scores import finite_scores, real_items

_PAIRS_AT_ONCE = 2**22


def top_k_overlap(
    x: Real[np.ndarray, "example item"],
    y: Real[np.ndarray, "example item"],
    k: int,
    valid: Bool[np.ndarray, "example item"] | None = None,
) -> Float[np.ndarray, " example"]:
    """Share of the k best items by x that are also among the k best by y: 1 = same set, 0 = disjoint sets.

    A row with fewer than k items uses all it has, so its overlap is 1; a row with none gives NaN.

    >>> top_k_overlap(np.array([[9, 8, 1, 0]]), np.array([[7, 1, 8, 0]]), k=2)
    array([0.5])
    """
    _check_k(k)
    valid = real_items(x, valid)
    listed = np.minimum(k, valid.sum(axis=1))
    in_x = np.argsort(_best_first("x", x, valid), axis=1) < listed[:, None]
    in_y = np.argsort(_best_first("y", y, valid), axis=1) < listed[:, None]
    overlap = np.full(len(listed), np.nan)
    np.divide((in_x & in_y).sum(axis=1), listed, out=overlap, where=listed > 0)
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

    >>> x = np.array([[9, 8, 1, 0], [9, 8, 1, 0], [9, 8, 1, 0]])
    >>> y = np.array([[9, 8, 0, 1], [8, 9, 0, 1], [0, 1, 8, 9]])
    >>> kendall_top_k_distance(x, y, k=2)
    array([0. , 0.2, 1. ])
    """
    _check_k(k)
    if not 0 <= penalty <= 1:
        raise BadInput(f"penalty is {penalty}; it must lie between 0 and 1.")
    valid = real_items(x, valid)
    listed = np.minimum(k, valid.sum(axis=1))
    by_x, by_y = _best_first("x", x, valid), _best_first("y", y, valid)

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
    return distance


def _check_k(k: int) -> None:
    if k < 1:
        raise BadInput(f"k is {k}; a top-k list needs at least one place.")


def _best_first(
    name: str, values: Real[np.ndarray, "example item"], valid: Bool[np.ndarray, "example item"]
) -> Int[np.ndarray, "example item"]:
    """Items of each row from the largest score to the smallest, ties by position, padding last."""
    scores = finite_scores(name, values, valid, padding=-np.inf)
    return np.argsort(-scores, axis=1, kind="stable")


def _pair_order(places: Int[np.ndarray, "example item"]) -> Int[np.ndarray, "example item item"]:
    """−1, 0 or 1 for each ordered pair: before, tied, behind."""
    order: Int[np.ndarray, "example item item"] = np.sign(places[:, :, None] - places[:, None, :])
    return order
