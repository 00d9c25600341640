"""How a model's output changes as attention weights are removed one by one and the rest are scaled up.

Outputs are Σ_t w_t values_tk / Σ_t w_t + bias_k over the items that are left, for every number of removals at once:
one sort and one running sum a row. The sum runs over what *remains*, from the far end, because 1 minus what is gone
has no digits left when nearly all weight is.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int, Real

from heatcheck.stats.scores import real_items
from heatcheck.stats.ties import best_first

# When no weight is left: nothing is added to the bias (Serrano & Smith: the context is the zero vector), or all items
# count alike (Mohankumar et al.: a softmax of equal scores).
Emptied: TypeAlias = Literal["bias", "uniform"]
_NUMBERS_AT_ONCE = 2**22


class FirstChange(NamedTuple):
    """After how many removals the largest output is another one, and how much weight had gone by then."""

    removals: Float[np.ndarray, " example"]  # inf: never
    weight: Float[np.ndarray, " example"]  # share of all weight; NaN: never


def removal_curve(
    weights: Float[np.ndarray, "example item"],
    values: Float[np.ndarray, "example item column"],
    bias: Float[np.ndarray, "example column"],
    scores: Real[np.ndarray, "example item"],
    valid: Bool[np.ndarray, "example item"] | None = None,
    emptied: Emptied = "bias",
) -> Float[np.ndarray, "example item column"]:
    """Outputs after removing the best 1, 2, … items by `scores`; of equal scores the earlier goes first.

    The last of a row's items to go leaves what `emptied` says, and so does every removal after which only weights of
    exactly 0 are left. Places beyond a row's number of items repeat that.

    >>> halves = np.array([[0.5, 0.25, 0.25]])
    >>> removal_curve(halves, np.array([[[4.0], [0.0], [2.0]]]), np.array([[1.0]]), halves)[0, :, 0]
    array([2., 3., 1.])
    """
    valid = real_items(weights, valid)
    return _curve(weights, values, bias, best_first(scores, valid), valid, emptied)


def first_change(
    weights: Float[np.ndarray, "example item"],
    values: Float[np.ndarray, "example item column"],
    bias: Float[np.ndarray, "example column"],
    scores: Real[np.ndarray, "example item"],
    decided: Int[np.ndarray, " example"],
    valid: Bool[np.ndarray, "example item"] | None = None,
    emptied: Emptied = "bias",
) -> FirstChange:
    """When the largest output (of equal ones the first) is first another than `decided`, removing by `scores`.

    >>> halves = np.array([[0.5, 0.25, 0.25]])
    >>> values = np.array([[[4.0, 0.0], [0.0, 1.0], [1.0, 0.0]]])
    >>> first_change(halves, values, np.zeros((1, 2)), halves, np.array([0]))
    FirstChange(removals=array([inf]), weight=array([nan]))
    >>> first_change(halves, values, np.zeros((1, 2)), np.array([[3, 1, 2]]), np.array([0]))
    FirstChange(removals=array([2.]), weight=array([0.75]))
    """
    valid = real_items(weights, valid)
    removals, weight = np.full(len(weights), np.inf), np.full(len(weights), np.nan)
    for rows in _blocks(values):
        order = best_first(scores[rows], valid[rows])
        curve = _curve(weights[rows], values[rows], bias[rows], order, valid[rows], emptied)
        of_items = np.arange(curve.shape[1]) < valid[rows].sum(axis=1, keepdims=True)
        changed = (curve.argmax(axis=-1) != decided[rows, None]) & of_items
        ever, at = changed.any(axis=1), changed.argmax(axis=1)
        removals[rows] = np.where(ever, at + 1.0, np.inf)
        weight[rows] = np.where(ever, _gone_after(weights[rows], order, valid[rows], at), np.nan)
    return FirstChange(removals, weight)


def without_each(
    weights: Float[np.ndarray, "example item"],
    values: Float[np.ndarray, "example item column"],
    bias: Float[np.ndarray, "example column"],
    valid: Bool[np.ndarray, "example item"] | None = None,
    emptied: Emptied = "bias",
) -> Float[np.ndarray, "example item column"]:
    """Outputs without each item alone; at padding those with every item.

    >>> halves = np.array([[0.5, 0.25, 0.25]])
    >>> without_each(halves, np.array([[[4.0], [0.0], [2.0]]]), np.array([[1.0]]))[0, :, 0].round(2)
    array([2.  , 4.33, 3.67])
    """
    valid = real_items(weights, valid)
    weights, values = _without_padding(weights, values, valid)
    mass, total = weights[..., None], weights[..., None] * values
    others = [_before(part) + _after(part) for part in (mass, total)]
    return _outputs(others[0], others[1], bias, _when_emptied(values, valid, emptied))


def _without_padding(
    weights: Float[np.ndarray, "example item"],
    values: Float[np.ndarray, "example item column"],
    valid: Bool[np.ndarray, "example item"],
) -> tuple[Float[np.ndarray, "example item"], Float[np.ndarray, "example item column"]]:
    """Zeros in the padding, whatever stood there."""
    return np.where(valid, weights, 0.0), np.where(valid[..., None], values, 0.0)


def _curve(
    weights: Float[np.ndarray, "example item"],
    values: Float[np.ndarray, "example item column"],
    bias: Float[np.ndarray, "example column"],
    order: Int[np.ndarray, "example item"],
    valid: Bool[np.ndarray, "example item"],
    emptied: Emptied,
) -> Float[np.ndarray, "example item column"]:
    weights, values = _without_padding(weights, values, valid)
    mass = np.take_along_axis(weights, order, axis=1)[..., None]
    total = mass * np.take_along_axis(values, order[..., None], axis=1)
    return _outputs(_after(mass), _after(total), bias, _when_emptied(values, valid, emptied))


def _gone_after(
    weights: Float[np.ndarray, "example item"],
    order: Int[np.ndarray, "example item"],
    valid: Bool[np.ndarray, "example item"],
    last: Int[np.ndarray, " example"],
) -> Float[np.ndarray, " example"]:
    """The share of all weight that the removals up to `last` took."""
    ordered = np.take_along_axis(np.where(valid, weights, 0.0), order, axis=1)
    sums = ordered.cumsum(axis=1)
    return np.asarray(sums[np.arange(len(last)), last] / sums[:, -1])


def _before(parts: Float[np.ndarray, "example item column"]) -> Float[np.ndarray, "example item column"]:
    """The sum of all earlier items."""
    sums = np.zeros_like(parts)
    np.cumsum(parts[:, :-1], axis=1, out=sums[:, 1:])
    return sums


def _after(parts: Float[np.ndarray, "example item column"]) -> Float[np.ndarray, "example item column"]:
    """The sum of all later items, added up from the last."""
    return _before(parts[:, ::-1])[:, ::-1]


def _outputs(
    mass: Float[np.ndarray, "example item 1"],
    total: Float[np.ndarray, "example item column"],
    bias: Float[np.ndarray, "example column"],
    empty: Float[np.ndarray, "example column"],
) -> Float[np.ndarray, "example item column"]:
    mean = np.broadcast_to(empty[:, None], total.shape).copy()
    np.divide(total, mass, out=mean, where=np.broadcast_to(mass > 0, total.shape))
    return np.asarray(mean + bias[:, None])


def _when_emptied(
    values: Float[np.ndarray, "example item column"], valid: Bool[np.ndarray, "example item"], emptied: Emptied
) -> Float[np.ndarray, "example column"]:
    """What the weighted mean is taken to be when there is nothing to weigh."""
    if emptied == "bias":
        return np.zeros((values.shape[0], values.shape[2]))
    return np.asarray(values.sum(axis=1) / np.maximum(valid.sum(axis=1), 1)[:, None])


def _blocks(values: Float[np.ndarray, "example item column"]) -> Iterator[slice]:
    """Rows whose curves fit in memory together."""
    step = max(1, _NUMBERS_AT_ONCE // max(1, values.shape[1] * values.shape[2]))
    for start in range(0, len(values), step):
        yield slice(start, start + step)
